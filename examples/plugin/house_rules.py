"""The house rules of a made-up company, as plug-ins of Atoll's scheduler."""

from dataclasses import dataclass

import numpy as np

from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Judge, Measure
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True)
class Maintenance:
    """New work stays off clusters that are about to be worked on."""

    name: str = "Maintenance"
    spares_placed: bool = True
    shared: bool = True

    def compile(self, question: Question) -> Judge | None:
        def judge(fleet: Fleet) -> Verdicts:
            column = fleet.traits.labels.get("maintenance")
            planned = np.zeros(len(fleet), bool) if column is None else column.holding(("planned",))
            return Verdicts.turning_away(planned, "cluster(s) had maintenance planned")

        return judge


@dataclass(frozen=True)
class GreenFirst:
    """Clusters on green power come first, for work that may wait for them."""

    name: str = "GreenFirst"

    def compile(self, question: Question) -> Measure | None:
        if question.binding.priority > 0:
            return None

        def measure(fleet: Fleet) -> Numbers:
            column = fleet.traits.labels.get("power")
            green = np.zeros(len(fleet), bool) if column is None else column.holding(("green",))
            return green.astype(np.int64) * 50

        return measure


class Tenants:
    """A cluster that belongs to a tenant takes only work of that tenant's namespace."""

    def admits(self, binding: Binding, cluster: Cluster) -> str | None:
        tenant = cluster.labels.get("tenant")
        if tenant in (None, binding.resource.namespace):
            return None
        return f"cluster(s) belonged to tenant {tenant}"


class NearHome:
    """Clusters in the region that a namespace is named after come first: `eu-shop` in `eu`."""

    def score(self, binding: Binding, cluster: Cluster) -> int:
        near = cluster.region and binding.resource.namespace.startswith(f"{cluster.region}-")
        return 30 if near else 0
