"""What holds for ownership and for apply, whatever is written by whomever in whatever order."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from shapes import (
    API_VERSION,
    SHAPE,
    anything,
    full_specs,
    managers,
    shape,
    shapes,
    without_empty,
)

from atoll.apiserver.applying import Writer, after_apply, after_update, settled
from atoll.apiserver.applying.fieldset import has, paths
from atoll.apiserver.applying.typed import everything
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.status import ApiError

Json = dict[str, Any]

DEPLOYMENT = load().schema("io.k8s.api.apps.v1.Deployment")
full_shapes = full_specs.map(shape)


def histories_of(bodies: Any) -> Any:
    kinds = st.sampled_from(["update", "apply", "force"])
    return st.lists(st.tuples(kinds, managers, bodies), min_size=1, max_size=5)


writes = histories_of(shapes)
# A list of nothing belongs to nobody, and may go with what is around it; not so in these.
full_writes = histories_of(full_shapes)


def moment(number: int) -> str:
    return f"2030-01-01T00:00:{number:02}Z"


def update(old: Json | None, new: Json, manager: str, number: int = 0) -> Json:
    return after_update(SHAPE, old, new, Writer(manager, API_VERSION), moment(number))


def apply(
    live: Json | None, body: Json, manager: str, number: int = 0, *, force: Any = True
) -> Json:
    writer = Writer(manager, API_VERSION)
    return after_apply(SHAPE, live, body, writer, moment(number), force=force)


def histories(history: Any) -> Iterator[tuple[Json | None, Json, str]]:
    """Each state that a history of writes goes through, with the one before and the writer."""
    live: Json | None = None
    for number, (kind, manager, body) in enumerate(history):
        before = live
        try:
            if kind == "update":
                live = update(before, body, manager, number)
            else:
                live = apply(before, body, manager, number, force=kind == "force")
        except ApiError:
            continue
        yield before, live, manager


def entries(obj: Json) -> list[Json]:
    found: list[Json] = obj["metadata"].get("managedFields", [])
    return found


def owned(obj: Json) -> dict[tuple[str, str], Any]:
    return {(e["manager"], e["operation"]): e["fieldsV1"] for e in entries(obj)}


@given(history=full_writes)
def test_every_owned_field_exists(history):
    for _, live, _ in histories(history):
        there = everything({k: v for k, v in live.items() if k != "metadata"}, SHAPE)
        for entry in entries(live):
            assert all(has(there, path) for path in paths(entry["fieldsV1"])), entry


@given(history=writes)
def test_entries_are_never_empty_nor_doubled_and_always_in_order(history):
    for _, live, _ in histories(history):
        keys = [(e["operation"], e.get("time", ""), e["manager"]) for e in entries(live)]
        assert keys == sorted(keys)
        assert len({(e["operation"], e["manager"]) for e in entries(live)}) == len(keys)
        assert all(entry["fieldsV1"] for entry in entries(live))


@given(history=writes, manager=managers)
def test_an_update_that_changes_nothing_changes_nothing(history, manager):
    for _, live, _ in histories(history):
        assert update(live, live, manager, 59) == live
        bare = {**live, "metadata": {"name": "s", "namespace": "default"}}
        assert update(live, bare, manager, 59) == live


@given(history=full_writes, body=full_shapes, manager=managers)
def test_applying_again_changes_nothing(history, body, manager):
    for _, live, _ in histories(history):
        once = apply(live, body, manager, 58)
        assert apply(once, body, manager, 59, force=False) == once


@given(history=writes, new=shapes, manager=managers)
def test_a_writer_owns_what_it_changed_and_nobody_else_does(history, new, manager):
    for _, live, _ in histories(history):
        if not entries(live):
            continue
        result = update(live, new, manager, 59)
        before, after = owned(live), owned(result)
        gained = [
            path
            for path in paths(after.get((manager, "Update"), {}))
            if not has(before.get((manager, "Update"), {}), path)
        ]
        for owner, fields in after.items():
            if owner != (manager, "Update"):
                assert not any(has(fields, path) for path in gained)
                assert all(has(before[owner], path) for path in paths(fields))


@given(history=full_writes, body=full_shapes, manager=managers)
def test_without_force_others_lose_nothing_by_an_apply(history, body, manager):
    for _, live, _ in histories(history):
        try:
            result = apply(live, body, manager, 59, force=False)
        except ApiError as refusal:
            code = refusal.code
        else:
            code = 200
            for owner, fields in owned(live).items():
                if owner != (manager, "Apply") and entries(live):
                    assert owned(result)[owner] == fields
        assert code in (200, 409)


@given(history=full_writes, body=full_shapes, manager=managers)
def test_what_is_applied_is_in_the_object(history, body, manager):
    for _, live, _ in histories(history):
        assert covers(apply(live, body, manager, 59), body)


def covers(obj: Any, part: Any) -> bool:
    """Whether the object says all that the part says (as far as one can tell without a schema)."""
    if isinstance(part, dict) and isinstance(obj, dict):
        return all(key in obj and covers(obj[key], part[key]) for key in part if part[key])
    if isinstance(part, list) and isinstance(obj, list):
        return all(any(covers(one, item) for one in obj) for item in part)
    return bool(obj == part) or part is None


@given(first=full_specs, second=full_specs, third=full_specs)
def test_appliers_of_different_fields_may_come_in_any_order(first, second, third):
    second = {key: value for key, value in second.items() if key not in first}
    third = {key: value for key, value in third.items() if key not in first | second}
    assume(second and third)
    bodies = {"one": shape(first), "two": shape(second), "three": shape(third)}
    results = []
    for turn in (("one", "two", "three"), ("three", "one", "two"), ("two", "three", "one")):
        live: Json | None = None
        for manager in turn:
            live = apply(live, bodies[manager], manager, force=False)
        assert live is not None
        times = [entry.get("time") for entry in entries(live)]
        results.append((live["spec"], owned(live), len(times)))
    assert results[0] == results[1] == results[2]


@given(first=shapes, second=shapes)
def test_what_an_applier_drops_is_gone_unless_others_own_it(first, second):
    live = apply(apply(None, first, "one"), second, "one", 1)
    assert without_empty(live.get("spec") or {}) == without_empty(second["spec"])


@given(history=writes)
def test_no_input_changes(history):
    before = copy.deepcopy(history)
    states = [(copy.deepcopy(live), live) for _, live, _ in histories(history)]
    assert history == before
    assert all(copied == live for copied, live in states)


@given(old=shapes, new=shapes)
def test_times_alone_are_no_change(old, new):
    live = update(None, old, "one")
    later = copy.deepcopy(live)
    for entry in entries(later):
        entry["time"] = moment(9)
    assert settled(live, later) is live
    changed = update(live, new, "two", 1)
    assert settled(live, changed) == changed


@pytest.mark.parametrize("schema", [SHAPE, DEPLOYMENT], ids=["shape", "deployment"])
@given(old=anything, new=anything, applied=anything)
def test_anything_at_all_ends_in_an_object_or_an_api_error(schema, old, new, applied):
    old, new, applied = (obj if isinstance(obj, dict) else {} for obj in (old, new, applied))
    for obj in (old, new):
        obj["metadata"] = obj["metadata"] if isinstance(obj.get("metadata"), dict) else {}
    old["metadata"].pop("managedFields", None)  # what is stored is our own
    before = json.dumps([old, new, applied])
    assert code_of(schema, old, new, applied) in (200, 400, 409, 500)
    assert json.dumps([old, new, applied]) == before


def code_of(schema: Schema, old: Json, new: Json, applied: Json) -> int:
    writer = Writer("w", "v1")
    try:
        created = after_update(schema, None, old, writer, moment(0))
        updated = after_update(schema, created, new, writer, moment(1))
        after_apply(schema, updated, applied, writer, moment(2), force=True)
        after_apply(schema, created, applied, Writer("kubectl", "v1"), moment(2), force=False)
        after_apply(schema, None, applied, writer, moment(2), force=False)
    except ApiError as refusal:
        return refusal.code
    return 200


@given(sent=anything, old=shapes)
def test_any_managed_fields_may_be_sent(sent, old):
    live = update(None, old, "one")
    new = {**old, "metadata": {**old["metadata"], "managedFields": sent}}
    if not isinstance(sent, list):
        sent = [sent]
    result = update(live, {**new, "metadata": {**old["metadata"], "managedFields": sent}}, "two")
    assert isinstance(result["metadata"].get("managedFields", []), list)


def test_nesting_without_end_is_refused():
    deep: Any = 1
    for _ in range(5000):
        deep = {"a": deep}
    body = shape({"free": deep})
    with pytest.raises(ApiError) as refusal:
        update(None, body, "one")
    assert refusal.value.code == 400
    with pytest.raises(ApiError) as refusal:
        apply(None, body, "one")
    assert refusal.value.code == 400
