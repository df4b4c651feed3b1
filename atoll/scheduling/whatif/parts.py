"""Single changes to the inputs of a decision, as data that says what it is and can be applied.

Inputs come in, inputs with the change go out. Every part names the object it is made to: the
policy, a cluster or the workload. Whether a change helps is not known here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple, Protocol, TypeVar

from atoll.model.affinity import Affinity
from atoll.model.amount import CPU, MEMORY, Amount
from atoll.model.binding import Binding
from atoll.model.cluster import Api, Cluster, Free
from atoll.model.intent import Constraint, Field, Intent, Pick, Weighted
from atoll.model.taint import Taint, Toleration
from atoll.scheduling.decision import Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Surroundings

Bounds = TypeVar("Bounds", Constraint, Pick)
POLICY, CLUSTER, WORKLOAD = "policy", "cluster", "workload"


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


class Part(Protocol):
    """One change; `str` of it is what to do, in the words of an instruction."""

    @property
    def kind(self) -> str: ...
    @property
    def on(self) -> tuple[str, str]:
        """The kind of object to change, and its name if it is a cluster."""
        ...

    @property
    def size(self) -> tuple[int, int, int]:
        """How large the change is: edits, how far it reaches, and how much."""
        ...

    def apply(self, inputs: Inputs) -> Inputs: ...


def applied(parts: Iterable[Part], inputs: Inputs) -> Inputs:
    """The inputs with all these changes made."""
    return reduce(lambda changed, part: part.apply(changed), parts, inputs)


@dataclass(frozen=True, slots=True)
class Tolerate:
    """Let the policy tolerate a taint."""

    taint: Taint
    kind: str = "tolerate"
    on: tuple[str, str] = (POLICY, "")
    size: tuple[int, int, int] = (1, 0, 0)

    def apply(self, inputs: Inputs) -> Inputs:
        intent, taint = inputs.binding.intent, self.taint
        toleration = Toleration(taint.key, taint.value, taint.effect)
        return inputs.with_intent(replace(intent, tolerations=(*intent.tolerations, toleration)))

    def __str__(self) -> str:
        return f"tolerate the taint {self.taint}"


@dataclass(frozen=True, slots=True)
class Loosen:
    """Let a term of the policy mean more clusters; `edits` says how."""

    place: int
    affinity: Affinity
    edits: tuple[str, ...]
    kind: str = "affinity"
    on: tuple[str, str] = (POLICY, "")

    @property
    def size(self) -> tuple[int, int, int]:
        return len(self.edits), 0, 0

    def apply(self, inputs: Inputs) -> Inputs:
        intent = inputs.binding.intent
        term = replace(intent.terms[self.place], affinity=self.affinity)
        terms = (*intent.terms[: self.place], term, *intent.terms[self.place + 1 :])
        return inputs.with_intent(replace(intent, terms=terms))

    def __str__(self) -> str:
        return " and ".join(self.edits)


@dataclass(frozen=True, slots=True)
class Bound:
    """Let the policy take fewer or more of something; None: as it was."""

    field: Field | None
    """None: the clusters of our own selection."""
    by: int
    """How far it is moved."""
    least: int | None = None
    most: int | None = None
    kind: str = "bound"
    on: tuple[str, str] = (POLICY, "")

    @property
    def size(self) -> tuple[int, int, int]:
        return 1, 0, self.by

    def apply(self, inputs: Inputs) -> Inputs:
        intent = inputs.binding.intent
        if self.field is None:
            assert isinstance(intent.selection, Pick)
            return inputs.with_intent(replace(intent, selection=self._changed(intent.selection)))
        changed = (
            self._changed(each) if each.field is self.field else each for each in intent.spread
        )
        return inputs.with_intent(replace(intent, spread=tuple(changed)))

    def _changed(self, bounds: Bounds) -> Bounds:
        least = bounds.least if self.least is None else self.least
        most = bounds.most if self.most is None else self.most
        return replace(bounds, least=least, most=most)

    def __str__(self) -> str:
        told = [] if self.least is None else [f"at least {self.least}"]
        told += [] if self.most is None else [f"at most {self.most}"]
        return f"take {' and '.join(told)} {self.field or Field.CLUSTER}(s)"


@dataclass(frozen=True, slots=True)
class Weigh:
    """Let the policy give a cluster a weight."""

    cluster: str
    weight: int
    kind: str = "weight"
    on: tuple[str, str] = (POLICY, "")

    @property
    def size(self) -> tuple[int, int, int]:
        return 1, 0, self.weight

    def apply(self, inputs: Inputs) -> Inputs:
        intent = inputs.binding.intent
        assert isinstance(intent.division, Weighted)
        given = (Affinity(names=(self.cluster,)), self.weight)
        division = replace(intent.division, weights=(*intent.division.weights, given))
        return inputs.with_intent(replace(intent, division=division))

    def __str__(self) -> str:
        return f"give {self.cluster} a weight of {self.weight}"


@dataclass(frozen=True, slots=True)
class Serve:
    """Let a cluster serve an API."""

    cluster: str
    api: Api
    kind: str = "api"
    size: tuple[int, int, int] = (1, 1, 0)

    @property
    def on(self) -> tuple[str, str]:
        return CLUSTER, self.cluster

    def apply(self, inputs: Inputs) -> Inputs:
        cluster = inputs.cluster(self.cluster)
        return inputs.with_cluster(replace(cluster, apis=cluster.apis | {self.api}))

    def __str__(self) -> str:
        return f"install {self.api[1]} ({self.api[0]}) in {self.cluster}"


@dataclass(frozen=True, slots=True)
class Say:
    """Let a cluster say its region, zone or provider; `value` is what was assumed."""

    cluster: str
    field: Field
    value: str
    kind: str = "field"
    size: tuple[int, int, int] = (1, 1, 0)

    @property
    def on(self) -> tuple[str, str]:
        return CLUSTER, self.cluster

    def apply(self, inputs: Inputs) -> Inputs:
        cluster = inputs.cluster(self.cluster)
        match self.field:
            case Field.ZONE:
                return inputs.with_cluster(replace(cluster, zones=(self.value,)))
            case Field.PROVIDER:
                return inputs.with_cluster(replace(cluster, provider=self.value))
        return inputs.with_cluster(replace(cluster, region=self.value))

    def __str__(self) -> str:
        return f"set the {self.field} of {self.cluster}, say to {self.value!r}"


@dataclass(frozen=True, slots=True)
class MoreRoom:
    """Let a cluster have more free: resources in their own unit, pods, nodes of a grade."""

    cluster: str
    resources: tuple[tuple[str, int], ...]
    pods: int = 0
    nodes: tuple[int, int] | None = None
    """The place of a grade in the cluster's model, and how many nodes more."""
    estimators: tuple[tuple[str, int], ...] = ()
    """Estimators that would have to answer so much."""
    on_nodes: int = 0
    """So many replicas would have to fit node by node; none if that is no matter."""
    replicas: int = 1
    """How many replicas more would fit."""
    kind: str = "room"

    @property
    def on(self) -> tuple[str, str]:
        return CLUSTER, self.cluster

    @property
    def size(self) -> tuple[int, int, int]:
        return 1, 2, self.replicas

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
        estimates = _answering(inputs.surroundings.estimates, self.estimators, self.cluster)
        surroundings = replace(inputs.surroundings, estimates=estimates)
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


