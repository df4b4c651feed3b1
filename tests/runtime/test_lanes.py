"""Lanes take turns: tables, and what holds whatever comes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from atoll.runtime.lanes import Lanes


def drained(lanes: Lanes[str]) -> list[str]:
    found = []
    while (key := lanes.first()) is not None:
        lanes.take(key)
        found.append(key)
    return found


def filled(*keys: str) -> Lanes[str]:
    lanes: Lanes[str] = Lanes()
    for at, key in enumerate(keys):
        lanes.add(key, key[0], float(at))
    return lanes


def test_of_one_lane_who_came_first_goes_first() -> None:
    assert drained(filled("a1", "a2", "a3")) == ["a1", "a2", "a3"]


def test_lanes_take_turns() -> None:
    assert drained(filled("a1", "a2", "a3", "b1", "b2", "c1")) == [
        *("a1", "b1", "c1", "a2", "b2", "a3"),
    ]


def test_who_is_busy_is_passed_over() -> None:
    lanes = filled("a1", "a2", "b1")
    assert lanes.first({"a1"}) == "a2"
    assert lanes.first({"a1", "a2"}) == "b1"
    assert lanes.first({"a1", "a2", "b1"}) is None


def test_a_stream_of_new_lanes_leaves_every_fourth_turn_to_the_others() -> None:
    lanes, found = filled("a1", "a2", "a3"), []
    for number in range(12):
        lanes.add(f"{chr(ord('b') + number)}", f"new {number}", 0.0)
        key = lanes.first()
        assert key is not None
        lanes.take(key)
        found.append(key[0])
    assert [at for at, lane in enumerate(found) if lane == "a"] == [0, 3, 7]


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["add", "take", "remove"]), st.integers(0, 9), st.sampled_from("abc")
    ),
    max_size=60,
)


@given(CALLS)
def test_nobody_is_lost_and_lanes_wait_for_no_more_than_their_turn(
    calls: list[tuple[str, int, str]],
) -> None:
    """Against a plain list: who waits is the same, and each lane is in order."""
    lanes: Lanes[str] = Lanes()
    waiting: dict[str, str] = {}
    for call, number, lane in calls:
        key = str(number)
        if call == "add" and key not in waiting:
            lanes.add(key, lane, 0.0)
            waiting[key] = lane
        elif call == "take" and waiting:
            found = lanes.first()
            assert found is not None
            of_lane = [each for each, its in waiting.items() if its == waiting[found]]
            assert found == of_lane[0]
            lanes.take(found)
            del waiting[found]
        elif call == "remove" and key in waiting:
            lanes.remove(key)
            del waiting[key]
        assert len(lanes) == len(waiting)
        assert [*lanes] == [*waiting]
    left = drained(lanes)
    assert sorted(left) == sorted(waiting)
    # With nothing new, between two turns of a lane each other that waits has one.
    for lane in set(waiting.values()):
        turns = [at for at, key in enumerate(left) if waiting[key] == lane]
        for one, other in pairwise(turns):
            between = [waiting[key] for key in left[one + 1 : other]]
            assert len(between) <= 2 * len(set(between))
