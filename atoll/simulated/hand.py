"""Carries out what is planned, as writes to the member's own store.

The members' controllers are part of the cluster: what they make comes from templates the server has
checked, so it is stored as it is, without the way of a request, which costs ten times as much; only
quotas are asked. What is gone, or another by now, is left alone: that is an event, and leads to a
new plan.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.authentication import ITSELF
from atoll.apiserver.housekeeping.acting import call_on, ensure
from atoll.apiserver.objects.ending import is_over
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.options import DeleteOptions
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import ApiError
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.deleting import delete_object
from atoll.apiserver.verbs.writing import Drop, Leave, Save, Verdict, same, write
from atoll.runtime.children import Children
from atoll.simulated.plans.steps import Change, End, Key, Make, Step, key_of
from atoll.store.store import Store
from atoll.wire import Wire

PODS, JOBS = "pods", "jobs.batch"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod, or a job, that may not be made now, and why."""

    object: Wire
    why: str


def stored(store: Store, collection: str, name: str) -> Wire | None:
    """An object as it is stored; None if it is not there."""
    record = store.get(collection, name)
    return None if record is None else orjson.loads(record.value)


class Hand:
    """Writes for one member."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.own: set[Key] = set()
        """What we tell of objects right now: nobody needs to look at them because of that."""

    def resource(self, collection: str) -> Resource:
        return self._api.catalog.always(collection)

    async def carry_out(self, steps: Iterable[Step]) -> list[Refusal]:
        """Take these steps, all at once but in order; return once all are durable.

        Gives the pods that were not made, because a quota does not allow them.
        """
        found: list[Refusal] = []
        async with Children("controllers") as children:
            for task in [children.spawn(self._take(step, found), "write") for step in steps]:
                await task
        return found

    async def _take(self, step: Step, refused: list[Refusal]) -> None:
        match step:
            case Make(collection, obj):
                try:
                    if collection == JOBS:  # few, and from templates that are no whole jobs
                        await ensure(self._api, collection, obj)
                    else:
                        await self._make(collection, obj)
                except ApiError as error:
                    if collection not in (PODS, JOBS) or error.code not in (403, 422):
                        raise
                    refused.append(Refusal(obj, error.message))
            case Change():
                await self._change(step)
            case End():
                await self._end(step)

    async def _make(self, collection: str, proposed: Wire) -> None:
        resource, meta = self.resource(collection), proposed["metadata"]
        if resource.namespaced and not self._is_open(meta["namespace"]):
            return
        stamps: Wire = {
            "uid": self._api.effects.chance.uuid("uid"),
            "creationTimestamp": self._api.timestamp(),
        }
        if resource.strategy.tracks_generation:
            stamps["generation"] = 1
        head = {"kind": resource.kind, "apiVersion": resource.api_version}
        obj = head | proposed | {"metadata": meta | stamps}

        def decide(old: Wire | None) -> Verdict:
            if old is not None:
                return Leave(old)
            if collection == PODS:
                self._check_quotas(resource, obj)
            return Save(obj)

        await write(self._api, resource, key_of(collection, obj)[1], decide)

    def _check_quotas(self, resource: Resource, obj: Wire) -> None:
        meta = metadata(obj)
        for hook in self._api.hooks.last:
            hook(Admission("CREATE", resource, meta["namespace"], meta["name"], ITSELF, object=obj))

    def _is_open(self, namespace: str) -> bool:
        found = self._api.store.latest("namespaces", namespace)
        return found is not None and metadata_of(found).deletion_timestamp is None

    async def _change(self, step: Change) -> None:
        collection, name = step.key
        resource = self.resource(collection)

        def decide(old: Wire | None) -> Verdict:
            if old is None:
                raise _Vanished
            meta = metadata(old)
            stale = step.generation is not None and meta.get("generation") != step.generation
            if meta["uid"] != step.uid or stale:
                return Leave(old)
            changed = _with(old, step.parts)
            if same(changed, old):
                return Leave(old)
            if collection != PODS and "status" in step.parts and "spec" not in step.parts:
                self.own.add(step.key)
            return Save(changed)

        try:
            await write(self._api, resource, name, decide)
        except _Vanished:
            return
        finally:
            self.own.discard(step.key)

    async def _end(self, step: End) -> None:
        collection, name = step.key
        resource = self.resource(collection)
        if not step.at_once:
            namespace, _, last = name.rpartition("/")
            options = DeleteOptions(propagation="Background", precondition_uid=step.uid)
            try:
                call = call_on(self._api, collection, namespace, last)
                await delete_object(self._api, call, options)
            except ApiError as error:
                if error.code not in (404, 409):
                    raise
            return

        def decide(old: Wire | None) -> Verdict:
            if old is None:
                raise _Vanished
            meta = metadata(old)
            if meta["uid"] != step.uid:
                return Leave(old)
            now = meta.get("deletionTimestamp") or self._api.timestamp()
            last = {**meta, "deletionTimestamp": now, "deletionGracePeriodSeconds": 0}
            ended = {**old, "metadata": last}
            if is_over(ended, resource):
                return Drop(ended)
            return Leave(old) if last == meta else Save(ended)

        try:
            await write(self._api, resource, name, decide)
        except _Vanished:
            return


def _with(old: Wire, parts: Mapping[str, Any]) -> Wire:
    """The object with these parts; another wish is another generation."""
    changed = dict(old)
    for name, part in parts.items():
        if name == "status":
            changed["status"] = part
        elif name == "annotations":
            notes = {**(metadata(changed).get("annotations") or {}), **part}
            changed["metadata"] = {**metadata(changed), "annotations": notes}
        elif name in ("owned", "disowned"):
            changed["metadata"] = _in_other_hands(metadata(changed), name, part)
        elif isinstance(part, dict):
            changed[name] = {**(changed.get(name) or {}), **part}
        else:
            changed[name] = part
    before = metadata(old).get("generation")
    # To be given a node is no other wish.
    is_pod = changed["kind"] == "Pod"
    if before is not None and not is_pod and changed.get("spec") != old.get("spec"):
        changed["metadata"] = {**metadata(changed), "generation": before + 1}
    return changed


def _in_other_hands(meta: Wire, name: str, part: Any) -> Wire:
    owners = meta.get("ownerReferences") or []
    if name == "owned":
        if any(one.get("controller") for one in owners):
            return meta  # another was quicker
        return {**meta, "ownerReferences": [*owners, part]}
    left = [one for one in owners if one["uid"] != part]
    rest = {key: value for key, value in meta.items() if key != "ownerReferences"}
    return {**rest, "ownerReferences": left} if left else rest


class _Vanished(Exception):
    """The object is gone; there is nothing left to do."""
