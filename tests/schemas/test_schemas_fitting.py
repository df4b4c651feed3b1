"""What fits its kind as it is need not be read: the quick way says so only where it is true."""

from base64 import b64encode
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.fitting import fits
from atoll.apiserver.schemas.mismatch import Mismatch
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.typed import read_typed

KINDS = [known.definition for known in load().kinds]
FIELDS = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}

amounts = st.from_regex(r"\A[+-]?[0-9]{1,4}(\.[0-9])?([numkMGTPE]|[KMGTPE]i|e3)?\Z")
times = st.from_regex(r"\A20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z\Z")
binary = st.binary(max_size=6).map(lambda data: b64encode(data).decode())
odd = st.sampled_from(
    [None, True, 0, -1, 2**31, 2**63, 1.0, 0.5, "", "x", [], {}, [None], {"a": 1}]
)
STRINGS = {"quantity": amounts, "date-time": times, "byte": binary | st.text("AB=+/", max_size=5)}
NUMBERS = {"int32": st.integers(-(2**31) - 1, 2**31), "int64": st.integers(-(2**63), 2**63)}


def scalars(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.type:
        case "string":
            return STRINGS.get(schema.format, st.text("ab\u00e9", max_size=3))
        case "integer":
            return NUMBERS.get(schema.format, st.integers())
        case "boolean":
            return st.booleans()
        case "int-or-string":
            return st.integers(0, 9) | st.just("25%")
    return st.just(FIELDS)


@st.composite
def values(draw: st.DrawFn, schema: Schema, depth: int = 0) -> Any:
    """A value of this schema, seldom quite right."""
    if draw(st.integers(0, 40)) == 0:
        return draw(odd)
    few = draw(st.integers(0 if depth > 4 else 1, 0 if depth > 6 else 3))
    if schema.type == "list" and schema.element is not None:
        return [draw(values(schema.element, depth + 1)) for _ in range(few)]
    if schema.type == "map" and schema.element is not None:
        return {f"key-{n}": draw(values(schema.element, depth + 1)) for n in range(few)}
    if schema.type != "object":
        return draw(scalars(schema))
    names = draw(st.lists(st.sampled_from([*schema.fields, "no"]), max_size=few, unique=True))
    known = {name: schema.fields.get(name) for name in names}
    return {
        name: draw(odd) if child is None else draw(values(child, depth + 1))
        for name, child in known.items()
        if child is not None or draw(st.integers(0, 20)) == 0
    }


@settings(max_examples=300)
@given(st.data())
def test_what_fits_is_read_as_it_is_and_without_complaint(data: st.DataObject) -> None:
    schema = load().schema(data.draw(st.sampled_from(KINDS)))
    value = data.draw(values(schema))
    assume(fits(schema, value))
    read, complaints = read_typed(schema, value)
    assert orjson.dumps(read) == orjson.dumps(value)
    assert complaints == []


@settings(max_examples=300)
@given(st.data())
def test_what_is_a_bare_part_of_a_kind_is_judged_likewise(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(_parts()))
    value = data.draw(values(schema) | odd)
    assume(fits(schema, value))
    read, complaints = read_typed(schema, value)
    assert (read, complaints) == (value, [])


def _parts() -> list[Schema]:
    """Amounts and times, and what is made of them, wherever kinds have them."""
    pod = load().schema("io.k8s.api.core.v1.PodSpec").fields
    container = pod["containers"].element
    resources = container.fields["resources"] if container else Schema("any")
    meta = load().schema("io.k8s.api.core.v1.Pod").fields["metadata"].fields
    return [
        resources.fields["limits"],
        meta["creationTimestamp"],
        meta["managedFields"],
        meta["ownerReferences"],
        pod["tolerations"],
        load().schema("io.k8s.api.core.v1.Secret").fields["data"],
    ]


POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "labels": {"app": "web"},
        "creationTimestamp": "2026-11-16T10:00:00Z",
        "managedFields": [{"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": FIELDS}],
    },
    "spec": {
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}},
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    },
}


def test_an_everyday_object_fits() -> None:
    assert fits(load().schema("io.k8s.api.core.v1.Pod"), POD)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("spec", "nope"), 1, id="a field that there is not"),
        pytest.param(("spec", "nodeName"), None, id="null"),
        pytest.param(("spec", "tolerations"), [], id="an empty list, which is dropped"),
        pytest.param(("spec", "nodeSelector"), {}, id="an empty map, which is dropped"),
        pytest.param(("spec", "priority"), True, id="true for a number"),
        pytest.param(("spec", "priority"), 1.0, id="a fraction for a number"),
        pytest.param(("spec", "priority"), 2**31, id="a number that is too large"),
        pytest.param(("spec", "overhead"), {"cpu": "1000m"}, id="an amount with a shorter form"),
        pytest.param(("spec", "overhead"), {"cpu": 1}, id="an amount as a number"),
        pytest.param(("metadata", "creationTimestamp"), "2026-11-16T10:00:00+01:00", id="a zone"),
    ],
)
def test_what_reading_changes_or_refuses_does_not_fit(path: tuple[str, str], value: Any) -> None:
    schema = load().schema("io.k8s.api.core.v1.Pod")
    part, key = path
    changed = {**POD, part: {**POD[part], key: value}}
    assert not fits(schema, changed)
    try:
        read, complaints = read_typed(schema, changed)
    except Mismatch:
        return
    assert complaints or read != changed or read["spec"].get("priority").__class__ is not int
