"""Laws of decoding, pruning, defaulting and validation, on schemas and values of all kinds."""

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from schemas_cases import JSON, YAML
from schemas_gadgets import CRD, FIELDS, SCHEMA, make_gadget
from test_schemas_recorded import builtin

from atoll.apiserver.bodies.decoding import decode_body
from atoll.apiserver.bodies.encoding import encode_json, encode_yaml
from atoll.apiserver.bodies.json_faults import find_fault
from atoll.apiserver.bodies.json_text import read_json
from atoll.apiserver.bodies.patches import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, decode_patch
from atoll.apiserver.bodies.yaml_text import read_yaml
from atoll.apiserver.custom import resources_of
from atoll.apiserver.fields.jsonpath import BadPath, compile_path
from atoll.apiserver.kinds.definitions import DEFINITION
from atoll.apiserver.schemas.defaulting import compile_defaults
from atoll.apiserver.schemas.definitions import definition_errors
from atoll.apiserver.schemas.explaining import explain
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.json_values import settle_numbers
from atoll.apiserver.schemas.mismatch import Mismatch
from atoll.apiserver.schemas.pruning import drop_nulls, prune
from atoll.apiserver.schemas.rules import read_rules
from atoll.apiserver.schemas.scalars import NotAQuantity, canonical_quantity
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import root_schema, structural_schema
from atoll.apiserver.schemas.typed import read_typed
from atoll.apiserver.schemas.validating import compile_check
from atoll.apiserver.status import ApiError

Json = dict[str, Any]

GADGETS = resources_of(CRD)[0]
DEPLOYMENT = load().schema("io.k8s.api.apps.v1.Deployment")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
integers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | integers | floats | texts
words = st.sampled_from(["a", "b", "spec", "name", "x", "k", "metadata", "kind", "yes", "1e3"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | texts, inner, max_size=4),
    max_leaves=12,
)
# Values that are often nearly right.
likely = st.recursive(
    st.sampled_from([None, True, 0, 1, 5, 2.5, "a", "red", "aaa", "xyz", "1.2.3.4", -1, 10**20]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "b", "name", "x", "y", "k", "z"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
specs = st.dictionaries(st.sampled_from(sorted(FIELDS)), likely | values, max_size=5)
ROOT = root_schema(SCHEMA, "Gadget")
RULES = read_rules(SCHEMA)
IS_VALID = compile_check(RULES)


def default(schema: Schema, value: Any) -> Any:
    fill = compile_defaults(schema)
    return value if fill is None else fill(value)


def status_of(read: Callable[..., Any], *given: Any) -> int:
    """How the client would be answered; anything but an ApiError passes through."""
    try:
        read(*given)
    except ApiError as refused:
        return refused.code
    return 200


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_worse_than_be_refused(body: bytes) -> None:
    for resource in (builtin("ConfigMap"), GADGETS):
        for media_type in (JSON, YAML):
            assert status_of(decode_body, body, media_type, resource) in (200, 400)


@given(st.text('{}[]":,\\ntrue0189.-eE+u \ud800é', max_size=30))
def test_no_near_json_does_anything_worse_than_be_refused(text: str) -> None:
    body = text.encode("utf-8", "surrogatepass")
    for patch_type in (JSON_PATCH, MERGE_PATCH, APPLY_PATCH):
        assert status_of(decode_patch, body, patch_type) in (200, 400)


@given(st.text('{}[]":,\\ntrue0189.-eE+ ', max_size=24))
def test_what_is_well_formed_is_told_as_python_tells_it(text: str) -> None:
    try:
        json.loads(text, parse_int=float)
    except ValueError:
        assert find_fault(text) is not None
    else:
        assert find_fault(text) is None


@given(values)
def test_what_is_encoded_as_json_decodes_to_the_same(value: Any) -> None:
    assert read_json(encode_json(value)) == value


@given(values)
def test_what_is_encoded_as_yaml_decodes_to_the_same(value: Any) -> None:
    read = read_yaml(encode_yaml(value))
    assert settle_numbers(read.value) == settle_numbers(value)
    assert read.repeated == []


# YAML has no control characters, and no escapes for what is beyond 16 bits.
plain = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)


@given(
    st.recursive(
        scalars.filter(lambda v: not isinstance(v, str)) | plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=4),
        max_leaves=12,
    )
)
def test_json_read_as_yaml_says_the_same(value: Any) -> None:
    text = json.dumps(value).encode()
    assert settle_numbers(read_yaml(text).value) == settle_numbers(value)


@given(st.dictionaries(texts, values, max_size=4))
def test_an_object_in_json_may_be_sent_as_yaml(value: Json) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert decode_patch(text.encode(), APPLY_PATCH).value == settle_numbers(value)


@given(st.lists(integers | floats))
def test_whole_numbers_are_written_without_a_fraction(numbers: list[int | float]) -> None:
    written: list[str] = json.loads(encode_json(numbers), parse_float=str, parse_int=str)
    assert not [text for text in written if text.endswith(".0")]


@given(specs)
def test_pruning_again_changes_nothing(spec: Json) -> None:
    dropped: list[str] = []
    pruned = prune(ROOT, make_gadget(spec), dropped)
    again: list[str] = []
    assert prune(ROOT, pruned, again) == pruned
    assert again == []


