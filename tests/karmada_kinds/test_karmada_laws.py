"""Laws of what is filled in and refused, over whatever the schemas allow and beyond."""

import copy
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from karmada_samples import BY_KIND, SAMPLES

from atoll.apiserver.custom import resources_of
from atoll.apiserver.karmada.additions import ADDITIONS
from atoll.apiserver.karmada.definitions import definitions
from atoll.dialects.karmada import names, older, placement
from atoll.dialects.karmada.defaulting import default_models, defaulted
from atoll.dialects.karmada.rules import problems
from atoll.errors import Invalid
from atoll.wire import Wire

NOW = "2026-05-01T10:00:00Z"
ID = "0f6d0dc4-39a5-4a0b-8a51-3e9a2a4f3c11"
SERVED = {
    resource.kind: resource
    for definition in definitions()
    for resource in resources_of(definition)
    if resource.version == resource.stored_version
}
(OLDER,) = (
    resource
    for definition in definitions()
    for resource in resources_of(definition)
    if (resource.kind, resource.version) == ("ResourceBinding", "v1alpha1")
)
TEXTS = (
    *("", "a", "region", "cluster", "a/b", "/spec/x", "*", "Always", "Gracefully", "a b", "1Gi"),
    *("https://[", "https://me:secret@host?a#b", "[1]", "::"),
)
HEAD = ("apiVersion", "kind", "metadata", "status")
SEEDS = st.integers(0, 2**32)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(TEXTS), inner),
    max_leaves=4,
)


def grown(schema: Wire, chance: Random) -> Any:
    """A value with the types of a schema: what it requires and some of the rest.

    Drawn from a seed rather than part by part: the schemas have hundreds of fields.
    """
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return chance.choice(["0", "1", "500m", "4Gi", 2, str(2**63 - 1)])
    match schema.get("type"):
        case "string":
            return NOW if schema.get("format") == "date-time" else chance.choice(TEXTS)
        case "integer":
            return chance.randint(schema.get("minimum", -2), min(schema.get("maximum", 5), 5))
        case "boolean":
            return chance.random() < 0.5
        case "array":
            least = schema.get("minItems", 0)
            return [grown(schema["items"], chance) for _ in range(chance.randint(least, 2))]
        case "object":
            return _grown_object(schema, chance)
    return chance.choice([1, "a", [], {"a": None}])


def _grown_object(schema: Wire, chance: Random) -> Wire:
    if "additionalProperties" in schema:
        keys = chance.sample(TEXTS, chance.randint(0, 2))
        return {key: grown(schema["additionalProperties"], chance) for key in keys}
    required = schema.get("required", ())
    return {
        key: grown(one, chance)
        for key, one in schema.get("properties", {}).items()
        if key in required or chance.random() < 0.35
    }


def whole(kind: str, content: Wire) -> Wire:
    labels = {names.POLICY_ID: ID, names.CLUSTER_POLICY_ID: ID}
    metadata = {"name": "one", "labels": labels}
    if SERVED[kind].namespaced:
        metadata["namespace"] = "default"
    return {**content, "apiVersion": SERVED[kind].api_version, "kind": kind, "metadata": metadata}


def schema_of(kind: str) -> Wire:
    for definition in definitions():
        if definition["spec"]["names"]["kind"] == kind:
            stored = next(one for one in definition["spec"]["versions"] if one["storage"])
            schema = stored["schema"]["openAPIV3Schema"]
            fields = {key: one for key, one in schema["properties"].items() if key not in HEAD}
            return {**schema, "properties": fields}
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", BY_KIND)
@given(seed=SEEDS)
def test_whatever_keeps_its_schema_is_judged_without_a_crash(kind: str, seed: int):
    given_object = whole(kind, grown(schema_of(kind), Random(seed)))
    new = defaulted(given_object, namespace="default", new_id=None, now=NOW)
    SERVED[kind].strategy.default(new)
    assume(not SERVED[kind].strategy.errors(new))
    for problem in problems(new, None):
        assert problem.field.partition(".")[0].partition("[")[0] in ("spec", "metadata", "webhooks")
        assert problem.problem
    assert list(map(str, problems(new, new))) == list(map(str, problems(new, None)))


