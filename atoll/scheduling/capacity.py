"""What clusters have free, in columns, and how many replicas of a demand that is.

Two sources of a cluster's own report: its summary (allocatable less allocated less allocating) and
its resource model (how many nodes of each grade). Answers of estimators are another matter: see
`estimates`. Whole-number arithmetic throughout; a result is what Karmada's general estimator says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from atoll.model.amount import CPU, EPHEMERAL_STORAGE, MEMORY, Amount
from atoll.model.cluster import Cluster, Grade
from atoll.model.demand import Demand
from atoll.scheduling.columns import Interned, Mask, Numbers, one_number, replaced
from atoll.scheduling.whole_numbers import INT32_MOST

NODE_PODS_MOST = 110  # Karmada's, for every node of a resource model
_MEMO_MOST = 1024
Requests = tuple[tuple[str, Amount], ...]
_FAR = 2**62  # quantities beyond this are all the same to us, and sums of two still fit in 64 bits


@dataclass(frozen=True, slots=True, eq=False)
class Capacity:
    """Free resources by name in their own unit, pod slots, and nodes by grade.

    `known` is false where no summary was reported. `modelled` is true where the nodes by grade
    count instead of the summary. `boundless` if some cluster has more pod slots than 32 bits count.
    """

    known: Mask
    pods: Numbers
    free: Mapping[str, Numbers]
    grades: Interned[tuple[Grade, ...]]
    nodes: NDArray[np.float64]
    modelled: Mask
    boundless: bool
    memo: dict[tuple[Requests | None, bool], Numbers] = field(default_factory=dict)

    @classmethod
    def of(cls, clusters: tuple[Cluster, ...]) -> "Capacity":
        names = {name for each in clusters if each.free for name in each.free.resources}
        widest = max((len(each.nodes_by_grade) for each in clusters), default=0)
        nodes = np.zeros((len(clusters), widest))
        for row, cluster in enumerate(clusters):
            nodes[row, : len(cluster.nodes_by_grade)] = cluster.nodes_by_grade
        pods = np.array([_pods(each) for each in clusters], np.int64)
        return cls(
            known=np.array([each.free is not None for each in clusters], np.bool_),
            pods=pods,
            free={
                name: np.array([_free(each, name) for each in clusters], np.int64)
                for name in sorted(names)
            },
            grades=Interned.of(each.grades for each in clusters),
            nodes=nodes,
            modelled=np.array([bool(each.nodes_by_grade) for each in clusters], np.bool_),
            boundless=bool((pods >= INT32_MOST).any()),
        )

    def replaced(self, row: int, cluster: Cluster) -> "Capacity":
        """This capacity with one cluster's report changed."""
        reported = cluster.free.resources if cluster.free else {}
        blank = np.zeros(len(self.pods), np.int64)
        nodes = _room_for(self.nodes, len(cluster.nodes_by_grade))
        nodes[row] = 0
        nodes[row, : len(cluster.nodes_by_grade)] = cluster.nodes_by_grade
        known, modelled = self.known.copy(), self.modelled.copy()
        known[row], modelled[row] = cluster.free is not None, bool(cluster.nodes_by_grade)
        pods = replaced(self.pods, row, _pods(cluster))
        return replace(
            self,
            known=known,
            pods=pods,
            free={
                name: replaced(self.free.get(name, blank), row, _free(cluster, name))
                for name in sorted({*self.free, *reported})
            },
            grades=self.grades.replaced(row, cluster.grades),
            nodes=nodes,
            modelled=modelled,
            boundless=bool((pods >= INT32_MOST).any()),
            memo={},
        )

    def replicas(self, demand: Demand | None, *, models: bool = True) -> Numbers:
        """How many replicas of this demand each cluster can take, by its own report.

        Numbers beyond 32 bits wrap around, as they do in Karmada.
        """
        asked = (None if demand is None else demand.requests, models)
        known = self.memo.get(asked)
        if known is None:
            if len(self.memo) >= _MEMO_MOST:
                self.memo.clear()
            known = self._estimated(demand, models=models)
            if self.boundless:
                known = known.astype(np.int32).astype(np.int64)
            self.memo[asked] = known
        return known

    def _estimated(self, demand: Demand | None, *, models: bool) -> Numbers:
        if demand is None:
            return self.pods
        if not (models and self.modelled.any()):
            return self._by_summary(demand)
        modelled = np.minimum(self.pods, self._by_model(demand))
        if self.modelled.all():
            return modelled
        return np.where(self.modelled, modelled, self._by_summary(demand))

    def _by_summary(self, demand: Demand) -> Numbers:
        fit = self.pods
        for name, amount in demand.requests:
            if amount.milli <= 0:
                continue
            column = self.free.get(name)
            if column is None:
                return np.zeros(len(self.pods), np.int64)
            fit = np.minimum(fit, column // one_number(_near(amount.in_its_unit(name))))
        return fit

    def _by_model(self, demand: Demand) -> Numbers:
        widest = self.nodes.shape[1]
        tables = np.zeros((len(self.grades.values), widest))
        for code, grades in enumerate(self.grades.values):
            per_grade = [fits_node(dict(grade.least), demand) for grade in grades][:widest]
            tables[code, : len(per_grade)] = per_grade
        # Counts are exact in floating point, and several times faster to multiply.
        if len(tables) == 1:
            return np.asarray(self.nodes @ tables[0], np.int64)
        return np.asarray(np.einsum("ij,ij->i", self.nodes, tables[self.grades.codes]), np.int64)

    @property
    def nbytes(self) -> int:
        arrays = (self.known, self.pods, self.nodes, self.modelled, *self.free.values())
        return sum(each.nbytes for each in arrays) + self.grades.nbytes


def counts_in_models(resource: str) -> bool:
    """Resource models know CPU, memory, ephemeral storage, and extended or attached resources."""
    known = resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or "/" in resource
    return known or resource.startswith(("hugepages-", "attachable-volumes-"))


def fits_node(least: Mapping[str, int], demand: Demand) -> int:
    """How many replicas a node of these resources takes; never more than its pod slots."""
    fit = NODE_PODS_MOST
    for name, amount in demand.requests:
        wanted = amount.in_its_unit(name)
        if wanted > 0 and counts_in_models(name):
            fit = min(fit, least.get(name, 0) // wanted)
    return fit


def _pods(cluster: Cluster) -> int:
    return _near(cluster.free.pods) if cluster.free else 0


def _free(cluster: Cluster, name: str) -> int:
    amount = cluster.free.resources.get(name) if cluster.free else None
    return _near(amount.in_its_unit(name)) if amount else 0


def _near(number: int) -> int:
    """Within what columns can hold; what is overcommitted is no less than nothing."""
    return max(0, min(number, _FAR))


def _room_for(nodes: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """A copy of the node counts, wide enough for this many grades."""
    missing = width - nodes.shape[1]
    return np.pad(nodes, ((0, 0), (0, missing))) if missing > 0 else nodes.copy()
