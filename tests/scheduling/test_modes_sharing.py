"""Webster within bounds, held against giving one seat after the other; and who can take part."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.scheduling import webster
from atoll.scheduling.sharing import share, usable

Bounds = tuple[int, int]


def seat_by_seat(
    seats: int, votes: list[int], bounds: list[Bounds], *, descending: bool
) -> list[int]:
    """The rule, word for word."""
    held = [least for least, _ in bounds]
    order = list(reversed(range(len(votes)))) if descending else list(range(len(votes)))
    for _ in range(seats - sum(held)):
        open_to = [i for i in order if held[i] < bounds[i][1]]
        if not open_to:
            break
        winner = min(open_to, key=lambda i: (-votes[i] / (2 * held[i] + 1), held[i]))
        held[winner] += 1
    return held


bounds = st.tuples(st.integers(0, 6), st.integers(0, 12)).map(lambda each: (each[0], sum(each)))
parties = st.lists(st.tuples(st.integers(0, 20) | st.integers(0, 10**6), bounds), max_size=8)


def shared(seats: int, given_to: list[tuple[int, Bounds]], *, descending: bool) -> list[int]:
    votes = np.array([each for each, _ in given_to], np.int64)
    least = np.array([low for _, (low, _) in given_to], np.int64)
    most = np.array([high for _, (_, high) in given_to], np.int64)
    result: list[int] = share(seats, votes, least, most, descending=descending).tolist()
    return result


@given(st.integers(0, 80), parties, st.data())
def test_seats_are_given_as_if_one_by_one(
    more: int, given_to: list[tuple[int, Bounds]], data: st.DataObject
) -> None:
    seats = more + sum(least for _, (least, _) in given_to)
    votes, limits = [each for each, _ in given_to], [each for _, each in given_to]
    descending = data.draw(st.booleans())
    expected = seat_by_seat(seats, votes, limits, descending=descending)
    assert shared(seats, given_to, descending=descending) == expected


@given(st.integers(0, 300), st.lists(st.integers(0, 9), min_size=60, max_size=90))
def test_many_parties_with_many_ties_are_served_as_if_one_by_one(
    seats: int, votes: list[int]
) -> None:
    limits = [(i % 3, i % 3 + i % 7) for i in range(len(votes))]
    seats += sum(least for least, _ in limits)
    given_to = list(zip(votes, limits, strict=True))
    assert shared(seats, given_to, descending=False) == seat_by_seat(
        seats, votes, limits, descending=False
    )


@given(
    st.integers(0, 2**31 - 1),
    st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=60).filter(any),
    st.data(),
)
def test_without_bounds_it_is_webster(seats: int, votes: list[int], data: st.DataObject) -> None:
    descending = data.draw(st.booleans())
    numbers = np.array(votes, np.int64)
    none, all_of_it = np.zeros_like(numbers), np.full_like(numbers, seats)
    bounded = share(seats, numbers, none, all_of_it, descending=descending)
    assert bounded.tolist() == webster.divide(seats, numbers, descending=descending).tolist()


@pytest.mark.parametrize(
    ("seats", "given_to", "expected"),
    [
        pytest.param(9, [(2, (0, 9)), (1, (0, 9))], [6, 3], id="in proportion"),
        pytest.param(9, [(2, (0, 4)), (1, (0, 9))], [4, 5], id="what one may not have flows on"),
        pytest.param(9, [(8, (0, 9)), (1, (3, 9))], [6, 3], id="a least is met first"),
        pytest.param(9, [(1, (0, 2)), (0, (0, 9)), (0, (0, 9))], [2, 4, 3], id="no votes: last"),
        pytest.param(9, [(1, (0, 2)), (1, (0, 3))], [2, 3], id="what nobody may have is left"),
        pytest.param(2**31 - 1, [(1, (0, 2**31)), (0, (5, 9))], [2**31 - 6, 5], id="very many"),
    ],
)
def test_bounds_move_seats(
    seats: int, given_to: list[tuple[int, Bounds]], expected: list[int]
) -> None:
    assert shared(seats, given_to, descending=False) == expected


tight = st.tuples(st.integers(0, 7), st.integers(-2, 3)).map(
    lambda each: (each[0], max(0, sum(each)))
)


def best_use(seats: int, limits: list[Bounds]) -> tuple[int, list[bool]]:
    """Of all ways to let parties in or not: the most seats, then the first in order."""
    best = (0, [False] * len(limits))
    for way in product((True, False), repeat=len(limits)):
        inside = [each for each, joins in zip(limits, way, strict=True) if joins]
        low, high = sum(low for low, _ in inside), sum(high for _, high in inside)
        if low <= seats and all(low <= high and high for low, high in inside):
            best = max(best, (min(high, seats), list(way)))
    return best


@given(st.integers(0, 25), st.lists(tight, max_size=7))
def test_as_many_seats_as_possible_are_placed_and_the_first_take_part(
    seats: int, limits: list[Bounds]
) -> None:
    least = np.array([low for low, _ in limits], np.int64)
    most = np.array([high for _, high in limits], np.int64)
    placed, taking = usable(seats, least, most)
    assert (placed, taking.tolist()) == best_use(seats, limits)


def test_a_gap_that_no_sum_of_bounds_reaches_is_found_among_hundreds() -> None:
    pairs = np.full(400, 2, np.int64)
    assert usable(301, pairs, pairs)[0] == 300
    placed, taking = usable(301, np.append(pairs, 3), np.append(pairs, 3))
    assert placed == 301
    assert taking[-1]
