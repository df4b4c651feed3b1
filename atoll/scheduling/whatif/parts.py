"""Single changes to the inputs of a decision: each says what it is and can be applied.

Inputs come in, inputs with the change go out. A part changes the policy, a
cluster or the workload. Whether a change helps is not known here.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple, TypeVar

from atoll.model.affinity import Affinity
from atoll.model.amount import CPU, MEMORY, Amount
from atoll.model.binding import Binding
from atoll.model.cluster import Api, Cluster, Free
from atoll.model.intent import Constraint, Field, Intent, Pick, Weighted
from atoll.model.taint import Taint, Toleration
from atoll.scheduling.decision import Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugins.spread_constraint import PROPERTY
from atoll.scheduling.question import Surroundings

Bounds = TypeVar("Bounds", Constraint, Pick)
Reach = tuple[int, int, int]
"""How large a change is: edits, how far it reaches, and how much."""


class Inputs(NamedTuple):
    """What a decision is made from, as far as it can be changed."""

    binding: Binding
    fleet: Fleet
    surroundings: Surroundings

    @classmethod
    def of(cls, decision: Decision) -> "Inputs":
        return cls(decision.binding, decision.fleet, decision.surroundings)

    def with_intent(self, intent: Intent) -> "Inputs":
        return self._replace(binding=replace(self.binding, intent=intent))

    def with_cluster(self, cluster: Cluster) -> "Inputs":
        return self._replace(fleet=self.fleet.with_cluster(cluster))

    def cluster(self, name: str) -> Cluster:
        return self.fleet.clusters[self.fleet.rows[name]]


@dataclass(frozen=True, slots=True)
class Part:
    """One change; `str` of it is what to do, in the words of an instruction."""

    told: str
    size: Reach
    apply: Callable[[Inputs], Inputs] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.told


def applied(parts: Iterable[Part], inputs: Inputs) -> Inputs:
    """The inputs with all these changes made."""
    return reduce(lambda changed, part: part.apply(changed), parts, inputs)


def _of_policy(told: str, size: Reach, change: Callable[[Intent], Intent]) -> Part:
    return Part(told, size, lambda inputs: inputs.with_intent(change(inputs.binding.intent)))


def _of_cluster(told: str, name: str, change: Callable[[Cluster], Cluster]) -> Part:
    return Part(told, (1, 1, 0), lambda inputs: inputs.with_cluster(change(inputs.cluster(name))))


def _of_workload(told: str, size: Reach, change: Callable[[Binding], Binding]) -> Part:
    return Part(told, size, lambda inputs: inputs._replace(binding=change(inputs.binding)))


def tolerate(taint: Taint) -> Part:
    """Let the policy tolerate a taint."""
    more = Toleration(taint.key, taint.value, taint.effect)
    return _of_policy(
        f"tolerate the taint {taint}",
        (1, 0, 0),
        lambda intent: replace(intent, tolerations=(*intent.tolerations, more)),
    )


def loosen(place: int, affinity: Affinity, edits: tuple[str, ...]) -> Part:
    """Let a term of the policy mean more clusters; `edits` says how."""

    def change(intent: Intent) -> Intent:
        term = replace(intent.terms[place], affinity=affinity)
        terms = (*intent.terms[:place], term, *intent.terms[place + 1 :])
        return replace(intent, terms=terms)

    return _of_policy(" and ".join(edits), (len(edits), 0, 0), change)


def bound(field: Field | None, by: int, least: int | None = None, most: int | None = None) -> Part:
    """Let the policy take fewer or more of something, moved so far; None: as it was.

    Without a field, it is the clusters of our own selection.
    """

    def moved(bounds: Bounds) -> Bounds:
        low = bounds.least if least is None else least
        return replace(bounds, least=low, most=bounds.most if most is None else most)

    def change(intent: Intent) -> Intent:
        if field is None:
            assert isinstance(intent.selection, Pick)
            return replace(intent, selection=moved(intent.selection))
        spread = (moved(each) if each.field is field else each for each in intent.spread)
        return replace(intent, spread=tuple(spread))

    told = [] if least is None else [f"at least {least}"]
    told += [] if most is None else [f"at most {most}"]
    return _of_policy(f"take {' and '.join(told)} {field or Field.CLUSTER}(s)", (1, 0, by), change)


def weigh(cluster: str, weight: int) -> Part:
    """Let the policy give a cluster a weight."""

    def change(intent: Intent) -> Intent:
        assert isinstance(intent.division, Weighted)
        weights = (*intent.division.weights, (Affinity(names=(cluster,)), weight))
        return replace(intent, division=replace(intent.division, weights=weights))

    return _of_policy(f"give {cluster} a weight of {weight}", (1, 0, weight), change)


def serve(cluster: str, api: Api) -> Part:
    """Let a cluster serve an API."""
    return _of_cluster(
        f"install {api[1]} ({api[0]}) in {cluster}",
        cluster,
        lambda before: replace(before, apis=before.apis | {api}),
    )


def say(cluster: str, field: Field, value: str) -> Part:
    """Let a cluster say its region, zone or provider; `value` is what was assumed."""

    said: dict[str, Any] = {PROPERTY[field]: (value,) if field is Field.ZONE else value}
    return _of_cluster(
        f"set the {field} of {cluster}, say to {value!r}",
        cluster,
        lambda before: replace(before, **said),
    )


@dataclass(frozen=True, slots=True)
class Room:
    """More that a cluster has free: resources in their own unit, pods, nodes of a grade."""

    cluster: str
    resources: tuple[tuple[str, int], ...] = ()
    pods: int = 0
    nodes: tuple[int, int] | None = None
    """The place of a grade in the cluster's model, and how many nodes more."""
    estimators: tuple[tuple[str, int], ...] = ()
    """Estimators that would have to answer so much."""
    on_nodes: int = 0
    """So many replicas would have to fit node by node; none if that is no matter."""

    def apply(self, inputs: Inputs) -> Inputs:
        cluster = inputs.cluster(self.cluster)
        free = cluster.free or Free({}, 0)
        resources = dict(free.resources)
        for name, more in self.resources:
            before = resources.get(name, Amount(0, binary=name == MEMORY))
            added = more if name == CPU else more * 1000
            resources[name] = before._replace(milli=before.milli + added)
        counts = list(cluster.nodes_by_grade)
        if self.nodes is not None:
            counts[self.nodes[0]] += self.nodes[1]
        changed = replace(
            cluster, free=Free(resources, free.pods + self.pods), nodes_by_grade=tuple(counts)
        )
        said = inputs.surroundings.estimates
        other = {name: {**said[name], self.cluster: answer} for name, answer in self.estimators}
        surroundings = replace(inputs.surroundings, estimates={**said, **other})
        if self.on_nodes and surroundings.nodes is not None:
            # What its nodes are then is not known; that they are enough is what is asked for.
            changed = replace(changed, nodes_by_grade=())
            surroundings = replace(surroundings, nodes=surroundings.nodes.without((self.cluster,)))
        return inputs.with_cluster(changed)._replace(surroundings=surroundings)

    def __str__(self) -> str:
        needed = [f"{written(name, more)} more {name}" for name, more in self.resources]
        needed += [f"{self.pods} more pod slots"] if self.pods else []
        needed += [f"{self.nodes[1]} more nodes of grade {self.nodes[0]}"] if self.nodes else []
        needed += [f"nodes with room for {self.on_nodes}"] if self.on_nodes else []
        needed += [f"{to} by the estimate of {name}" for name, to in self.estimators]
        return f"give {self.cluster} {', '.join(needed)}"


