"""Emptying namespaces: a deleted namespace goes when everything in it has gone.

`plan` sees what is left in a namespace and says what to delete, what to tell, and when to let go.
Creating anything in a namespace that is missing or ending is refused at the door (`Lifecycle`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.apiserver.admission import Admission
from atoll.apiserver.housekeeping.acting import Upkeep, call_on, delete_all, revise
from atoll.apiserver.housekeeping.graph import Node, node_of
from atoll.apiserver.objects.conditions import condition, since
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.status import forbidden, not_found
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.updating import held_by
from atoll.apiserver.verbs.writing import Leave, Verdict, write
from atoll.store.record import Event
from atoll.store.store import Store
from atoll.wire import Wire

COLLECTION = "namespaces"
PODS = "pods"
PROTECTED = frozenset(["default", "kube-system", "kube-public"])
HOLDER = "kubernetes"
REFUSALS_TOLD = 10
REFUSED_AGAIN_S = 15.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is to be done about an ending namespace."""

    delete: tuple[Node, ...]
    left: Mapping[str, Sequence[Node]]

    @property
    def done(self) -> bool:
        return not self.left

    def conditions(self, refusals: Sequence[str] = ()) -> list[Wire]:
        """What people are told of what is left, some of which the server refused to delete."""
        return [_deletion(refusals), *_remaining(self.left)]


def plan(content: Mapping[str, Sequence[Node]]) -> Sweep:
    """Say what to delete of what is left, by collection: first pods, which may use the rest."""
    left = {name: nodes for name, nodes in content.items() if nodes}
    if PODS in left:
        left = {PODS: left[PODS]}
    doomed = tuple(node for nodes in left.values() for node in nodes if not node.ending)
    return Sweep(doomed, left)


def _deletion(refusals: Sequence[str]) -> Wire:
    kind = "NamespaceDeletionContentFailure"
    if not refusals:
        text = "All content successfully deleted, may be waiting on finalization"
        return condition(kind, "ContentDeleted", text, holds=False)
    named = ", ".join(sorted(refusals)[:REFUSALS_TOLD])
    text = f"Failed to delete all resource types, {len(refusals)} remaining: {named}"
    return condition(kind, "ContentDeletionFailed", text, holds=True)


def _remaining(left: Mapping[str, Sequence[Node]]) -> list[Wire]:
    # A resource is told with its group behind a dot, and the core group has no name.
    told = {name if "." in name else f"{name}.": nodes for name, nodes in left.items()}
    counts = [f"{name} has {len(nodes)} resource instances" for name, nodes in sorted(told.items())]
    held: dict[str, int] = {}
    for nodes in left.values():
        for node in nodes:
            for finalizer in node.metadata.finalizers:
                held[finalizer] = held.get(finalizer, 0) + 1
    holders = [f"{name} in {count} resource instances" for name, count in sorted(held.items())]
    if counts:
        said = ("SomeResourcesRemain", "Some resources are remaining: " + ", ".join(counts))
    else:
        said = ("ContentRemoved", "All content successfully removed")
    remaining = condition("NamespaceContentRemaining", *said, holds=bool(counts))
    if holders:
        text = "Some content in the namespace has finalizers remaining: " + ", ".join(holders)
        said = ("SomeFinalizersRemain", text)
    else:
        said = ("ContentHasNoFinalizers", "All content-preserving finalizers finished")
    return [remaining, condition("NamespaceFinalizersRemaining", *said, holds=bool(holders))]


class Sweeper(Upkeep):
    """Follows the store and empties the namespaces that are ending."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "namespaces")
        self._ending: dict[str, None] = {}
        self._refused: set[str] = set()

    def load(self) -> None:
        for record in self._api.store.page(COLLECTION).records:
            self._note(record.name, ending=metadata_of(record).deletion_timestamp is not None)

    def follow(self, events: Sequence[Event]) -> None:
        """Look again at an ending namespace whenever something in it changes."""
        for event in events:
            after = event.after
            if after.collection == COLLECTION:
                ending = not event.removed and metadata_of(after).deletion_timestamp is not None
                self._note(after.name, ending=ending)
            elif self._ending and (namespace := metadata_of(after).namespace) in self._ending:
                self._work.add(namespace)

    def _note(self, name: str, *, ending: bool) -> None:
        if ending:
            self._ending[name] = None
            self._work.add(name)
        else:
            self._ending.pop(name, None)

    async def _look(self, name: str) -> None:
        if name not in self._ending:
            return
        sweep = plan(self._content(name))
        refusals = await delete_all(self._api, sweep.delete)
        if refusals:
            self._look_later(name)
        if sweep.done:
            await self._let_go(name)
        elif len(refusals) == len(sweep.delete):  # what is left waits for others: say so
            await self._tell(name, sweep.conditions([str(each) for each in refusals]))

    def _look_later(self, name: str) -> None:
        """What is refused now may be allowed then, although nothing in the namespace changed."""
        if name not in self._refused:
            self._refused.add(name)
            asyncio.get_running_loop().call_later(REFUSED_AGAIN_S, self._look_again, name)

    def _look_again(self, name: str) -> None:
        self._refused.discard(name)
        self._work.add(name)

    def _content(self, namespace: str) -> dict[str, list[Node]]:
        store = self._api.store
        return {
            collection: list(map(node_of, store.page(collection, f"{namespace}/").records))
            for collection in self._api.catalog.namespaced_collections()
        }

    async def _let_go(self, name: str) -> None:
        call = call_on(self._api, COLLECTION, "", name)

        def decide(old: Wire | None) -> Verdict:
            if old is None or not old["metadata"].get("deletionTimestamp"):
                raise not_found(COLLECTION, "", name)
            holders = (old.get("spec") or {}).get("finalizers") or []
            rest = [holder for holder in holders if holder != HOLDER]
            return held_by(call, old, rest) if rest != holders else Leave(old)

        await write(self._api, call.resource, name, decide)

    async def _tell(self, name: str, conditions: Sequence[Wire]) -> None:
        now = rfc3339(self._api.now())

        def told(obj: Wire) -> Wire:
            status = obj.get("status") or {}
            known = status.get("conditions") or []
            fresh = [since(one, known, now) for one in conditions]
            return {**obj, "status": {**status, "conditions": fresh}}

        await revise(self._api, call_on(self._api, COLLECTION, "", name).on("status"), told)


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The admission rule: nothing is made in a namespace that is missing or ending."""

    store: Store

    def __call__(self, seen: Admission) -> None:
        """ApiError if the write may not happen in this namespace's state."""
        if seen.operation == "DELETE":
            self._check_delete(seen)
        elif seen.operation == "CREATE" and seen.resource.namespaced:
            self._check_create(seen)

    def _check_delete(self, seen: Admission) -> None:
        if seen.resource.collection == COLLECTION and seen.name in PROTECTED:
            why = "this namespace may not be deleted"
            raise forbidden(seen.resource.plural, seen.resource.group, seen.name, why)

    def _check_create(self, seen: Admission) -> None:
        namespace = self.store.latest(COLLECTION, seen.namespace)
        if namespace is None:
            raise not_found("namespaces", "", seen.namespace)
        if metadata_of(namespace).deletion_timestamp is None:
            return
        why = (
            f"unable to create new content in namespace {seen.namespace}"
            " because it is being terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {seen.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise forbidden(seen.resource.plural, seen.resource.group, seen.name, why, [cause])
