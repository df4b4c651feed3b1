"""What every cluster has from the start: namespaces, priorities, roles, and its own Service."""

from collections.abc import Coroutine, Iterable
from typing import Any

from atoll.apiserver.access.default_roles import BINDINGS, ROLES, completed
from atoll.apiserver.admission import Kinds
from atoll.apiserver.housekeeping.acting import call_on, ensure, revise
from atoll.apiserver.housekeeping.own_service import advertise
from atoll.apiserver.kinds.scheduling import SYSTEM
from atoll.apiserver.verbs.call import Api
from atoll.runtime.children import Children
from atoll.wire import Object

PRIORITIES = "priorityclasses.scheduling.k8s.io"
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_USED_FOR = {
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can"
    " be moved to another node if necessary.",
    "system-node-critical": "Used for system critical pods that must not be moved from their"
    " current node.",
}


async def bootstrap(api: Api, kinds: Kinds) -> None:
    """Create what is missing of what must be there, with what goes with the server's own kinds."""
    spaces = [{"metadata": {"name": name}} for name in (*NAMESPACES, *kinds.namespaces)]
    await _together(ensure(api, "namespaces", space) for space in spaces)
    await advertise(api)
    priorities = [
        {"metadata": {"name": name}, "value": value, "description": _USED_FOR[name]}
        for name, value in SYSTEM.items()
    ]
    await _together(ensure(api, PRIORITIES, priority) for priority in priorities)
    await _together(_complete(api, *one) for one in (*ROLES, *BINDINGS, *kinds.roles))


async def _together(steps: Iterable[Coroutine[Any, Any, None]]) -> None:
    """All of them at once, so that they become durable at once."""
    async with Children("what every cluster has") as children:
        for task in [children.spawn(step, "one of it") for step in steps]:
            await task


async def _complete(api: Api, collection: str, wanted: Object) -> None:
    """Have this role or binding, and in it at least what it shall have."""
    resource = api.catalog.of_collection(collection)
    assert resource is not None, "roles are always served"
    call = call_on(resource, wanted["metadata"].get("namespace", ""), wanted["metadata"]["name"])
    if api.store.get(collection, call.key()) is None:
        await ensure(api, collection, wanted)
    else:
        await revise(api, call, lambda old: completed(old, wanted))