@pytest.mark.parametrize("kind", BY_KIND)
@given(content=st.dictionaries(st.sampled_from(["spec", "webhooks"]), JSON), seed=SEEDS)
def test_filling_in_takes_anything_changes_nothing_given_and_is_done_once(
    kind: str, content: Wire, seed: int
):
    typed = grown(schema_of(kind), Random(seed))
    for some in (content, typed):
        proposed = whole(kind, some)
        before = copy.deepcopy(proposed)
        first = defaulted(proposed, namespace="default", new_id=ID, now=NOW)
        assert proposed == before
        again = defaulted(first, namespace="default", new_id=None, now="2027-01-01T00:00:00Z")
        assert again == first


@pytest.mark.parametrize("kind", BY_KIND)
def test_the_smallest_objects_are_accepted(kind: str):
    proposed = whole(kind, BY_KIND[kind].content)
    new = defaulted(proposed, namespace="default", new_id=ID, now=NOW)
    assert problems(new, None) == []


def test_the_models_a_cluster_has_from_the_start_are_accepted():
    cluster = whole("Cluster", {"spec": {"syncMode": "Pull", "resourceModels": default_models()}})
    assert problems(cluster, None) == []
    assert defaulted(cluster, namespace="", new_id=None, now=NOW) == cluster


@given(seed=SEEDS)
def test_the_older_form_of_any_binding_keeps_the_older_schema(seed: int):
    stored = whole("ResourceBinding", grown(schema_of("ResourceBinding"), Random(seed)))
    assume(not SERVED["ResourceBinding"].strategy.errors(stored))
    assert OLDER.strategy.errors(older.binding(stored)) == []


@given(seed=SEEDS)
def test_our_own_fields_are_read_or_refused_by_name(seed: int):
    policy = whole("PropagationPolicy", {"spec": {"atoll": grown(ADDITIONS, Random(seed))}})
    for problem in problems(policy, None):
        assert problem.field.startswith("spec.atoll")
        assert not problem.problem.startswith("unknown field") or "divide" in problem.field


def objects_in(schema: Wire, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Wire]]:
    """Every object that a schema names the fields of, with the way there."""
    if "items" in schema:
        return objects_in(schema["items"], (*path, "[]"))
    if "properties" not in schema:
        return []
    found = [(path, schema)]
    for key, child in schema["properties"].items():
        found += objects_in(child, (*path, key))
    return found


def placed(path: tuple[str, ...], content: Wire) -> Wire:
    """An object with this content at the end of the way, and nothing else."""
    value: Any = content
    for step in reversed(path):
        value = [value] if step == "[]" else {step: value}
        if step == "clusters" and "quotas" in path:
            value["count"] = 1
    return dict(value)


def known_to_the_reader(path: tuple[str, ...], content: Wire) -> set[str]:
    with pytest.raises(Invalid, match="unknown field") as caught:
        placement.decode({}, placed(path, {**content, "surprise": 1}))
    return set(caught.value.problem.partition("known are ")[2].split(", "))


OBJECTS = [
    (path, schema)
    for path, schema in objects_in(ADDITIONS, ())
    # The reader takes Kubernetes' requirements as they are, and ignores what else they say.
    if not {"matchExpressions", "properties"} & set(path)
]


@pytest.mark.parametrize(
    ("path", "schema"), OBJECTS, ids=[".".join(p) or "root" for p, _ in OBJECTS]
)
def test_the_schema_has_exactly_the_fields_that_are_read(path: tuple[str, ...], schema: Wire):
    known = known_to_the_reader(path, {})
    if path == ("divide",):
        known |= known_to_the_reader(path, {"weights": []})
    deeper = {"anyOf"} if path[-2:] == ("anyOf", "[]") else set()
    assert set(schema["properties"]) | deeper == known


def test_every_kind_has_a_sample():
    assert {sample.kind for sample in SAMPLES} == SERVED.keys()
