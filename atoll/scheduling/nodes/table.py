"""The nodes of one cluster, row by row, by name.

A table is never changed; a new one keeps what was found out about labels and taints if only what is
free has changed. Changing it costs time in proportion to its rows.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from atoll.model.demand import NodeClaim
from atoll.model.node import Node
from atoll.scheduling.columns import Mask
from atoll.scheduling.nodes.rows import NodeRows


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """Nodes in columns."""

    rows: NodeRows
    masks: dict[NodeClaim, Mask] = field(default_factory=dict)
    """Which nodes a claim means, as far as it was asked: it follows from labels and taints."""

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "NodeTable":
        """These nodes; of several with one name, the last counts."""
        return cls(NodeRows.of(_ordered(nodes)))

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, name: str) -> int | None:
        """The row of a node, if the table has it."""
        row = bisect_left(self.rows.names, name)
        return row if row < len(self) and self.rows.names[row] == name else None

    def with_free(self, nodes: Iterable[Node]) -> "NodeTable":
        """This table after what is free on some of its nodes has changed, and nothing else of them.

        However many nodes it is about, that costs no more than copying the columns once.
        """
        rows = {self.row(node.name): node for node in nodes}
        known = {row: node for row, node in rows.items() if row is not None}
        return NodeTable(self.rows.freed(known), self.masks)

    def with_nodes(self, nodes: Iterable[Node], gone: Iterable[str] = ()) -> "NodeTable":
        """This table with nodes changed, added and gone, all at once."""
        new = _ordered(nodes)
        left = {*gone, *(node.name for node in new)}
        kept = [row for row, name in enumerate(self.rows.names) if name not in left]
        rows = NodeRows.of(new)
        if kept:
            rows = NodeRows.joined([self.rows.taken(np.array(kept, np.int64)), rows])
            by_name = sorted(range(len(rows)), key=rows.names.__getitem__)
            rows = rows.taken(np.array(by_name, np.int64))
        return NodeTable(rows)


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    by_name = {node.name: node for node in nodes}
    return sorted(by_name.values(), key=attrgetter("name"))
