"""Webster's method: the rule replayed seat by seat, its laws, and answers known from Karmada."""

from heapq import heapify, heapreplace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atoll.scheduling.webster import descends, divide, strongest_first


def seat_by_seat(seats: int, votes: list[int], *, descending: bool = False) -> list[int]:
    """The rule as it is written: the best bid takes the next seat."""
    won = [0] * len(votes)
    if not any(votes):
        return won
    bids = [(-float(each), 0, -i if descending else i) for i, each in enumerate(votes)]
    heapify(bids)
    for _ in range(seats):
        _, held, place = bids[0]
        won[abs(place)] += 1
        heapreplace(bids, (-float(votes[abs(place)]) / (2 * held + 3), held + 1, place))
    return won


def divided(seats: int, votes: list[int], *, descending: bool = False) -> list[int]:
    return divide(seats, np.array(votes, np.int64), descending=descending).tolist()


INT32_MAX = 2**31 - 1
vote = st.one_of(
    st.integers(0, 5),
    st.sampled_from([0, 1, 3, 5, 9, 15, 45]),
    st.integers(0, 2000),
    st.integers(0, INT32_MAX),
    st.integers(2**53 - 3, 2**53),
)
few = st.lists(vote, min_size=1, max_size=12)
many = st.builds(
    lambda kinds, size: [kinds[(i * i) % len(kinds)] for i in range(size)],
    st.lists(vote, min_size=1, max_size=20),
    st.integers(40, 300),
)
electorates = few | many
houses = st.integers(0, 30) | st.integers(0, 1500)


@given(houses, electorates, st.booleans())
@example(99, [1] * 100, True)
@example(100, [3] + [1] * 99, False)
@example(3, [45, 15, 9, 5, 3, 1] * 20, True)
@example(1000, [2**53] + [1] * 60, False)
@example(10, [2] * 3 + [1] * 60, False)
@example(150, [1] * 100, False)
@example(400, [3, 1] * 100, True)
def test_seats_go_where_the_rule_applied_one_by_one_puts_them(seats, votes, descending):
    expected = seat_by_seat(seats, votes, descending=descending)
    assert divided(seats, votes, descending=descending) == expected


@given(st.integers(0, INT32_MAX), electorates, st.booleans())
@example(INT32_MAX, [INT32_MAX] * 200, False)
@example(INT32_MAX, [1], False)
@example(INT32_MAX, [1, 2**53] * 50, True)
def test_no_bid_that_lost_is_better_than_one_that_won(seats, votes, descending):
    won = divided(seats, votes, descending=descending)
    order = [-i if descending else i for i in range(len(votes))]
    parties = list(zip(votes, won, order, strict=True))
    lost = min((-float(v) / (2 * k + 1), k, i) for v, k, i in parties)
    taken = [(-float(v) / (2 * k - 1), k - 1, i) for v, k, i in parties if k]
    assert sum(won) == (seats if any(votes) else 0)
    assert all(each < lost for each in taken)


@given(houses, electorates)
def test_one_more_seat_takes_none_away(seats, votes):
    before, after = divided(seats, votes), divided(seats + 1, votes)
    assert all(b <= a for b, a in zip(before, after, strict=True))
    assert sum(after) - sum(before) == (1 if any(votes) else 0)


# Votes of more than 32 bits can differ by less than their quotients show.
@given(
    houses,
    electorates.map(lambda votes: [min(each, INT32_MAX) for each in votes]),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_parties_decides_only_among_equal_votes(seats, votes, shuffler):
    places = list(range(len(votes)))
    shuffler.shuffle(places)
    shuffled = divided(seats, [votes[place] for place in places])
    as_given = divided(seats, votes)
    assert sorted(zip([votes[p] for p in places], shuffled, strict=True)) == sorted(
        zip(votes, as_given, strict=True)
    )


@given(electorates.filter(any), st.data())
def test_nobody_gets_more_seats_than_votes_while_there_are_votes_for_all_seats(votes, data):
    seats = data.draw(st.integers(0, min(sum(votes), INT32_MAX)))
    assert all(won <= each for won, each in zip(divided(seats, votes), votes, strict=True))


@given(houses, electorates)
def test_the_votes_given_are_left_as_they_were(seats, votes):
    given_votes = np.array(votes, np.int64)
    divide(seats, given_votes, descending=True)
    assert given_votes.tolist() == votes


@pytest.mark.parametrize(
    ("seats", "votes", "expected"),
    [
        pytest.param(9, [1, 2], [3, 6], id="static-1-2"),
        pytest.param(9, [1, 3], [2, 7], id="static-1-3"),
        pytest.param(7, [3, 2, 1], [4, 2, 1], id="static-3-2-1"),
        pytest.param(12, [18, 12, 6], [6, 4, 2], id="dynamic-18-12-6"),
        pytest.param(12, [20, 12, 6], [6, 4, 2], id="dynamic-20-12-6"),
        pytest.param(12, [6, 12, 6], [3, 6, 3], id="dynamic-6-12-6"),
        pytest.param(12, [8, 10], [5, 7], id="aggregated-within-its-prefix"),
        pytest.param(12, [4, 6, 8], [3, 4, 5], id="aggregated-grows-by-what-is-free"),
        pytest.param(12, [6, 6], [6, 6], id="aggregated-evenly"),
        pytest.param(4, [1200, 900, 400], [2, 1, 1], id="textbook-three-parties"),
        pytest.param(8, [100_000, 80_000, 30_000, 20_000], [3, 3, 1, 1], id="textbook-four"),
        pytest.param(3, [3, 1], [2, 1], id="a-tie-goes-to-whoever-holds-fewer-seats"),
        pytest.param(2, [3, 1], [1, 1], id="fewer-seats-even-against-more-votes"),
        pytest.param(5, [0, 0], [0, 0], id="no-votes-no-seats"),
        pytest.param(5, [0, 1], [0, 5], id="a-party-without-votes-gets-nothing"),
        pytest.param(0, [4, 2], [0, 0], id="no-seats"),
        pytest.param(5, [], [], id="no-parties"),
    ],
)
def test_answers_known_from_karmada(seats, votes, expected):
    assert divided(seats, votes) == expected


@pytest.mark.parametrize(
    ("uid", "expected"),
    [
        pytest.param("", [2, 1], id="no-uid-first-name"),
        pytest.param("a", [2, 1], id="even-hash-first-name"),
        pytest.param("b", [1, 2], id="odd-hash-last-name"),
    ],
)
def test_the_uid_decides_who_wins_a_tie(uid, expected):
    assert divided(3, [1, 1], descending=descends(uid)) == expected


@given(st.text(min_size=1))
def test_the_order_follows_the_lowest_bit_of_the_whole_hash(uid):
    fnv = 0x811C9DC5
    for byte in uid.encode():
        fnv = (fnv ^ byte) * 0x01000193 % 2**32
    assert descends(uid) == (fnv % 2 == 1)


@given(houses, electorates, st.booleans())
def test_to_know_the_strongest_beforehand_changes_nothing(seats, votes, descending):
    column = np.array(votes, np.int64)
    known = strongest_first(column, descending=descending)
    won = divide(seats, column, descending=descending, by_strength=known)
    assert won.tolist() == divided(seats, votes, descending=descending)
