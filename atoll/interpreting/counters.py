"""The counters in the status of workloads: what is reported of them, and what adds up.

`always` are written even at zero, as their kind's API requires; others are absent at zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.dialects.wire import count
from atoll.interpreting.kinds import (
    AUTOSCALER,
    BUDGET,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    STATEFUL_SET,
    Kind,
)
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of one kind."""

    always: tuple[str, ...] = ()
    unless_zero: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.always, *self.unless_zero)

    def read(self, status: Object, path: str) -> dict[str, int]:
        """Every counter of a status; zero where absent."""
        return {name: count(status, name, path) for name in self.names}

    def written(self, values: Mapping[str, int]) -> dict[str, Any]:
        """The counters as they stand in a status."""
        return {name: values[name] for name in self.names if values[name] or name in self.always}


COUNTERS: Mapping[Kind, Counters] = {
    DEPLOYMENT: Counters(
        unless_zero=(
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
        )
    ),
    REPLICA_SET: Counters(always=("replicas",), unless_zero=("readyReplicas", "availableReplicas")),
    STATEFUL_SET: Counters(
        always=("replicas", "availableReplicas"),
        unless_zero=("currentReplicas", "readyReplicas", "updatedReplicas"),
    ),
    DAEMON_SET: Counters(
        always=(
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
        ),
        unless_zero=("updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
    ),
    JOB: Counters(unless_zero=("active", "succeeded", "failed")),
    BUDGET: Counters(
        always=("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    ),
    AUTOSCALER: Counters(always=("desiredReplicas",), unless_zero=("currentReplicas",)),
}
