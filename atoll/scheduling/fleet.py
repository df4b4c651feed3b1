"""All clusters at one moment, in columns, in families that change apart.

Clusters come in; questions about all of them are answered from the families: `traits` (labels,
taints, regions, APIs: what filters look at) and `capacity` (what is free). A heartbeat that only
changes capacity leaves the traits, and every mask computed from them, as they were. A fleet is
never changed; one changed cluster gives a new fleet in which one row differs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from atoll.model.cluster import Cluster
from atoll.model.price import Price
from atoll.scheduling.capacity import Capacity
from atoll.scheduling.columns import Rows
from atoll.scheduling.traits import Traits, trait_facts


class Fleet:
    """The clusters, sorted by name: a row is a cluster, and rows in order are names in order."""

    def __init__(self, clusters: tuple[Cluster, ...], traits: Traits, capacity: Capacity) -> None:
        self.clusters = clusters
        self.traits = traits
        self.capacity = capacity
        self.rows = traits.rows
        """The row of each name."""

    @classmethod
    def of(cls, clusters: Iterable[Cluster]) -> "Fleet":
        """The fleet of these clusters; of several with one name, the last counts."""
        by_name = {cluster.name: cluster for cluster in clusters}
        ordered = tuple(by_name[name] for name in sorted(by_name))
        return cls(ordered, Traits.of(ordered), Capacity.of(ordered))

    def with_cluster(self, cluster: Cluster) -> "Fleet":
        """This fleet with one cluster changed, or joined."""
        row = self.rows.get(cluster.name)
        if row is None:
            return Fleet.of((*self.clusters, cluster))
        before = self.clusters[row]
        clusters = (*self.clusters[:row], cluster, *self.clusters[row + 1 :])
        same = trait_facts(before) == trait_facts(cluster)
        traits = self.traits if same else self.traits.replaced(row, before, cluster)
        return Fleet(clusters, traits, self.capacity.replaced(row, cluster))

    def priced(self, prices: Mapping[str, Price | None]) -> "Fleet":
        """This fleet with other prices of some clusters; nothing else changes with them."""
        clusters = list(self.clusters)
        for name, price in prices.items():
            row = self.rows[name]
            clusters[row] = replace(clusters[row], price=price)
        return Fleet(tuple(clusters), self.traits, self.capacity)

    def without(self, name: str) -> "Fleet":
        """This fleet after a cluster has left it."""
        return Fleet.of(cluster for cluster in self.clusters if cluster.name != name)

    def __len__(self) -> int:
        return len(self.clusters)

    def names_of(self, rows: Rows) -> list[str]:
        """The names of these rows, in their order."""
        names: list[str] = self.traits.names[rows].tolist()
        return names

    @property
    def nbytes(self) -> int:
        """Bytes held in columns."""
        return self.traits.nbytes + self.capacity.nbytes
