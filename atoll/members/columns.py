"""What the nodes of one cluster offer and what its pods ask for: numbers, not objects.

Facts of single nodes and pods come in as they change, each at the same small cost however many
there are; sums for the cluster's summary and a table of its nodes for the scheduler go out. The
table is only brought up to date when somebody asks for it. Pods may come before their node does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from atoll.dialects.karmada.cluster_status.resources import Summary
from atoll.members.reading import Amounts, NodeFacts, PodFacts
from atoll.model.amount import PODS
from atoll.model.node import Node
from atoll.scheduling.nodes.table import NodeTable

Sums = dict[str, int]


@dataclass(slots=True)
class _Offer:
    """What stays known of a node; its labels and taints are in the table, here only a hash."""

    allocatable: Amounts
    slots: int
    ready: bool
    traits: int


@dataclass(slots=True)
class _Use:
    """What the pods on a node ask for together."""

    pods: int = 0
    requested: Sums = field(default_factory=dict)


class Columns:
    """The nodes and pods of one cluster."""

    def __init__(self) -> None:
        self._offers: dict[str, _Offer] = {}
        self._uses: dict[str, _Use] = {}
        self._pods: dict[str, PodFacts] = {}
        self._ready_count = 0
        self._makes: dict[tuple[Amounts, int], int] = {}
        """How many nodes there are of each make: they offer the same."""
        self._allocated: Sums = {}
        self._allocating: Sums = {}
        self._table = NodeTable.of(())
        self._changed: dict[str, NodeFacts | None] = {}
        self._refilled: dict[str, None] = {}
        self.changes = 0
        """How often a node came, went, or got other labels or taints."""

    @property
    def nodes(self) -> Iterable[str]:
        """The names of the nodes."""
        return self._offers.keys()

    @property
    def pods(self) -> Iterable[str]:
        """The pods that have not ended, by namespace and name."""
        return self._pods.keys()

    def put_node(self, name: str, facts: NodeFacts) -> None:
        """A node is so from now on."""
        before, traits = self._forget(name), _traits(facts)
        self._offers[name] = _Offer(facts.allocatable, facts.slots, facts.ready, traits)
        self._ready_count += facts.ready
        make = facts.allocatable, facts.slots
        self._makes[make] = self._makes.get(make, 0) + 1
        if before is None or before.traits != traits:
            self._change(name, facts)
        elif (before.allocatable, before.slots) != make and name not in self._changed:
            self._refilled[name] = None

    def drop_node(self, name: str) -> None:
        """A node is no more; its pods are counted until they are told to be gone as well."""
        if self._forget(name) is not None:
            self._change(name, None)

    def put_pod(self, key: str, facts: PodFacts | None) -> None:
        """A pod is so from now on; None if it has ended."""
        before = self._pods.get(key)
        if before == facts:
            return
        if before is not None:
            self._count(before, -1)
            del self._pods[key]
        if facts is not None:
            self._count(facts, 1)
            self._pods[key] = facts

    def drop_pod(self, key: str) -> None:
        """A pod is no more."""
        self.put_pod(key, None)

    def summary(self) -> Summary:
        """The sums over all nodes and pods; what nodes have none of is told as well."""
        allocatable: Sums = {}
        for (amounts, slots), count in self._makes.items():
            for name, each in (*amounts, (PODS, slots)):
                allocatable[name] = allocatable.get(name, 0) + each * count
        return Summary(
            nodes=len(self._offers),
            ready=self._ready_count,
            allocatable=allocatable,
            allocated=dict(self._allocated),
            allocating=dict(self._allocating),
        )

    @property
    def made(self) -> NodeTable:
        """The table as it was when it was last brought up to date."""
        return self._table

    def table(self) -> NodeTable:
        """The nodes, with what is free on each of them now."""
        changed, refilled = self._changed, self._refilled
        if changed:
            self._changed = {}
            nodes = [self._node(name, facts) for name, facts in changed.items() if facts]
            gone = [name for name, facts in changed.items() if facts is None]
            self._table = self._table.with_nodes(nodes, gone)
        if refilled:
            self._refilled = {}
            known = [name for name in refilled if name in self._offers and name not in changed]
            self._table = self._table.with_free(self._node(name) for name in known)
        return self._table

    def _node(self, name: str, facts: NodeFacts | None = None) -> Node:
        offer, use = self._offers[name], self._uses.get(name)
        return Node(
            name=name,
            labels=facts.labels if facts else {},
            taints=facts.taints if facts else (),
            unschedulable=facts.unschedulable if facts else False,
            allocatable=dict(offer.allocatable),
            requested=use.requested if use else {},
            slots=offer.slots,
            pods=use.pods if use else 0,
        )

    def _change(self, name: str, facts: NodeFacts | None) -> None:
        self._changed[name] = facts
        self.changes += 1

    def _forget(self, name: str) -> _Offer | None:
        offer = self._offers.pop(name, None)
        if offer is not None:
            self._ready_count -= offer.ready
            make = offer.allocatable, offer.slots
            self._makes[make] -= 1
            if not self._makes[make]:
                del self._makes[make]
        return offer

    def _count(self, pod: PodFacts, sign: int) -> None:
        _add(self._allocated if pod.node else self._allocating, (*pod.asks, (PODS, 1)), sign)
        if not pod.node:
            return
        use = self._uses.setdefault(pod.node, _Use())
        use.pods += sign
        _add(use.requested, pod.asks, sign)
        if not use.pods:
            del self._uses[pod.node]
        self._refilled[pod.node] = None


def _traits(facts: NodeFacts) -> int:
    """A number for what a node is apart from its resources: another one if that is another."""
    return hash((tuple(sorted(facts.labels.items())), facts.taints, facts.unschedulable))


def _add(sums: Sums, amounts: Amounts, sign: int = 1) -> None:
    """Add amounts to sums; what is none is left out."""
    for name, each in amounts:
        total = sums.get(name, 0) + sign * each
        if total:
            sums[name] = total
        else:
            sums.pop(name, None)
