"""Whether a cluster is ready, believed only once it was seen so for a while.

What a probe found and what was found before come in; the condition to tell goes out. A change from
ready to not ready, or back, counts once it has lasted for a threshold; until then what was told
stands. What is seen first of a cluster of which nothing is told yet is believed at once; and so is
that a cluster answers, after a start of this side, since it may have done so all the time.
"""

from dataclasses import dataclass
from enum import Enum

from atoll.config import Times
from atoll.dialects.kubernetes.conditions import Condition
from atoll.wire import Object

READY = "Ready"


class Health(Enum):
    """What a probe of a cluster's health found."""

    OK = Condition(READY, True, "ClusterReady", "cluster is healthy and ready to accept workloads")
    FAILING = Condition(
        READY,
        False,
        "ClusterNotReady",
        "cluster is reachable but health endpoint responded without ok",
    )
    UNREACHABLE = Condition(READY, False, "ClusterNotReachable", "cluster is not reachable")

    @property
    def is_ok(self) -> bool:
        return self is Health.OK


@dataclass(frozen=True, slots=True)
class Streak:
    """Whether a cluster was ok at the last probe, and since when it is seen so."""

    is_ok: bool
    since: float


def seen_now(before: Streak | None, health: Health, now: float) -> Streak:
    """The streak after one more probe; a first sight that it is ok stands for all time before."""
    if before is not None and before.is_ok == health.is_ok:
        return before
    return Streak(health.is_ok, float("-inf") if before is None and health.is_ok else now)


def believed(
    told: Object | None, health: Health, streak: Streak, now: float, times: Times
) -> Condition | None:
    """What is to be told of a cluster; None if what was told stands for now."""
    found = health.value
    if told is None:
        return found
    was_ok = told.get("status") == "True"
    success, failure = times.cluster_success_threshold, times.cluster_failure_threshold
    threshold = success if health.is_ok else failure
    is_early = now < streak.since + threshold
    return None if was_ok != health.is_ok and is_early else found
