"""When a cluster is believed to be ready, and when not: only what lasts is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.config import Times
from atoll.dialects.karmada.cluster_status.readiness import Health, Streak, believed, seen_now
from atoll.dialects.kubernetes.conditions import find, stated

TIMES = Times(cluster_failure_threshold=30.0, cluster_success_threshold=20.0)
START = 1_000_000.0


def told_after(probes: list[tuple[float, Health]], told: dict[str, str] | None = None) -> list[str]:
    """What is told after each of these probes, by status and reason."""
    streak: Streak | None = None
    conditions = [told] if told else []
    said = []
    for after, health in probes:
        now = START + after
        streak = seen_now(streak, health, now)
        fresh = believed(find(conditions, "Ready"), health, streak, now, TIMES)
        if fresh is not None:
            conditions = stated(conditions, fresh, now)
        said.append(conditions[0]["reason"] if conditions else "")
    return said


OK, FAILING, GONE = Health.OK, Health.FAILING, Health.UNREACHABLE


@pytest.mark.parametrize(
    ("probes", "said"),
    [
        pytest.param([(0, OK)], ["ClusterReady"], id="the first answer is believed"),
        pytest.param([(0, GONE)], ["ClusterNotReachable"], id="and so is the first silence"),
        pytest.param([(0, FAILING)], ["ClusterNotReady"], id="or an answer without ok"),
        pytest.param(
            [(0, OK), (10, GONE), (20, GONE), (39, GONE), (40, GONE)],
            ["ClusterReady"] * 4 + ["ClusterNotReachable"],
            id="silence counts after the failure threshold",
        ),
        pytest.param(
            [(0, OK), (10, GONE), (20, FAILING), (40, FAILING)],
            ["ClusterReady"] * 3 + ["ClusterNotReady"],
            id="however it fails, it is one failure",
        ),
        pytest.param(
            [(0, OK), (10, GONE), (20, OK), (30, GONE), (50, GONE)],
            ["ClusterReady"] * 5,
            id="an answer in between begins anew",
        ),
        pytest.param(
            [(0, GONE), (10, OK), (20, OK), (29, OK), (30, OK)],
            ["ClusterNotReachable"] * 4 + ["ClusterReady"],
            id="answers count after the success threshold",
        ),
        pytest.param(
            [(0, GONE), (10, FAILING)],
            ["ClusterNotReachable", "ClusterNotReady"],
            id="what kind of failure it is, is told at once",
        ),
    ],
)
def test_only_what_lasts_is_told(probes: list[tuple[float, Health]], said: list[str]) -> None:
    assert told_after(probes) == said


@pytest.mark.parametrize(
    ("before", "probes", "said"),
    [
        pytest.param("True", [(0, GONE), (29, GONE)], ["", ""], id="one silence is no outage"),
        pytest.param("False", [(0, OK)], ["ClusterReady"], id="it may have answered all the time"),
        pytest.param("Unknown", [(0, GONE)], ["ClusterNotReachable"], id="unknown was no ready"),
    ],
)
def test_after_a_start_of_this_side(
    before: str, probes: list[tuple[float, Health]], said: list[str]
) -> None:
    told = {"type": "Ready", "status": before, "reason": ""}
    assert told_after(probes, told) == said


@given(st.lists(st.tuples(st.integers(1, 29), st.booleans()), min_size=1, max_size=30))
def test_a_cluster_that_answers_within_every_threshold_never_flips(
    steps: list[tuple[int, bool]],
) -> None:
    """As long as no failure lasts for the threshold, it stays ready."""
    probes: list[tuple[float, Health]] = [(0.0, OK)]
    for pause, is_ok in steps:
        probes.append((probes[-1][0] + pause, OK if is_ok else GONE))
    longest, since = 0.0, None
    for at, health in probes:
        since = None if health is OK else at if since is None else since
        longest = max(longest, at - since) if since is not None else longest
    if longest < TIMES.cluster_failure_threshold:
        assert set(told_after(probes)) == {"ClusterReady"}
