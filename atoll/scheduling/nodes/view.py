"""The nodes of many clusters at one moment, and how much room they have for a workload.

A table of nodes for each cluster that is seen to the node comes in, and work that was given to
clusters but does not show on their nodes yet; room by cluster goes out. What was found of a table
is kept for as long as the table is: most of them stay the same from one decision to the next.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from atoll.model.assumed import Assumed, Parts
from atoll.model.demand import Component, Demand
from atoll.scheduling.columns import Numbers
from atoll.scheduling.nodes.fitting import first_fit, fits, fits_by_node, wants
from atoll.scheduling.nodes.sets import fits_sets
from atoll.scheduling.nodes.table import NodeTable

NODE_VIEW = "node view"
"""Who says so, among the answers that count."""
_KEPT_MOST = 1024
_UNKNOWN = -1

Asked = Demand | tuple[Component, ...] | None
"""What room is asked for: replicas of a demand, or whole sets of components."""
Taken = Mapping[str, tuple[Assumed, ...]]
"""By cluster, work that does not show on nodes yet."""


@dataclass(slots=True, eq=False)
class NodeRoom:
    """The nodes of one cluster, and what was found out about them."""

    table: NodeTable
    _answers: dict[int, int] = field(default_factory=dict)
    _taken: tuple[Assumed, ...] = ()
    _left: NodeTable | None = None

    def left(self, taken: tuple[Assumed, ...]) -> NodeTable:
        """The nodes after work that does not show on them yet was put on the first with room."""
        if taken != self._taken:
            added = _added(self._taken, taken)
            table = self.table if added is None or self._left is None else self._left
            if added is None:
                added = [each for one in taken for each in one.components]
            for component in added:
                table = filled(table, component)
            self._taken, self._left = taken, table
            self._answers = {}
        return self._left or self.table

    def answer(self, code: int, asked: Asked, taken: tuple[Assumed, ...]) -> int:
        """How much more fits; `code` stands for what is asked."""
        table = self.left(taken)
        known = self._answers.get(code)
        if known is None:
            if len(self._answers) >= _KEPT_MOST:
                self._answers.clear()
            known = fits_sets(table, asked) if isinstance(asked, tuple) else fits(table, asked)
            self._answers[code] = known
        return known


@dataclass(frozen=True, slots=True, eq=False)
class NodeView:
    """Clusters whose nodes are known; of all others it says nothing."""

    rooms: Mapping[str, NodeRoom]
    codes: dict[Hashable, int] = field(default_factory=dict)
    """A number for everything that was asked; shared by the views of all moments."""

    def without(self, clusters: Collection[str]) -> "NodeView":
        """This view without what it knows of some clusters."""
        rooms = {name: room for name, room in self.rooms.items() if name not in clusters}
        return NodeView(rooms, self.codes)

    def answers(self, names: Sequence[str], asked: Asked, taken: Taken) -> Numbers:
        """How much more of what is asked each of these clusters has room for; -1: not known."""
        code, rooms = self._code(asked), self.rooms
        found = [
            rooms[name].answer(code, asked, taken.get(name, ())) if name in rooms else _UNKNOWN
            for name in names
        ]
        return np.array(found, np.int64)

    def _code(self, asked: Asked) -> int:
        looked_at = _for_nodes(asked)
        code = self.codes.get(looked_at)
        if code is None:
            last = next(reversed(self.codes.values()), 0)
            if len(self.codes) >= _KEPT_MOST:
                self.codes.clear()  # numbers go on, so that none ever stands for two things
            code = self.codes[looked_at] = last + 1
        return code


def _added(before: tuple[Assumed, ...], after: tuple[Assumed, ...]) -> Sequence[Component] | None:
    """What came after all that was put on the nodes before; None if it is not only more."""
    if len(before) != 1 or len(after) != 1 or not isinstance(after[0].components, Parts):
        return None
    return after[0].components.since(before[0].components)


def _for_nodes(asked: Asked) -> Hashable:
    """What of a question nodes look at: not whose work it is."""
    if isinstance(asked, tuple):
        return tuple((each.replicas, _for_nodes(each.demand)) for each in asked)
    return asked and (asked.requests, asked.claim)


def filled(table: NodeTable, component: Component) -> NodeTable:
    """The nodes after as many of these replicas as fit were put on the first with room."""
    placed = first_fit(fits_by_node(table, component.demand), component.replicas)
    free = dict(table.rows.free)
    for resource, wanted in wants(component.demand or Demand()):
        if resource in free:
            free[resource] = free[resource] - placed * wanted
    rows = replace(table.rows, free=free, slots=table.rows.slots - placed)
    return NodeTable(rows, table.masks)
