"""The nodes of all members as the scheduler looks at them.

Observations of members come in; a view of the nodes goes out, of those members alone that are ready
and whose nodes and pods have all been counted. However much happens in a member, its part of the
view is made anew at most once in a while; a report of it brings it up to date as well.
"""

from collections.abc import Mapping

from atoll.members.observing import Observation
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.view import Asked, NodeRoom, NodeView

FRESH_S = 1.0
"""So long what was seen of a member's nodes is good enough."""


class NodeCapacity:
    """How much room there is, to the node."""

    def __init__(self, observations: Mapping[str, Observation]) -> None:
        self._observations = observations
        self._rooms: dict[str, NodeRoom] = {}
        self._looked: dict[str, float] = {}
        self._codes: dict[Asked, int] = {}
        self._last: tuple[Fleet | None, float, NodeView] = (None, 0.0, NodeView({}))

    def view(self, fleet: Fleet, now: float) -> NodeView:
        """The nodes there are now, or were a moment ago."""
        known, at, view = self._last
        if known is fleet and abs(now - at) < FRESH_S:
            return view
        view = NodeView(self._ready_rooms(fleet, now), self._codes)
        self._last = fleet, now, view
        return view

    def _ready_rooms(self, fleet: Fleet, now: float) -> dict[str, NodeRoom]:
        for gone in [name for name in self._rooms if name not in self._observations]:
            del self._rooms[gone], self._looked[gone]
        rooms = {}
        for name, seen in self._observations.items():
            row = fleet.rows.get(name)
            if seen.complete and row is not None and fleet.clusters[row].ready:
                rooms[name] = self._room(name, seen, now)
        return rooms

    def changes(self) -> int:
        """Another number whenever nodes came, went, or got other labels or taints."""
        return sum(each.columns.changes + 1 for each in self._observations.values())

    def _room(self, name: str, seen: Observation, now: float) -> NodeRoom:
        known = self._rooms.get(name)
        is_fresh = abs(now - self._looked.get(name, 0.0)) < FRESH_S
        if known is not None and is_fresh and seen.columns.made is known.table:
            return known
        self._looked[name] = now
        table = seen.columns.table()
        if known is None or known.table is not table:
            known = self._rooms[name] = NodeRoom(table)
        return known