@dataclass(frozen=True, slots=True)
class Scale:
    """Ask for another number of replicas."""

    replicas: int
    fewer: int
    kind: str = "replicas"
    on: tuple[str, str] = (WORKLOAD, "")

    @property
    def size(self) -> tuple[int, int, int]:
        return 1, 1, self.fewer

    def apply(self, inputs: Inputs) -> Inputs:
        return inputs._replace(binding=replace(inputs.binding, replicas=self.replicas))

    def __str__(self) -> str:
        return f"ask for {self.replicas} replicas"


@dataclass(frozen=True, slots=True)
class Request:
    """Ask for less of one resource per replica."""

    resource: str
    amount: Amount
    kind: str = "request"
    on: tuple[str, str] = (WORKLOAD, "")
    size: tuple[int, int, int] = (1, 2, 0)

    def apply(self, inputs: Inputs) -> Inputs:
        demand = inputs.binding.demand
        assert demand is not None
        requests = tuple(
            (name, self.amount if name == self.resource else amount)
            for name, amount in demand.requests
        )
        changed = replace(inputs.binding, demand=replace(demand, requests=requests))
        return inputs._replace(binding=changed)

    def __str__(self) -> str:
        number = self.amount.in_its_unit(self.resource)
        amount = written(self.resource, number) if number else "no"
        return f"request {amount} {self.resource} per replica"


@dataclass(frozen=True, slots=True)
class EndEviction:
    """Let the move away from a cluster be over."""

    cluster: str
    kind: str = "eviction"
    on: tuple[str, str] = (WORKLOAD, "")
    size: tuple[int, int, int] = (1, 1, 0)

    def apply(self, inputs: Inputs) -> Inputs:
        left = tuple(name for name in inputs.binding.evicting if name != self.cluster)
        return inputs._replace(binding=replace(inputs.binding, evicting=left))

    def __str__(self) -> str:
        return f"end the eviction from {self.cluster}"


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """Take the workload out of its affinity or anti-affinity group."""

    group: str
    anti: bool
    kind: str = "group"
    on: tuple[str, str] = (WORKLOAD, "")
    size: tuple[int, int, int] = (1, 1, 0)

    def apply(self, inputs: Inputs) -> Inputs:
        binding = inputs.binding
        if self.anti:
            return inputs._replace(binding=replace(binding, anti_affinity_group=""))
        return inputs._replace(binding=replace(binding, affinity_group=""))

    def __str__(self) -> str:
        return f"leave the {'anti-' if self.anti else ''}affinity group {self.group}"


def written(resource: str, number: int) -> str:
    """So much of a resource, in its unit, as people write it."""
    if resource == CPU:
        return f"{number}m" if number % 1000 else str(number // 1000)
    if resource == MEMORY or resource.startswith(("ephemeral", "hugepages")):
        for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if number and number % (1 << power) == 0:
                return f"{number >> power}{suffix}"
    return str(number)


def _answering(
    estimates: Mapping[str, Mapping[str, int]],
    estimators: tuple[tuple[str, int], ...],
    cluster: str,
) -> Mapping[str, Mapping[str, int]]:
    """The estimates, with other answers for one cluster."""
    changed = dict(estimates)
    for name, answer in estimators:
        changed[name] = {**estimates[name], cluster: answer}
    return changed
