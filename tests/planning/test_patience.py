"""How long it may go untold that something does not run well."""

import pytest

from atoll.planning.patience import FOR_LONG, MOST_S, Waited, left_s

NEW: list[dict[str, str]] = []
WELL = [{"health": "Healthy"}, {"health": "Unknown"}]
ILL = [{"health": "Healthy"}, {"health": "Unhealthy"}]


@pytest.mark.parametrize(
    ("told", "waited", "seconds"),
    [
        pytest.param(NEW, Waited(0.0, 0), 1.0, id="new, and nothing else"),
        pytest.param(NEW, Waited(0.0, 25), 1.0, id="new among few"),
        pytest.param(NEW, Waited(0.0, 200), 8.0, id="new among many"),
        pytest.param(NEW, Waited(3.0, 200), 5.0, id="new among many, for a while"),
        pytest.param(NEW, Waited(0.0, 5_000), MOST_S, id="new among more than can be waited for"),
        pytest.param(ILL, Waited(0.0, 200), 8.0, id="not well yet"),
        pytest.param(WELL, Waited(0.0, 5_000), 1.0, id="no longer well, however many there are"),
        pytest.param(WELL, Waited(2.0, 5_000), 0.0, id="no longer well for more than a moment"),
        pytest.param(NEW, FOR_LONG, 0.0, id="for long"),
    ],
)
def test_news_of_what_may_get_well_waits_for_as_long_as_others_do(
    told: list[dict[str, str]], waited: Waited, seconds: float
) -> None:
    assert left_s(told, waited) == seconds
