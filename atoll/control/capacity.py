"""The nodes of all members as the scheduler looks at them.

Observations of members come in, and what the agents of others publish; a view of the nodes goes
out, of those members alone that are ready and whose nodes and pods have all been counted. However
much happens in a member, its part of the view is made anew at most once in a while; a report of it
brings it up to date as well. What was published and then not renewed for long is not believed.
"""

import logging
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from atoll.dialects import cluster_nodes
from atoll.dialects.cluster_nodes import Columns
from atoll.errors import Invalid
from atoll.members.following import Observation
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import NodeRoom, NodeView
from atoll.wire import Wire

log = logging.getLogger("atoll.control")

FRESH_S = 1.0
"""So long what was seen of a member's nodes is good enough."""
STALE_S = 900.0
"""So long what was published is believed; agents publish it more often, though nothing changed."""


@dataclass(slots=True)
class _Published:
    """What an agent published, when that was heard, and once it was read, the room there is.

    `alike` has the same nodes, with other room on them.
    """

    columns: Columns
    heard: float
    alike: NodeTable | None = None
    room: NodeRoom | None = None
    bad: bool = False


class NodeCapacity:
    """How much room there is, to the node."""

    def __init__(self, observations: Mapping[str, Observation]) -> None:
        self._observations = observations
        self._published: dict[str, _Published] = {}
        self._changed = 0
        self._rooms: dict[str, NodeRoom] = {}
        self._looked: dict[str, float] = {}
        self._codes: dict[Hashable, int] = {}
        self._last: tuple[Fleet | None, float, NodeView] = (None, 0.0, NodeView({}))

    def view(self, fleet: Fleet, now: float) -> NodeView:
        """The nodes there are now, or were a moment ago."""
        known, at, view = self._last
        if known is fleet and abs(now - at) < FRESH_S:
            return view
        view = NodeView(self._ready_rooms(fleet, now), self._codes)
        self._last = fleet, now, view
        return view

    def published(self, name: str, wire: Wire | None, now: float) -> None:
        """The agent of a cluster has published its nodes, or they are gone."""
        before, told = self._published.pop(name, None), self._told(name, wire, now)
        if told is not None:
            self._published[name] = told
            if before is not None and before.columns.traits == told.columns.traits:
                told.alike = before.alike if before.room is None else before.room.table
                return
        self._changed += 1

    def _told(self, name: str, wire: Wire | None, now: float) -> _Published | None:
        try:
            return None if wire is None else _Published(cluster_nodes.columns_of(wire), now)
        except Invalid as problem:
            log.warning(
                "The nodes of cluster %(cluster)s are not known: %(err)s",
                {"cluster": name, "err": problem},
            )
            return None

    def _ready_rooms(self, fleet: Fleet, now: float) -> dict[str, NodeRoom]:
        for gone in [name for name in self._rooms if name not in self._observations]:
            del self._rooms[gone], self._looked[gone]
        rooms = {}
        for name, told in self._published.items():
            if now - told.heard < STALE_S and _is_ready(fleet, name):
                room = self._told_room(name, told)
                if room is not None:
                    rooms[name] = room
        for name, seen in self._observations.items():
            if seen.complete and _is_ready(fleet, name):
                rooms[name] = self._room(name, seen, now)
        return rooms

    def changes(self) -> int:
        """Another number whenever nodes came, went, or got other labels or taints."""
        seen = sum(each.columns.changes + 1 for each in self._observations.values())
        return seen + self._changed

    def _told_room(self, name: str, told: _Published) -> NodeRoom | None:
        """The room there is by what was published; it is read when it is needed first."""
        if told.room is None and not told.bad:
            try:
                told.room = NodeRoom(cluster_nodes.decode(told.columns, told.alike))
            except Invalid as problem:
                log.warning(
                    "The nodes of cluster %(cluster)s are not known: %(err)s",
                    {"cluster": name, "err": problem},
                )
                told.bad = True
        return told.room

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


def _is_ready(fleet: Fleet, name: str) -> bool:
    row = fleet.rows.get(name)
    return row is not None and fleet.clusters[row].ready is True
