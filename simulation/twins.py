"""No ordinal of a StatefulSet runs in two clusters, at any moment.

What a member may be running is known from every commit of its store: what its object asks for, and
what it asked for before until its status shows that no more is left.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from atoll.wire import Wire


class Ordinals:
    """Which ordinals each member may run now, by the StatefulSet they are of."""

    def __init__(self) -> None:
        self._running: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))

    def committed(self, cluster: str, name: str, wire: Wire | None) -> None:
        """A member's object changed, or went: no other may run what it may run."""
        running = self._running[name]
        asked = set(asked_of(wire)) if wire else set()
        if wire and not _has_settled(wire):
            asked |= running[cluster]
        running[cluster] = asked
        for other, theirs in running.items():
            twins = sorted(asked & theirs) if other != cluster else []
            assert not twins, f"ordinals {twins} of {name} run in {cluster} and in {other}"


def asked_of(wire: Wire) -> range:
    """The ordinals that a StatefulSet asks for."""
    start = (wire["spec"].get("ordinals") or {}).get("start", 0)
    return range(start, start + wire["spec"].get("replicas", 1))


def missing_ordinals(name: str, template: Wire, parts: Mapping[str, Wire]) -> Iterator[str]:
    """Every ordinal is asked for somewhere, once it has converged."""
    wanted = set(range(template["spec"]["replicas"]))
    found = {cluster: asked_of(each) for cluster, each in parts.items()}
    if set().union(*found.values()) != wanted:
        yield f"{name}: ordinals are {found}, of {sorted(wanted)}"


def _has_settled(wire: Wire) -> bool:
    status = wire.get("status") or {}
    seen = status.get("observedGeneration") == wire["metadata"].get("generation")
    return seen and bool(status.get("replicas", 0) <= wire["spec"].get("replicas", 1))
