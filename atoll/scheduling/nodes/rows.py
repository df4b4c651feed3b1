"""Facts of nodes in columns: labels, taints, what is free; one row for each node.

Nodes come in one by one and are not kept. Rows are never changed: rows with one of them replaced
share every column that stayed the same. Whose nodes they are is the business of `table`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from atoll.model.node import UNSCHEDULABLE, Node
from atoll.model.taint import Taint
from atoll.scheduling.columns import Interned, Numbers, Rows, T

INT64_MOST = 2**63 - 1
"""Kubernetes' largest quantity; whatever is written beyond it counts as this much."""

LabelColumns = Mapping[str, Interned[str | None]]


@dataclass(frozen=True, slots=True, eq=False)
class NodeRows:
    """One row per node; `free` may be below zero, a resource that a node lacks is zero there."""

    names: tuple[str, ...]
    labels: LabelColumns
    """By key; None where a node has no such label."""
    taints: Interned[tuple[Taint, ...]]
    """Those that keep new work away; a node closed to new work has one more."""
    free: Mapping[str, Numbers]
    slots: Numbers

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "NodeRows":
        names, labels, taints, slots = [], [], [], []
        free: dict[str, tuple[list[int], list[int]]] = {}
        for row, node in enumerate(nodes):
            names.append(node.name)
            labels.append(node.labels)
            taints.append(_repelling(node))
            slots.append(_slots(node))
            for resource in _resources(node):
                rows, amounts = free.setdefault(resource, ([], []))
                rows.append(row)
                amounts.append(_free(node, resource))
        return cls(
            names=tuple(names),
            labels=_label_columns(labels),
            taints=Interned.of(taints),
            free={each: _scattered(free[each], len(names)) for each in sorted(free)},
            slots=np.array(slots, np.int64),
        )

    @classmethod
    def joined(cls, pieces: Sequence["NodeRows"]) -> "NodeRows":
        """All rows of these, one after the other."""
        keys = sorted({key for piece in pieces for key in piece.labels if piece.has_label(key)})
        resources = sorted({name for piece in pieces for name in piece.free})
        return cls(
            names=tuple(name for piece in pieces for name in piece.names),
            labels={
                key: _joined([piece.labels.get(key) or _absent(len(piece)) for piece in pieces])
                for key in keys
            },
            taints=_joined([piece.taints for piece in pieces]),
            free={
                name: np.concatenate([piece.free_of(name) for piece in pieces])
                for name in resources
            },
            slots=np.concatenate([piece.slots for piece in pieces]),
        )

    def __len__(self) -> int:
        return len(self.names)

    def freed(self, nodes_by_row: Mapping[int, Node]) -> "NodeRows":
        """These rows with other amounts free in some of them; each column is copied once."""
        rows = list(nodes_by_row)
        resources = {
            *self.free,
            *(name for node in nodes_by_row.values() for name in _resources(node)),
        }
        free = {}
        for name in sorted(resources):
            free[name] = self.free_of(name).copy()
            free[name][rows] = [_free(node, name) for node in nodes_by_row.values()]
        slots = self.slots.copy()
        slots[rows] = [_slots(node) for node in nodes_by_row.values()]
        return NodeRows(self.names, self.labels, self.taints, free, slots)

    def taken(self, order: Rows) -> "NodeRows":
        """Some of these rows, in this order."""
        return NodeRows(
            names=tuple(self.names[row] for row in order.tolist()),
            labels={key: _ordered(column, order) for key, column in self.labels.items()},
            taints=_ordered(self.taints, order),
            free={name: column[order] for name, column in self.free.items()},
            slots=self.slots[order],
        )

    def has_label(self, key: str) -> bool:
        """Whether any node has a label of this key."""
        return not self.labels[key].holding((None,)).all()

    def free_of(self, resource: str) -> Numbers:
        """What is free of a resource; nothing where no node has it."""
        known = self.free.get(resource)
        return np.zeros(len(self), np.int64) if known is None else known


def capped(number: int) -> int:
    """The number, within what 64 bits hold."""
    return max(-INT64_MOST, min(number, INT64_MOST))


def _resources(node: Node) -> set[str]:
    return {*node.allocatable, *node.requested}


def _free(node: Node, resource: str) -> int:
    return capped(node.allocatable.get(resource, 0) - node.requested.get(resource, 0))


def _slots(node: Node) -> int:
    return capped(node.slots - node.pods)


def _repelling(node: Node) -> tuple[Taint, ...]:
    """The taints that keep new work off a node; when they were put there does not matter."""
    taints = [replace(each, added=None) for each in node.taints if each.repels]
    if node.unschedulable and UNSCHEDULABLE not in taints:
        taints.append(UNSCHEDULABLE)
    return tuple(taints)


def _scattered(found: tuple[list[int], list[int]], count: int) -> Numbers:
    column = np.zeros(count, np.int64)
    column[found[0]] = found[1]
    return column


def _label_columns(labels: list[Mapping[str, str]]) -> dict[str, Interned[str | None]]:
    # Walks the labels that there are, not every key of every node: some keys are on one node only.
    found: dict[str, tuple[dict[str | None, int], list[int], list[int]]] = {}
    for row, each in enumerate(labels):
        for key, value in each.items():
            index, rows, codes = found.setdefault(key, ({None: 0}, [], []))
            rows.append(row)
            codes.append(index.setdefault(value, len(index)))
    columns = {}
    for key in sorted(found):
        index, rows, codes = found[key]
        column = np.zeros(len(labels), np.int32)
        column[rows] = codes
        columns[key] = Interned(column, tuple(index), index)
    return columns


def _absent(count: int) -> Interned[str | None]:
    return Interned(np.zeros(count, np.int32), (None,), {None: 0})


def _ordered(column: Interned[T], order: Rows) -> Interned[T]:
    return _tidied(Interned(column.codes[order], column.values, column.index))


def _joined(columns: Sequence[Interned[T]]) -> Interned[T]:
    first = columns[0]
    index, values = first.index, first.values
    codes = [first.codes]
    for column in columns[1:]:
        if column.index is first.index:
            codes.append(column.codes)
            continue
        new = tuple(value for value in column.values if value not in index)
        if new:
            values = (*values, *new)
            index = {**index, **{value: len(index) + at for at, value in enumerate(new)}}
        codes.append(np.array([index[each] for each in column.values], np.int32)[column.codes])
    return _tidied(Interned(np.concatenate(codes), values, index))


def _tidied(column: Interned[T]) -> Interned[T]:
    """The column without values that no row has, once they are the most of them."""
    if len(column.values) <= 2 * len(column.codes) + 16:
        return column
    return Interned.of(column.values[code] for code in column.codes)
