"""Garbage collection: what happens to the dependents of an object that is deleted.

`plan` looks at one object and its neighbours and says what to do about it, purely; the collector
follows the store, plans what was touched, and acts through the ordinary verbs. Every action names
the uid it means, so that acting twice, or late, is harmless.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atoll.apiserver.housekeeping import acting
from atoll.apiserver.housekeeping.graph import Graph, Node
from atoll.apiserver.objects.ending import FOREGROUND, ORPHAN
from atoll.apiserver.objects.view import OwnerReference, metadata_of
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event, Record


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete this object and let its own dependents go this way."""

    node: Node
    propagation: str


@dataclass(frozen=True, slots=True)
class Release:
    """Take these owners off this object's list."""

    node: Node
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unhold:
    """Take this finalizer off this object: what it stood for is done."""

    node: Node
    finalizer: str


@dataclass(frozen=True, slots=True)
class Unblock:
    """Let this object's owners go before it: it waits for them itself."""

    node: Node


Action = Delete | Release | Unhold | Unblock


def plan(node: Node, graph: Graph, is_served: Callable[[OwnerReference], bool]) -> list[Action]:
    """What garbage collection has to do about one object now."""
    if node.ending and ORPHAN in node.metadata.finalizers:
        dependents = [dependent for dependent, _ in graph.dependents(node.uid)]
        freed = [Release(dependent, (node.uid,)) for dependent in dependents]
        return [*freed, Unhold(node, ORPHAN)]
    if node.ending and FOREGROUND in node.metadata.finalizers:
        blocked = any(reference.block_owner_deletion for _, reference in graph.dependents(node.uid))
        return [] if blocked else [Unhold(node, FOREGROUND)]
    if node.ending or not node.metadata.owner_references:
        return []
    return _plan_dependent(node, graph, is_served)


def _plan_dependent(
    node: Node, graph: Graph, is_served: Callable[[OwnerReference], bool]
) -> list[Action]:
    absent: list[str] = []
    waiting: list[str] = []
    solid: list[str] = []
    for reference in node.metadata.owner_references:
        owner = graph.node(reference.uid)
        if owner is None or not _within_reach(owner, node):
            # An owner of a kind that is not served may well exist; only its absence is an order.
            (absent if is_served(reference) else solid).append(reference.uid)
        elif owner.ending and FOREGROUND in owner.metadata.finalizers:
            waiting.append(reference.uid)
        else:
            solid.append(reference.uid)
    if solid:
        useless = (*absent, *waiting)
        return [Release(node, useless)] if useless else []
    deletion = Delete(node, _propagation(node, graph, waited_for=bool(waiting)))
    if waiting and _waits_for_itself(node, graph):
        return [Unblock(node), deletion]
    return [deletion]


def _waits_for_itself(node: Node, graph: Graph) -> bool:
    """Whether owners may own each other in a ring, in which each would wait for the next."""
    return any(
        dependent.ending and FOREGROUND in dependent.metadata.finalizers
        for dependent, _ in graph.dependents(node.uid)
    )


def _within_reach(owner: Node, node: Node) -> bool:
    """Whether the owner is cluster-wide or in the dependent's own namespace."""
    return owner.metadata.namespace in ("", node.metadata.namespace)


def _propagation(node: Node, graph: Graph, *, waited_for: bool) -> str:
    if ORPHAN in node.metadata.finalizers:
        return "Orphan"
    if FOREGROUND in node.metadata.finalizers or (waited_for and graph.dependents(node.uid)):
        return "Foreground"
    return "Background"


class Collector(acting.Upkeep):
    """Follows the store and keeps collecting."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "garbage collection")
        self._graph = Graph()

    def follow(self, events: Sequence[Event]) -> None:
        """Note what was committed, and whom it concerns."""
        for event in events:
            self._touch(self._graph.note(event), event)

    def _touch(self, uid: str, event: Event) -> None:
        node = self._graph.node(uid)
        if node is not None and (node.ending or node.metadata.owner_references):
            self._work.add(uid)
        if event.removed or (node is not None and node.ending):
            for dependent, _ in self._graph.dependents(uid):
                self._work.add(dependent.uid)
        if event.before is not None:
            self._touch_owners(event.before)

    def _touch_owners(self, before: Record) -> None:
        """A dependent that goes, or changes its owners, may be what an owner waits for."""
        for reference in metadata_of(before).owner_references:
            owner = self._graph.node(reference.uid)
            if owner is not None and owner.ending:
                self._work.add(reference.uid)

    def load(self) -> None:
        """Take in everything that is there, before following what comes."""
        for collection in self._api.store.collections():
            for record in self._api.store.page(collection).records:
                node = self._graph.add(record)
                if node.ending or node.metadata.owner_references:
                    self._work.add(node.uid)

    async def _look(self, uid: str) -> None:
        node = self._graph.node(uid)
        if node is None:
            return
        for action in plan(node, self._graph, self._is_served):
            await self._act(action)

    def _is_served(self, reference: OwnerReference) -> bool:
        group, _, version = reference.api_version.rpartition("/")
        return self._api.catalog.kind(group, version, reference.kind) is not None

    async def _act(self, action: Action) -> None:
        match action:
            case Delete(node, propagation):
                await acting.delete_one(self._api, node, propagation)
            case Release(node, owners):
                await acting.release(self._api, node, owners)
            case Unhold(node, finalizer):
                await acting.take_off_finalizer(self._api, node, finalizer)
            case Unblock(node):
                await acting.unblock(self._api, node)
