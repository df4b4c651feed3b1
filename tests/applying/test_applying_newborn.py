"""The quick way to the fields of a new object finds what comparing it with a blank one finds."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.apiserver.applying.comparing import compare
from atoll.apiserver.applying.newborn import blank, fields_of_new
from atoll.apiserver.applying.ownership import Managers
from atoll.apiserver.applying.typed import Untypable
from atoll.apiserver.applying.updates import (
    Write,
    Writer,
    compared,
    record_update,
    tracked,
)
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.schema import Schema

KINDS = [known.definition for known in load().kinds if known.definition.startswith("io.k8s.api.")]
DEEP = ("spec", "template", "containers", "metadata", "volumes", "rules", "ports", "env")
SCALARS: dict[str, Any] = {
    "string": st.sampled_from(["", "a", "b", "<", "25%"]),
    "integer": st.integers(0, 2),
    "number": st.sampled_from([0, 1, 0.5]),
    "boolean": st.booleans(),
    "int-or-string": st.sampled_from([0, 80, "http"]),
}


@st.composite
def values(draw: st.DrawFn, schema: Schema, depth: int = 0) -> Any:
    """A value that fits its schema; what is interesting is deep down in pods."""
    many = draw(st.integers(0, 3)) if depth < 7 else 0
    if schema.type == "list" and schema.element is not None:
        return [draw(values(schema.element, depth + 1)) for _ in range(many)]
    if schema.type == "map" and schema.element is not None:
        return {name: draw(values(schema.element, depth + 1)) for name in ("b", "a")[:many]}
    if schema.type == "any":
        return draw(st.sampled_from([{}, {"b": 1, "a": [1]}, [], "x"]))
    if schema.type != "object":
        return draw(SCALARS[schema.type])
    fields = [*schema.fields]
    likely = [name for name in fields if name in DEEP or name in ("name", "containerPort")]
    named = draw(st.lists(st.sampled_from(fields), max_size=many)) if fields else []
    chosen = [name for name in likely if depth < 7 and draw(st.integers(0, 3))]
    found = {name: draw(values(schema.fields[name], depth + 1)) for name in [*named, *chosen]}
    nothing = [name for name in found if schema.fields[name].format == "date-time"]
    return {**found, **dict.fromkeys(nothing)} if draw(st.booleans()) else found


def outcome(found: Any) -> bytes:
    try:
        return orjson.dumps(found())
    except Untypable as error:
        return str(error).encode()


@settings(max_examples=300)
@given(st.data())
def test_both_ways_find_the_same_in_the_same_order(data: st.DataObject) -> None:
    schema = load().schema(data.draw(st.sampled_from(KINDS)))
    new = data.draw(values(schema))
    quick = outcome(lambda: fields_of_new(new, schema))
    plain = outcome(lambda: compare(blank(schema), new, schema).changed)
    assert quick == plain


def test_a_node_that_many_objects_share_is_not_changed_by_any() -> None:
    schema = load().schema("io.k8s.api.core.v1.Pod")
    one = {"spec": {"containers": [{"name": "a", "env": [{"name": "x", "value": "1"}]}]}}
    two = {"spec": {"containers": [{"name": "a", "env": [{"name": "x"}, {"name": "y"}]}]}}
    first = orjson.dumps(fields_of_new(one, schema))
    fields_of_new(two, schema)
    assert orjson.dumps(fields_of_new(one, schema)) == first


@settings(max_examples=100)
@given(st.data())
def test_whoever_makes_an_object_owns_what_whoever_fills_in_a_blank_one_owns(
    data: st.DataObject,
) -> None:
    schema = load().schema(data.draw(st.sampled_from(KINDS)))
    new = data.draw(values(schema))
    write = Write(schema, Writer("m", "v1"), "2026-11-16T10:00:00Z", (("status",),))
    managers = Managers()
    try:
        record_update(managers, None, new, write)
        plain = tracked(compared(None, new, write).changed)
    except Untypable:
        return
    assert orjson.dumps(managers.fields(write.writer.owner("Update"))) == orjson.dumps(plain)
