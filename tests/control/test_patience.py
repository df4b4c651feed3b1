"""How long it may go untold that something does not run well."""

import pytest

from atoll.control.patience import FOR_LONG, MOST_S, Waited, is_worse, left_s

HERE, THERE = {"at": "here", "health": "Healthy"}, {"at": "there", "health": "Healthy"}
HERE_UNKNOWN, HERE_ILL = {**HERE, "health": "Unknown"}, {**HERE, "health": "Unhealthy"}
THERE_ILL = {**THERE, "health": "Unhealthy"}


@pytest.mark.parametrize(
    ("waited", "presses", "seconds"),
    [
        pytest.param(Waited(0.0, 0), False, 1.0, id="nothing else is to be told"),
        pytest.param(Waited(0.0, 15), False, 1.0, id="among few"),
        pytest.param(Waited(0.0, 120), False, 8.0, id="among many"),
        pytest.param(Waited(3.0, 120), False, 5.0, id="among many, for a while"),
        pytest.param(Waited(0.0, 5_000), False, MOST_S, id="among more than can be waited for"),
        pytest.param(Waited(0.0, 5_000), True, 1.0, id="it presses, however many there are"),
        pytest.param(Waited(2.0, 5_000), True, 0.0, id="it presses, for more than a moment"),
        pytest.param(FOR_LONG, False, 0.0, id="for long"),
    ],
)
def test_news_that_may_soon_be_better_waits_for_as_long_as_others_do(
    waited: Waited, *, presses: bool, seconds: float
) -> None:
    assert left_s(waited, presses=presses) == seconds


@pytest.mark.parametrize(
    ("told", "found", "worse"),
    [
        pytest.param([], [HERE_ILL], False, id="new, and not well yet"),
        pytest.param([HERE_ILL], [HERE_ILL, THERE_ILL], False, id="not well yet, and more of it"),
        pytest.param([HERE], [HERE, THERE_ILL], False, id="well here, and not there yet"),
        pytest.param([HERE], [HERE_UNKNOWN], False, id="nothing is known against it"),
        pytest.param([HERE], [HERE_ILL], True, id="no longer well"),
        pytest.param([HERE_ILL, THERE], [HERE_ILL, THERE_ILL], True, id="one no longer well"),
        pytest.param([HERE], [THERE_ILL], True, id="gone here, and not well there yet"),
        pytest.param([HERE_ILL], [THERE_ILL], False, id="never well, and gone"),
    ],
)
def test_what_was_told_to_be_well_and_is_not_is_worse(
    told: list[dict[str, str]], found: list[dict[str, str]], *, worse: bool
) -> None:
    assert is_worse(told, found, "at") is worse
