"""Plug-ins written for one cluster at a time, wrapped so that they are ordinary ones.

A rule about one cluster comes in; a filter or a score on columns goes out that asks it about every
cluster of the fleet. That is simple to write and slow to run: one call of Python for each cluster
in each decision, where columns ask once for each distinct value. What is not text, or no whole
number, is the plug-in's failure and names the cluster.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from atoll.model.binding import Binding, Resource
from atoll.model.cluster import Cluster
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.guarding import PluginFailed
from atoll.scheduling.plugin import Judge, Measure
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts
from atoll.scheduling.whole_numbers import INT32_MOST

A = TypeVar("A")


class ClusterFilter(Protocol):
    """A rule that turns clusters away."""

    def admits(self, binding: Binding, cluster: Cluster) -> str | None:
        """The reason to turn the cluster away; None to let it pass."""


class ClusterScore(Protocol):
    """A rule that ranks clusters."""

    def score(self, binding: Binding, cluster: Cluster) -> int:
        """The more, the better."""


@dataclass(frozen=True, slots=True, eq=False)
class FilterOneByOne:
    """Asks a rule about every cluster of the fleet, also those that others turn away.

    If it is `shared`, it is asked once for all bindings alike and until a cluster is another, not
    only fuller. So that what it said stays true, it is shown only what the answer may depend on:
    of a binding the intent, the API and whether it is a workload, of a cluster what it is.
    """

    name: str
    rule: ClusterFilter
    spares_placed: bool = True
    shared: bool = False

    def compile(self, question: Question) -> Judge | None:
        binding = _alike(question.binding) if self.shared else question.binding

        def judge(fleet: Fleet) -> Verdicts:
            clusters = map(_lasting, fleet.clusters) if self.shared else iter(fleet.clusters)
            codes: dict[str | None, int] = {None: 0}
            given = [
                codes.setdefault(self._reason(*answer), len(codes))
                for answer in _answers(self.name, self.rule.admits, binding, clusters)
            ]
            return Verdicts(np.array(given, np.uint16), tuple(filter(None, codes)))

        return judge

    def _reason(self, cluster: Cluster, said: object) -> str | None:
        if said is None or (isinstance(said, str) and said):
            return said
        wanted = "`admits` returns None, or the reason not to as text"
        raise PluginFailed(self.name, f"cluster {cluster.name}: {wanted}; got {said!r:.100}")


@dataclass(frozen=True, slots=True, eq=False)
class ScoreOneByOne:
    """Asks a rule about every cluster of the fleet; 32 bits, so that sums cannot overflow."""

    name: str
    rule: ClusterScore

    def compile(self, question: Question) -> Measure | None:
        def measure(fleet: Fleet) -> Numbers:
            clusters = iter(fleet.clusters)
            answers = _answers(self.name, self.rule.score, question.binding, clusters)
            return np.array([self._number(*each) for each in answers], np.int64)

        return measure

    def _number(self, cluster: Cluster, said: object) -> int:
        if type(said) is int and abs(said) <= INT32_MOST:
            return said
        wanted = "`score` returns a whole number of 32 bits"
        raise PluginFailed(self.name, f"cluster {cluster.name}: {wanted}; got {said!r:.100}")


def _answers(
    plugin: str,
    ask: Callable[[Binding, Cluster], A],
    binding: Binding,
    clusters: Iterator[Cluster],
) -> Iterator[tuple[Cluster, A]]:
    for cluster in clusters:
        try:
            answer = ask(binding, cluster)
        except Exception as error:
            problem = f"cluster {cluster.name}: {type(error).__name__}: {error}"
            raise PluginFailed(plugin, problem) from error
        yield cluster, answer


def _alike(binding: Binding) -> Binding:
    """What all bindings have in common that are answered alike."""
    resource = Resource(binding.resource.api)
    return Binding(resource=resource, intent=binding.intent, replicas=int(binding.is_workload))


def _lasting(cluster: Cluster) -> Cluster:
    """A cluster without what changes while it stays the same cluster."""
    return replace(cluster, ready=None, free=None, grades=(), nodes_by_grade=(), price=None)
