"""How housekeeping acts: through the ordinary verbs, as the server itself, on the object meant.

An object that is gone, or is another one by now, is left alone: the event of that change has been
seen, or is about to be, and leads to a new plan.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from atoll.apiserver.authentication import ITSELF
from atoll.apiserver.housekeeping.graph import Node
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import DeleteOptions, WriteOptions
from atoll.apiserver.status import ApiError
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.creating import create_object
from atoll.apiserver.verbs.deleting import delete_object
from atoll.apiserver.verbs.forming import Form, formed_update
from atoll.apiserver.verbs.writing import Leave, Verdict, write_admitted
from atoll.exchange import Request
from atoll.runtime.worklist import Worklist
from atoll.wire import Wire

MANAGER = "atoll"
_OURSELVES = Request("POST", "/", headers={"user-agent": MANAGER})


class Upkeep(ABC):
    """Looks at what was touched, again and again while it fails, for as long as it runs."""

    def __init__(self, api: Api, what: str) -> None:
        self._api = api
        self._work: Worklist[str] = Worklist(what)

    async def run(self) -> None:
        await self._work.run(self._look)

    @abstractmethod
    async def _look(self, key: str) -> None:
        """Do what is due about one."""


def call_on(api: Api, collection: str, namespace: str, name: str) -> Call:
    """A call of the server on one of its own objects, of a kind that is always served."""
    return Call(_OURSELVES, api.catalog.always(collection), ITSELF, namespace=namespace, name=name)


async def ensure(api: Api, collection: str, proposed: Wire) -> None:
    """Create this object unless one of its name is there."""
    meta = metadata(proposed)
    call = call_on(api, collection, meta.get("namespace", ""), meta["name"])
    if api.store.get(collection, call.key()) is not None:
        return
    named = {"apiVersion": call.resource.api_version, "kind": call.resource.kind, **proposed}
    try:
        await create_object(Form(api, call, WriteOptions(field_manager=MANAGER)), named)
    except ApiError as error:
        if error.code != 409:  # somebody was quicker
            raise


def _call_on(api: Api, node: Node) -> Call | None:
    if api.catalog.of_collection(node.collection) is None:
        return None
    return call_on(api, node.collection, node.metadata.namespace, node.metadata.name)


async def delete_one(api: Api, node: Node, propagation: str) -> None:
    """Delete this very object, if it is still there."""
    call = _call_on(api, node)
    if call is None:
        return
    options = DeleteOptions(propagation=propagation, precondition_uid=node.uid)
    try:
        await delete_object(api, call, options)
    except ApiError as error:
        if error.code not in (404, 409):
            raise


async def delete_all(api: Api, nodes: Iterable[Node]) -> list[ApiError]:
    """Delete these very objects; one that may not be deleted does not keep the others."""
    refusals = []
    for node in nodes:
        try:
            await delete_one(api, node, "Background")
        except ApiError as error:
            refusals.append(error)
    return refusals


async def release(api: Api, node: Node, owners: Sequence[str]) -> None:
    """Take these owners off this very object's list, if it is still there."""

    def without(obj: Wire) -> Wire:
        kept = [
            one for one in metadata(obj).get("ownerReferences") or [] if one["uid"] not in owners
        ]
        return _with_metadata(obj, "ownerReferences", kept)

    await revise_one(api, node, without)


async def unblock(api: Api, node: Node) -> None:
    """Let the owners of this very object go before it, if it is still there."""

    def unblocking(obj: Wire) -> Wire:
        owners = metadata(obj).get("ownerReferences") or []
        freed = [{**owner, "blockOwnerDeletion": False} for owner in owners]
        return _with_metadata(obj, "ownerReferences", freed)

    await revise_one(api, node, unblocking)


async def take_off_finalizer(api: Api, node: Node, finalizer: str) -> None:
    """Take this finalizer off this very object, if it is still there."""

    def without(obj: Wire) -> Wire:
        kept = [name for name in metadata(obj).get("finalizers") or [] if name != finalizer]
        return _with_metadata(obj, "finalizers", kept)

    await revise_one(api, node, without)


def _with_metadata(obj: Wire, key: str, value: list[Any]) -> Wire:
    meta = {name: kept for name, kept in metadata(obj).items() if name != key}
    if value:
        meta[key] = value
    return {**obj, "metadata": meta}


async def revise_one(api: Api, node: Node, change: Callable[[Wire], Wire]) -> None:
    """Change this very object, if it is still there."""
    call = _call_on(api, node)
    if call is not None:
        await revise(api, call, change, uid=node.uid)


async def revise(
    api: Api, call: Call, change: Callable[[Wire], Wire], *, uid: str | None = None
) -> None:
    """Change an object of ours to be, unless it is gone or (by uid) not the one meant.

    Nobody is asked about a change that is none: a webhook that is dead has no part in it.
    """
    form = Form(api, call, WriteOptions(field_manager=MANAGER))

    async def decide(old: Wire | None) -> Verdict:
        if old is None:
            raise _Vanished
        if uid is not None and metadata(old)["uid"] != uid:
            return Leave(old)
        wanted = change(old)
        return Leave(old) if wanted == old else await formed_update(form, wanted, old)

    try:
        await write_admitted(api, call.resource, call.key(), decide)
    except _Vanished:
        return


class _Vanished(Exception):
    """The object is gone; there is nothing left to do."""