def scale(replicas: int, fewer: int) -> Part:
    """Ask for another number of replicas."""
    return _of_workload(
        f"ask for {replicas} replicas",
        (1, 1, fewer),
        lambda binding: replace(binding, replicas=replicas),
    )


def request(resource: str, amount: Amount) -> Part:
    """Ask for less of one resource per replica."""

    def change(binding: Binding) -> Binding:
        assert binding.demand is not None
        requests = tuple(
            (name, amount if name == resource else before)
            for name, before in binding.demand.requests
        )
        return replace(binding, demand=replace(binding.demand, requests=requests))

    number = amount.in_its_unit(resource)
    told = f"{written(resource, number) if number else 'no'} {resource}"
    return _of_workload(f"request {told} per replica", (1, 2, 0), change)


def end_eviction(cluster: str) -> Part:
    """Let the move away from a cluster be over."""

    def change(binding: Binding) -> Binding:
        left = tuple(name for name in binding.evicting if name != cluster)
        return replace(binding, evicting=left)

    return _of_workload(f"end the eviction from {cluster}", (1, 1, 0), change)


def leave_group(binding: Binding, *, anti: bool) -> Part:
    """Take the workload out of its affinity or anti-affinity group."""
    kind = "anti_affinity_group" if anti else "affinity_group"
    told = f"leave the {'anti-' if anti else ''}affinity group {getattr(binding, kind)}"
    left: dict[str, Any] = {kind: ""}
    return _of_workload(told, (1, 1, 0), lambda one: replace(one, **left))


def written(resource: str, number: int) -> str:
    """So much of a resource, in its unit, as people write it."""
    if resource == CPU:
        return f"{number}m" if number % 1000 else str(number // 1000)
    if resource == MEMORY or resource.startswith(("ephemeral", "hugepages")):
        for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if number and number % (1 << power) == 0:
                return f"{number >> power}{suffix}"
    return str(number)
