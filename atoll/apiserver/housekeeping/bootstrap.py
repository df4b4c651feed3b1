"""What every cluster has from the start: namespaces, priorities, roles, its Service and its CA.

The Service is `kubernetes` in `default`, with Endpoints and EndpointSlice, for where the server is
reached; these are brought up to date at every start, and whenever somebody changes or removes them.
What they are is not for clients to decide, so they are written without the way of a request. Every
namespace has the CA in a ConfigMap, for pods to mount.
"""

import ipaddress
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from atoll.apiserver.access.default_roles import BINDINGS, ROLES, completed
from atoll.apiserver.admission import Kinds
from atoll.apiserver.housekeeping.acting import Upkeep, call_on, ensure, revise
from atoll.apiserver.kinds.scheduling import SYSTEM
from atoll.apiserver.objects.metadata import stamped
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.writing import Leave, Save, Verdict, same, write
from atoll.runtime.children import Children
from atoll.store.record import Event
from atoll.wire import Wire

NAMESPACE, NAME = "default", "kubernetes"
ADDRESS, RANGE = "10.96.0.1", "10.96.0.0/16"
_HTTPS = 443


def described(url: str, now: str) -> dict[str, Wire]:
    """The objects that say where a server is, by collection; none of what is no IP address."""
    place = urlsplit(url)
    try:
        host = ipaddress.ip_address(place.hostname or "")
    except ValueError:
        return {}
    port = {"name": "https", "port": place.port or _HTTPS, "protocol": "TCP"}
    served = {"name": "https", "protocol": "TCP", "port": _HTTPS, "targetPort": port["port"]}
    return {
        "services": {
            "metadata": _head(component="apiserver", provider="kubernetes"),
            "spec": {
                "clusterIP": ADDRESS,
                "clusterIPs": [ADDRESS],
                "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "ports": [served],
                "sessionAffinity": "None",
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        },
        "endpoints": {
            "metadata": _head(**{"endpointslice.kubernetes.io/skip-mirror": "true"}),
            "subsets": [{"addresses": [{"ip": str(host)}], "ports": [port]}],
        },
        "endpointslices.discovery.k8s.io": {
            "metadata": _head(**{"kubernetes.io/service-name": NAME}),
            "addressType": f"IPv{host.version}",
            "endpoints": [{"addresses": [str(host)], "conditions": {"ready": True}}],
            "ports": [port],
        },
        "servicecidrs.networking.k8s.io": {
            "metadata": {"name": NAME},
            "spec": {"cidrs": [RANGE]},
            "status": {"conditions": [{**_READY, "lastTransitionTime": now}]},
        },
    }


_READY = {
    "type": "Ready",
    "status": "True",
    "reason": "",
    "message": "Kubernetes default Service CIDR is ready",
}


def _head(**labels: str) -> Wire:
    return {"name": NAME, "namespace": NAMESPACE, "labels": labels}


async def advertise(api: Api) -> None:
    """Have the objects that say where this server is, as it is now."""
    for collection, wanted in described(api.signing.url, api.timestamp()).items():
        await _write(api, collection, wanted)


class OwnService(Upkeep):
    """Follows these objects, and makes or mends them."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "own service")
        self._keys = {
            (collection, f"{NAMESPACE}/{NAME}" if "namespace" in wanted["metadata"] else NAME)
            for collection, wanted in described(api.signing.url, api.timestamp()).items()
        }

    def load(self) -> None:
        """They are made before anybody comes in."""

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            record = event.after
            if (record.collection, record.name) in self._keys:
                self._work.add(record.collection)

    async def _look(self, collection: str) -> None:
        wanted = described(self._api.signing.url, self._api.timestamp())
        await _write(self._api, collection, wanted[collection])


async def _write(api: Api, collection: str, wanted: Wire) -> None:
    call = call_on(api, collection, NAMESPACE, NAME)

    def decide(old: Wire | None) -> Verdict:
        if old is None:
            uid, now = api.effects.chance.uuid("uid"), api.timestamp()
            return Save(stamped(wanted, call.resource, namespace=NAMESPACE, uid=uid, now=now))
        ours = {key: part for key, part in wanted.items() if key not in ("metadata", "status")}
        fresh = {**old, **ours}
        return Leave(old) if same(fresh, old) else Save(fresh)

    await write(api, call.resource, call.key(), decide)


PRIORITIES = "priorityclasses.scheduling.k8s.io"
BOOTSTRAP_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_USED_FOR = {
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can"
    " be moved to another node if necessary.",
    "system-node-critical": "Used for system critical pods that must not be moved from their"
    " current node.",
}


async def bootstrap(api: Api, kinds: Kinds) -> None:
    """Create what is missing of what must be there, with what goes with the server's own kinds."""
    spaces = [{"metadata": {"name": name}} for name in (*BOOTSTRAP_NAMESPACES, *kinds.namespaces)]
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


async def _complete(api: Api, collection: str, wanted: Wire) -> None:
    """Have this role or binding, and in it at least what it shall have."""
    meta = wanted["metadata"]
    call = call_on(api, collection, meta.get("namespace", ""), meta["name"])
    if api.store.get(collection, call.key()) is None:
        await ensure(api, collection, wanted)
    else:
        await revise(api, call, lambda old: completed(old, wanted))
