"""Percentiles, ratios and how work is dealt out: the arithmetic behind every printed number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.arithmetic import median_ratio, percentile, rate, ratio
from bench.load import dealt

values = st.lists(st.floats(0, 1e6), min_size=1, max_size=200)


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [
        pytest.param(1, 0.5, 1, id="one-value-is-every-percentile"),
        pytest.param(1, 0.99, 1, id="also-the-99th"),
        pytest.param(2, 0.5, 1, id="half-of-two-is-the-first"),
        pytest.param(3, 0.5, 2, id="the-middle-of-three"),
        pytest.param(100, 0.99, 99, id="one-in-a-hundred-may-be-slower"),
        pytest.param(101, 0.99, 100, id="rounded-up"),
        pytest.param(10, 1.0, 10, id="all-is-the-largest"),
    ],
)
def test_a_percentile_is_the_nearest_rank(count, share, expected):
    assert percentile(range(count, 0, -1), share) == expected


@given(values, st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_a_percentile_is_the_smallest_value_that_covers_its_share(numbers, share):
    found = percentile(numbers, share)
    assert found in numbers
    assert sum(number <= found for number in numbers) >= share * len(numbers) - 1e-6
    assert sum(number < found for number in numbers) < share * len(numbers)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        pytest.param([2.0], [1.0], 2.0, id="twice"),
        pytest.param([1.0, 10.0], [1.0, 5.0], 1.5, id="between-two-rounds"),
        pytest.param([4.0, 1.0, 9.0], [2.0, 1.0, 3.0], 2.0, id="a-slow-round-cancels-out"),
        pytest.param([1.0, 4.0], [0.0, 2.0], 2.0, id="a-round-without-a-number-is-left-out"),
        pytest.param([1.0], [0.0], None, id="nothing-to-compare-with"),
    ],
)
def test_a_ratio_is_taken_within_each_round(ours, theirs, expected):
    assert median_ratio(ours, theirs) == expected


@given(values, st.floats(0.01, 100))
def test_what_slows_down_a_whole_round_does_not_change_the_ratio(numbers, factor):
    ours = [2 * (number + 1) for number in numbers]
    theirs = [number + 1 for number in numbers]
    slowed = [one * factor for one in ours], [one * factor for one in theirs]
    assert median_ratio(*slowed) == pytest.approx(median_ratio(ours, theirs))
    assert median_ratio(ours, theirs) == pytest.approx(2.0)


def test_a_rate_over_no_time_is_none_at_all():
    assert (rate(10, 2.0), rate(10, 0.0), ratio(1, 4.0), ratio(1, 0.0)) == (5.0, 0.0, 0.25, None)


@given(st.lists(st.binary(max_size=3)), st.integers(1, 40))
def test_dealt_requests_all_arrive_and_the_same_place_goes_to_the_same_client(requests, clients):
    hands = dealt(requests, clients)
    assert len(hands) == clients
    for index, request in enumerate(requests):
        assert hands[index % clients][index // clients] == request
    assert sum(map(len, hands)) == len(requests)
