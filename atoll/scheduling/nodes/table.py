"""The nodes of one cluster, or of many: rows by cluster, then by name.

Nodes come in by cluster; counts over all of them are taken in one pass, since a cluster is a range
of rows. A table is never changed; a new one with one node changed keeps what was found out about
labels and taints if only what is free has changed. Changing it costs time in proportion to its
rows, so a fleet of many large clusters may as well be kept as several tables.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter

import numpy as np

from atoll.model.demand import NodeClaim
from atoll.model.node import Node
from atoll.scheduling.columns import Mask
from atoll.scheduling.nodes.rows import NodeRows


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """Nodes in columns; `starts` has the first row of each cluster, and the number of rows."""

    clusters: tuple[str, ...]
    starts: tuple[int, ...]
    rows: NodeRows
    masks: dict[NodeClaim, Mask] = field(default_factory=dict)
    """Which nodes a claim means, as far as it was asked: it follows from labels and taints."""

    @classmethod
    def of(cls, nodes: Iterable[Node], *, cluster: str = "") -> "NodeTable":
        """The nodes of one cluster; of several with one name, the last counts."""
        return cls.of_clusters({cluster: nodes})

    @classmethod
    def of_clusters(cls, nodes_by_cluster: Mapping[str, Iterable[Node]]) -> "NodeTable":
        """The nodes of each of these clusters."""
        clusters = sorted(nodes_by_cluster)
        groups = [_ordered(nodes_by_cluster[cluster]) for cluster in clusters]
        rows = NodeRows.of(node for group in groups for node in group)
        return cls(tuple(clusters), _starts(map(len, groups)), rows)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, name: str, *, cluster: str = "") -> int | None:
        """The row of a node, if the table has it."""
        first, last = self._range(cluster)
        row = bisect_left(self.rows.names, name, first, last)
        return row if row < last and self.rows.names[row] == name else None

    def without(self, name: str, *, cluster: str = "") -> "NodeTable":
        """This table after a node has left it; its cluster stays, if need be without nodes."""
        row = self.row(name, cluster=cluster)
        return self if row is None else self._spliced(cluster, (row, row + 1), NodeRows.of(()))

    def with_free(self, nodes: Iterable[Node], *, cluster: str = "") -> "NodeTable":
        """This table after what is free on some of its nodes has changed, and nothing else of them.

        However many nodes it is about, that costs no more than copying the columns once.
        """
        rows = {self.row(node.name, cluster=cluster): node for node in nodes}
        known = {row: node for row, node in rows.items() if row is not None}
        return NodeTable(self.clusters, self.starts, self.rows.freed(known), self.masks)

    def with_nodes(
        self, nodes: Iterable[Node], gone: Iterable[str] = (), *, cluster: str = ""
    ) -> "NodeTable":
        """This table with nodes of one cluster changed, added and gone, all at once."""
        first, last = between = self._range(cluster)
        new = _ordered(nodes)
        left = {*gone, *(node.name for node in new)}
        kept = [row for row in range(first, last) if self.rows.names[row] not in left]
        if not kept:
            return self.with_cluster(cluster, new)
        rows = NodeRows.joined([self.rows.taken(np.array(kept, np.int64)), NodeRows.of(new)])
        by_name = sorted(range(len(rows)), key=rows.names.__getitem__)
        return self._spliced(cluster, between, rows.taken(np.array(by_name, np.int64)))

    def with_cluster(self, cluster: str, nodes: Iterable[Node]) -> "NodeTable":
        """This table with all nodes of one cluster replaced by these."""
        return self._spliced(cluster, self._range(cluster), NodeRows.of(_ordered(nodes)))

    def only(self, cluster: str) -> "NodeTable":
        """The nodes of one cluster."""
        first, last = self._range(cluster)
        return NodeTable((cluster,), (0, last - first), self.rows.between(first, last))

    def _range(self, cluster: str) -> tuple[int, int]:
        """The rows of a cluster; for one that is not there, where they would be."""
        at = bisect_left(self.clusters, cluster)
        known = at < len(self.clusters) and self.clusters[at] == cluster
        return self.starts[at], self.starts[at + known]

    def _spliced(self, cluster: str, between: tuple[int, int], new: NodeRows) -> "NodeTable":
        """This table with other rows of one cluster in the place of these."""
        first, last = between
        counts = {
            each: after - before
            for each, before, after in zip(
                self.clusters, self.starts[:-1], self.starts[1:], strict=True
            )
        }
        counts[cluster] = counts.get(cluster, 0) - (last - first) + len(new)
        pieces = [self.rows.between(0, first), new, self.rows.between(last, len(self))]
        clusters = tuple(sorted(counts))
        starts = _starts(counts[each] for each in clusters)
        return NodeTable(clusters, starts, NodeRows.joined(pieces))


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    by_name = {node.name: node for node in nodes}
    return sorted(by_name.values(), key=attrgetter("name"))


def _starts(counts: Iterable[int]) -> tuple[int, ...]:
    return tuple(accumulate(counts, initial=0))