@given(specs)
def test_pruning_only_takes_away(spec: Json) -> None:
    dropped: list[str] = []
    obj = make_gadget(spec)
    pruned = prune(ROOT, obj, dropped)
    assert (pruned == obj) == (dropped == [])
    assert pruned["spec"].keys() <= spec.keys()


@given(specs)
def test_filling_in_defaults_again_changes_nothing(spec: Json) -> None:
    filled = default(ROOT, make_gadget(spec))
    assert default(ROOT, filled) == filled


@given(specs)
def test_defaults_survive_pruning(spec: Json) -> None:
    filled = default(ROOT, drop_nulls(ROOT, prune(ROOT, make_gadget({**spec, "req": "r"}))))
    assert prune(ROOT, filled) == filled


def test_defaults_are_valid() -> None:
    assert explain(RULES, default(ROOT, make_gadget({"req": "r"}))) == []


@given(specs)
def test_a_valid_object_is_valid_with_its_defaults(spec: Json) -> None:
    obj = drop_nulls(ROOT, prune(ROOT, make_gadget({**spec, "req": "r"})))
    before, after = explain(RULES, obj), explain(RULES, default(ROOT, obj))
    assert {error.field for error in after} <= {error.field for error in before}


@given(specs)
def test_validation_says_the_same_quickly_and_in_full(spec: Json) -> None:
    obj = settle_numbers(make_gadget(spec))
    assert IS_VALID is not None
    assert IS_VALID(obj) == (explain(RULES, obj) == [])


@given(st.sampled_from(sorted(FIELDS)), likely | values)
def test_every_field_is_validated_the_same_quickly_and_in_full(name: str, value: Any) -> None:
    rules = read_rules(FIELDS[name])
    check = compile_check(rules)
    assert (check is None or check(value)) == (explain(rules, value) == [])


@given(specs)
def test_nothing_given_is_changed(spec: Json) -> None:
    obj = make_gadget(spec)
    before = copy.deepcopy(obj)
    default(ROOT, drop_nulls(ROOT, prune(ROOT, obj)))
    GADGETS.strategy.errors(obj)
    GADGETS.from_stored(obj)
    settle_numbers(obj)
    encode_json(obj)
    assert obj == before


@given(st.dictionaries(words, values, max_size=3), st.sampled_from(sorted(FIELDS)))
def test_defaults_are_never_shared(spec: Json, name: str) -> None:
    schema = structural_schema(
        {"type": "object", "properties": {name: {**FIELDS[name], "default": {}}}}
    )
    first, second = default(schema, {}), default(schema, {})
    before = copy.deepcopy(second)
    first[name]["changed"] = spec
    assert second == before
    assert default(schema, {}) == before


deployments = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.dictionaries(st.sampled_from(["name", "labels", "generation", "x"]), likely),
        "spec": st.fixed_dictionaries(
            {}, optional={"replicas": likely, "template": likely, "selector": likely, "zz": values}
        ),
        "foo": values,
    },
)


@given(deployments)
def test_an_object_read_as_its_kind_reads_the_same_again(obj: Json) -> None:
    before = copy.deepcopy(obj)
    try:
        read, _ = read_typed(DEPLOYMENT, obj)
    except Mismatch:
        read = {}
    assert obj == before
    assert read_typed(DEPLOYMENT, read) == (read, [])


@given(st.from_regex(r"[+-]?[0-9]{0,6}(\.[0-9]{0,6})?(m|k|Ki|Mi|G|e[0-9]|u|n)?", fullmatch=True))
def test_an_amount_in_canonical_form_stays_as_it_is(text: str) -> None:
    try:
        canonical = canonical_quantity(text)
    except NotAQuantity:
        assert text == ""
        return
    assert canonical_quantity(canonical) == canonical


schemas = st.recursive(
    st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(["string", "object", "array", "integer", "null", ""])}
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array", "string"])},
        optional={
            "properties": st.dictionaries(words, inner, max_size=2),
            "items": inner,
            "additionalProperties": inner | st.booleans(),
            "anyOf": st.lists(inner, max_size=2),
            "not": inner,
            "default": values,
            "pattern": texts,
            "required": st.lists(words, max_size=2),
            "x-kubernetes-list-type": st.sampled_from(["set", "map", "atomic", "?"]),
            "x-kubernetes-list-map-keys": st.lists(words, max_size=2),
            "x-kubernetes-embedded-resource": st.booleans(),
            "x-kubernetes-preserve-unknown-fields": st.booleans(),
            "x-kubernetes-int-or-string": st.booleans(),
        },
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(schemas, values)
def test_a_definition_that_keeps_the_rules_can_be_served(schema: Json, value: Any) -> None:
    definition = copy.deepcopy(CRD)
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    body = json.dumps(definition).encode()
    definition = decode_body(body, JSON, builtin("CustomResourceDefinition")).object
    DEFINITION.default(definition)
    DEFINITION.prepare_create(definition)
    if definition_errors(definition):
        return
    (resource,) = resources_of(definition)
    obj = make_gadget(value)
    resource.strategy.default(obj)
    assert resource.from_stored(obj) == obj
    assert resource.strategy.errors(obj) == resource.strategy.errors(copy.deepcopy(obj))


@given(st.text(".[]()?@='\"*:-01ab\\", max_size=16), values)
def test_a_path_is_understood_or_refused(path: str, value: Any) -> None:
    try:
        find = compile_path(path)
    except BadPath:
        return
    assert isinstance(find(value), list)
