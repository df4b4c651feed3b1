"""Requests go at a rate, with a burst, in the order in which they were asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.members.pacing import Bucket, asked_to_wait


def test_a_burst_goes_at_once_and_the_rest_at_the_rate():
    bucket, waits = Bucket.full(rate=10.0, burst=3, now=0.0), []
    for _ in range(6):
        bucket, wait_s = bucket.taken(0.0)
        waits.append(round(wait_s, 6))
    assert waits == [0.0, 0.0, 0.0, 0.1, 0.2, 0.3]


def test_what_was_saved_is_never_more_than_a_burst():
    bucket = Bucket.full(rate=10.0, burst=2, now=0.0)
    for _ in range(2):
        bucket, wait_s = bucket.taken(1000.0)
        assert wait_s == 0.0
    assert bucket.taken(1000.0)[1] > 0.0


def test_one_who_was_asked_to_pause_does():
    bucket = Bucket.full(rate=10.0, burst=60, now=0.0).held(0.0, 5.0)
    bucket, first_s = bucket.taken(0.0)
    assert first_s == pytest.approx(5.0)
    assert bucket.taken(0.0)[1] == pytest.approx(5.1)
    assert bucket.taken(10.0)[1] == 0.0


@given(st.lists(st.floats(0.0, 3.0), max_size=200), st.floats(1.0, 50.0), st.integers(1, 20))
def test_no_stretch_of_time_has_more_than_a_burst_and_the_rate(pauses, rate, burst):
    bucket, now, passed = Bucket.full(rate, burst, 0.0), 0.0, []
    for pause_s in pauses:
        now += pause_s
        bucket, wait_s = bucket.taken(now)
        passed.append(now + wait_s)
    assert passed == sorted(passed)
    for first, begun in enumerate(passed):
        for count, at in enumerate(passed[first:], 1):
            assert count <= burst + rate * (at - begun) + 1e-6


@pytest.mark.parametrize(
    ("status", "headers", "wait_s"),
    [
        pytest.param(200, {}, None, id="an answer"),
        pytest.param(200, {"retry-after": "3"}, None, id="an answer, whatever it says"),
        pytest.param(429, {"retry-after": "3"}, 3.0, id="too many"),
        pytest.param(429, {}, 1.0, id="too many, with no time given"),
        pytest.param(429, {"retry-after": "soon"}, 1.0, id="too many, with a time nobody can read"),
        pytest.param(429, {"retry-after": "86400"}, 60.0, id="too many, for a day"),
        pytest.param(503, {"retry-after": "2"}, 2.0, id="an overload with a time"),
        pytest.param(503, {}, None, id="an overload without"),
        pytest.param(500, {"retry-after": "2"}, None, id="an error, of which nobody knows"),
    ],
)
def test_a_server_says_when_to_ask_again(status, headers, wait_s):
    assert asked_to_wait(status, headers) == wait_s
