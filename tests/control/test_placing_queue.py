"""Who is scheduled next."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.control.scheduler.decide.queue import Queue
from atoll.model.decision import Verdict

UNSCHEDULABLE, ERROR, NO_FIT = (
    Verdict.UNSCHEDULABLE,
    Verdict.SCHEDULER_ERROR,
    Verdict.NO_CLUSTER_FIT,
)


def drained(queue: Queue[str], now: float) -> list[str]:
    """All that may be taken now, each done with at once."""
    found = []
    while (key := queue.next(now)) is not None:
        found.append(key)
        queue.succeeded(key, now)
    return found


def fail(queue: Queue[str], reason: Verdict, now: float) -> None:
    key = queue.next(now)
    assert key is not None
    queue.failed(key, reason, now)


@pytest.mark.parametrize(
    ("by_priority", "expected"),
    [(True, ["high", "a", "b", "low"]), (False, ["low", "a", "high", "b"])],
)
def test_the_highest_priority_comes_first_and_of_equal_ones_the_oldest(
    *, by_priority: bool, expected: list[str]
) -> None:
    queue = Queue[str](by_priority=by_priority)
    for now, (key, priority) in enumerate([("low", -1), ("a", 0), ("high", 9), ("b", 0)]):
        queue.add(key, priority, now)
    assert drained(queue, 10) == expected


def test_added_again_it_keeps_its_place_and_takes_the_new_priority() -> None:
    queue = Queue[str](by_priority=True)
    queue.add("a", 0, 0)
    queue.add("b", 0, 1)
    queue.add("a", 0, 2)
    assert len(queue) == 2
    assert drained(queue, 3) == ["a", "b"]
    queue.add("a", 0, 4)
    queue.add("b", 0, 5)
    queue.add("b", 7, 6)
    assert drained(queue, 7) == ["b", "a"]


def test_failures_back_off_from_one_second_doubling_to_ten() -> None:
    queue, now, waits = Queue[str](), 0.0, []
    queue.add("a", 0, now)
    for _ in range(6):
        fail(queue, ERROR, now)
        assert queue.next(now) is None
        wake = queue.wake(now)
        assert wake is not None
        assert queue.next(wake - 0.01) is None
        waits.append(wake - now)
        now = wake
    assert waits == [1, 2, 4, 8, 10, 10]
    assert drained(queue, now) == ["a"]
    queue.add("a", 0, now)
    fail(queue, ERROR, now)
    assert queue.wake(now) == now + 1  # success forgets


def test_who_found_no_room_waits_five_minutes_at_most() -> None:
    queue = Queue[str]()
    queue.add("a", 0, 0)
    fail(queue, UNSCHEDULABLE, 0)
    assert queue.wants_room() == ["a"]
    assert queue.wake(0) == 300
    assert queue.next(299) is None
    assert queue.next(300) == "a"
    assert queue.wants_room() == []


def test_a_changed_cluster_wakes_who_waits_after_its_back_off() -> None:
    queue = Queue[str]()
    for key in ("a", "b"):
        queue.add(key, 0, 0)
        fail(queue, UNSCHEDULABLE, 0)
    for key in ("a", "new"):
        queue.cluster_changed(key, 0, 0.5)
    assert drained(queue, 0.5) == ["new"]
    assert queue.wake(0.5) == 1
    assert drained(queue, 1) == ["a"]
    queue.cluster_changed("b", 0, 20)
    assert drained(queue, 20) == ["b"]


def test_a_user_s_edit_is_looked_at_at_once() -> None:
    queue = Queue[str]()
    queue.add("a", 0, 0)
    fail(queue, ERROR, 0)
    queue.add("a", 0, 0.1)
    assert queue.next(0.1) == "a"


def test_where_nothing_fits_nothing_is_tried_until_something_changes() -> None:
    queue = Queue[str]()
    queue.add("a", 0, 0)
    fail(queue, NO_FIT, 0)
    assert len(queue) == 0
    assert queue.wake(0) is None


@pytest.mark.parametrize("outcome", [None, ERROR, NO_FIT, UNSCHEDULABLE])
def test_what_is_added_while_it_is_taken_comes_again_and_not_before(outcome: Any) -> None:
    queue = Queue[str]()
    queue.add("a", 0, 0)
    assert queue.next(0) == "a"
    queue.add("a", 0, 1)
    queue.cluster_changed("a", 0, 1)
    assert queue.next(1) is None
    if outcome is None:
        queue.succeeded("a", 2)
    else:
        queue.failed("a", outcome, 2)
    assert queue.next(2) == "a"
    queue.succeeded("a", 2)
    assert queue.next(2) is None


def test_what_is_forgotten_does_not_come() -> None:
    queue = Queue[str]()
    queue.add("a", 0, 0)
    queue.add("b", 0, 0)
    queue.forget("a")
    queue.forget("unknown")
    assert queue.wake(0) == 0
    assert drained(queue, 0) == ["b"]
    assert queue.wake(0) is None


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["add", "next", "changed", "forget", "done", "error", "no room"]),
        st.sampled_from("abcd"),
        st.integers(-1, 2),
        st.floats(0, 20),
    ),
    max_size=40,
)


@given(calls=CALLS, by_priority=st.booleans())
def test_nobody_is_lost_nobody_is_taken_twice(*, calls: Any, by_priority: bool) -> None:
    """Whatever happens, all that waits comes in the end, and in the right order."""
    queue, now = Queue[str](by_priority=by_priority), 0.0
    waits, taken = set[str](), list[str]()
    for call, key, priority, pause in calls:
        now += pause
        if call in ("add", "changed"):
            (queue.add if call == "add" else queue.cluster_changed)(key, priority, now)
            waits.add(key)
        elif call == "forget":
            queue.forget(key)
            waits.discard(key)
        elif call == "next":
            found = queue.next(now)
            if found is not None:
                assert found in waits
                assert found not in taken
                waits.discard(found)
                taken.append(found)
        elif taken:
            one = taken.pop(0)
            if call == "done":
                queue.succeeded(one, now)
            else:
                queue.failed(one, ERROR if call == "error" else UNSCHEDULABLE, now)
                waits.add(one)
    for one in taken:
        queue.succeeded(one, now)
    found = drained(queue, now + 1000)
    assert sorted(found) == sorted(waits)
    assert queue.wake(now + 1000) is None


def test_a_look_at_a_later_time_does_not_come_before_it_nor_put_off_an_earlier_one() -> None:
    queue = Queue[str]()
    queue.add_later("a", 0, 60.0, 0.0)
    assert (queue.next(59.0), queue.wake(59.0)) == (None, 60.0)
    queue.add("a", 0, 1.0)
    queue.add_later("a", 0, 90.0, 2.0)
    assert queue.next(2.0) == "a"
    queue.add_later("a", 0, 90.0, 2.0)
    queue.succeeded("a", 3.0)
    assert queue.wake(3.0) is None


@given(st.lists(st.integers(-3, 3), max_size=20))
def test_the_order_is_by_priority_then_age(priorities: list[int]) -> None:
    queue = Queue[int](by_priority=True)
    for place, priority in enumerate(priorities):
        queue.add(place, priority, float(place))
    found = []
    while (key := queue.next(100.0)) is not None:
        found.append(key)
    assert found == sorted(range(len(priorities)), key=lambda each: (-priorities[each], each))


def test_who_fails_again_and_again_keeps_nobody_from_their_turn() -> None:
    queue, now = Queue[str](by_priority=True), 0.0
    queue.add("stubborn", 9, now)
    for place in range(20):
        queue.add(f"k{place}", 0, now)
    served = []
    while len(served) < 20:
        key = queue.next(now)
        if key == "stubborn":
            queue.failed(key, ERROR, now)
        elif key is not None:
            served.append(key)
            queue.succeeded(key, now)
        now += 0.1
    assert served == [f"k{place}" for place in range(20)]
    assert now < 3


def test_what_is_put_back_comes_at_once_and_has_not_failed() -> None:
    queue: Queue[str] = Queue()
    queue.add("a", 0, 0.0)
    assert queue.next(0.0) == "a"
    queue.add("a", 0, 1.0)
    queue.put_back("a", 2.0)
    assert drained(queue, 2.0) == ["a"]
    assert queue.wake(2.0) is None


def test_a_key_is_taken_out_of_turn_only_if_it_may_be_looked_at() -> None:
    queue: Queue[str] = Queue()
    queue.add("first", 0, 0.0)
    queue.add("second", 0, 0.0)
    queue.add_later("later", 0, 5.0, 0.0)
    assert "later" in queue
    assert [queue.take(each, 1.0) for each in ("second", "later", "nobody")] == [True, False, False]
    assert "second" not in queue
    assert not queue.take("second", 1.0)
    assert drained(queue, 1.0) == ["first"]
    queue.succeeded("second", 1.0)
    assert drained(queue, 5.0) == ["later"]


@pytest.mark.parametrize("reason", [UNSCHEDULABLE, ERROR, NO_FIT])
def test_who_found_no_place_is_known_to_look_for_one_until_it_did(reason: Verdict) -> None:
    queue: Queue[str] = Queue()
    queue.add("a", 0, 0.0)
    fail(queue, reason, 0.0)
    assert "a" in queue
    queue.cluster_changed("a", 0, 5.0)
    assert drained(queue, 5.0) == ["a"]
    assert "a" not in queue
