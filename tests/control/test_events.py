"""Events: each once, and none lost by being many."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.control.events import PER_OBJECT, Events
from atoll.model.action import Tell


def about(uid: str) -> dict[str, Any]:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "spec": {"much": "more"}}
    return {**head, "metadata": {"namespace": "shop", "name": f"name-{uid}", "uid": uid}}


def event(uid: str, message: str = "it is there", reason: str = "Noticed") -> Tell:
    return Tell(about(uid), reason, message)


def written(events: Events, *keys: Any) -> list[tuple[str, str, str]]:
    """What is written when the turn of these keys comes."""
    taken = [each for each in map(events.take, keys) if each is not None and events.tell(each)]
    return [(each.about["metadata"]["uid"], each.reason, each.message) for each in taken]


def test_of_very_many_events_that_wait_at_once_every_one_is_written() -> None:
    events, uids = Events(), [f"{number}" for number in range(20_000)]
    keys = [events.add(event(uid)) for uid in uids]
    assert written(events, *keys) == [(uid, "Noticed", "it is there") for uid in uids]


def test_however_many_others_were_told_of_none_is_written_a_second_time() -> None:
    events, uids = Events(), [f"{number}" for number in range(20_000)]
    for uid in uids:
        written(events, events.add(event(uid)))
    assert [events.add(event(uid)) for uid in uids] == [None] * len(uids)


def test_one_that_waits_is_not_added_again_and_another_message_of_the_object_is() -> None:
    events = Events()
    first, again = events.add(event("a")), events.add(event("a"))
    other, reason = events.add(event("a", "it is gone")), events.add(event("a", reason="Seen"))
    assert again is None
    assert [each[1:] for each in written(events, first, other, reason)] == [
        ("Noticed", "it is there"),
        ("Noticed", "it is gone"),
        ("Seen", "it is there"),
    ]


def test_of_one_object_only_so_many_wait_and_the_last_is_always_written() -> None:
    events, messages = Events(), [f"attempt {number}" for number in range(3 * PER_OBJECT)]
    keys = [events.add(event("a", each)) for each in messages]
    other = events.add(event("b"))
    assert [message for _, _, message in written(events, *keys)] == messages[-PER_OBJECT:]
    assert written(events, other) == [("b", "Noticed", "it is there")]


def test_what_was_told_of_an_object_that_is_gone_is_not_known_any_more() -> None:
    events = Events()
    for number in range(100):
        written(events, events.add(event(f"{number}")))
        events.forget(f"{number}")
    assert len(events) == 0
    assert events.add(event("7")) is not None


def test_an_event_that_waits_is_written_although_its_object_is_gone() -> None:
    events = Events()
    key = events.add(event("a"))
    events.forget("a")
    assert written(events, key) == [("a", "Noticed", "it is there")]


def test_an_event_that_waits_holds_no_more_of_its_object_than_it_says() -> None:
    events = Events()
    action = events.take(events.add(event("a")) or ("", 0))
    assert action is not None
    named = {"namespace": "shop", "name": "name-a", "uid": "a"}
    assert action.about == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.booleans())))
def test_each_message_of_each_object_is_written_exactly_once(
    steps: list[tuple[str, str, bool]],
) -> None:
    events, keys, found = Events(), list[Any](), list[tuple[str, str, str]]()
    for uid, message, is_turn in steps:
        keys.append(events.add(event(uid, message)))
        if is_turn:
            found += written(events, *[each for each in keys if each is not None])
            keys.clear()
    found += written(events, *[each for each in keys if each is not None])
    assert sorted(found) == sorted({(uid, "Noticed", message) for uid, message, _ in steps})


@pytest.mark.parametrize("told", [False, True])
def test_a_key_whose_event_was_taken_is_nothing_to_take(*, told: bool) -> None:
    events = Events()
    key = events.add(event("a")) or ("", 0)
    action = events.take(key)
    if told and action is not None:
        events.tell(action)
    assert events.take(key) is None
