"""What clusters are, in columns: names, labels, fields, taints, APIs, sets, properties.

The memo remembers answers that follow from traits alone (masks, verdicts). It lives and dies with
the traits, so nothing in it can be out of date.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from atoll.model.cluster import Api, Cluster
from atoll.model.taint import Taint
from atoll.scheduling.columns import Interned, Mask

_MEMO_MOST = 8192

A = TypeVar("A")

trait_facts: Callable[[Cluster], tuple[Any, ...]] = attrgetter(
    "labels",
    "provider",
    "region",
    "zones",
    "taints",
    "apis",
    "deleting",
    "properties",
    "sets",
    "holds",
    "scores",
)
"""The facts of a cluster that traits are made of; equal facts, equal traits."""


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """One column per fact; labels and properties have one per key, with None where absent."""

    names: NDArray[np.object_]
    rows: dict[str, int]
    provider: Interned[str]
    region: Interned[str]
    zones: Interned[tuple[str, ...]]
    taints: Interned[tuple[Taint, ...]]
    apis: Interned[frozenset[Api]]
    sets: Interned[frozenset[str]]
    holds: Interned[frozenset[str]]
    labels: Mapping[str, Interned[str | None]]
    properties: Mapping[str, Interned[str | None]]
    deleting: Mask
    memo: dict[Hashable, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, clusters: tuple[Cluster, ...]) -> "Traits":
        names = np.empty(len(clusters), object)
        names[:] = [cluster.name for cluster in clusters]
        return cls(
            names=names,
            rows={cluster.name: row for row, cluster in enumerate(clusters)},
            provider=Interned.of(cluster.provider for cluster in clusters),
            region=Interned.of(cluster.region for cluster in clusters),
            zones=Interned.of(cluster.zones for cluster in clusters),
            taints=Interned.of(cluster.taints for cluster in clusters),
            apis=Interned.of(cluster.apis for cluster in clusters),
            sets=Interned.of(cluster.sets for cluster in clusters),
            holds=Interned.of(cluster.holds for cluster in clusters),
            labels=_by_key([cluster.labels for cluster in clusters]),
            properties=_by_key([cluster.properties for cluster in clusters]),
            deleting=np.array([cluster.deleting for cluster in clusters], np.bool_),
        )

    def replaced(self, row: int, before: Cluster, after: Cluster) -> "Traits":
        """These traits with one cluster's facts changed, and nothing remembered."""
        columns: dict[str, Any] = {
            fact: getattr(self, fact).replaced(row, getattr(after, fact))
            for fact in ("provider", "region", "zones", "taints", "apis", "sets", "holds")
            if getattr(after, fact) != getattr(before, fact)
        }
        if after.labels != before.labels:
            columns["labels"] = _changed(self.labels, row, after.labels, len(self.names))
        if after.properties != before.properties:
            columns["properties"] = _changed(
                self.properties, row, after.properties, len(self.names)
            )
        if after.deleting != before.deleting:
            columns["deleting"] = self.deleting.copy()
            columns["deleting"][row] = after.deleting
        return replace(self, **columns, memo={})

    def remember(self, question: Hashable, answer: Callable[[], A]) -> A:
        """The answer to a question about these traits, worked out once."""
        known: A | None = self.memo.get(question)
        if known is not None:
            return known
        if len(self.memo) >= _MEMO_MOST:
            self.memo.clear()
        found = self.memo[question] = answer()
        return found

    @property
    def nbytes(self) -> int:
        plain = self.provider.nbytes + self.region.nbytes + self.zones.nbytes + self.taints.nbytes
        plain += self.apis.nbytes + self.sets.nbytes + self.holds.nbytes
        keyed = (*self.labels.values(), *self.properties.values())
        return plain + sum(each.nbytes for each in keyed) + self.names.nbytes + self.deleting.nbytes


def _by_key(mappings: list[Mapping[str, str]]) -> dict[str, Interned[str | None]]:
    keys = sorted({key for mapping in mappings for key in mapping})
    return {key: Interned.of(mapping.get(key) for mapping in mappings) for key in keys}


def _changed(
    columns: Mapping[str, Interned[str | None]], row: int, after: Mapping[str, str], count: int
) -> dict[str, Interned[str | None]]:
    """The columns of a mapping by key after one row's mapping has changed."""
    changed = dict(columns)
    for key in sorted({*columns, *after}):
        column = changed.get(key)
        if column is None:
            column = Interned(np.zeros(count, np.int32), (None,), {None: 0})
        value = after.get(key)
        if column.values[column.codes[row]] != value:
            column = column.replaced(row, value)
        changed[key] = column
    return changed
