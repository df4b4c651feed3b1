"""Services: an address of their own, and the pods behind it as Endpoints and EndpointSlices.

A service, the pods of its namespace and what is told of them so far come in; steps go out. Traffic
is not carried by anyone.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from atoll.simulated.plans.census import Pod
from atoll.simulated.plans.revisions import template_hash
from atoll.simulated.plans.steps import Change, End, Make, Step, key_of, owner

Object = dict[str, Any]
Lookup = Callable[[str, str], Object | None]
"""A collection and a name in it -> the object that is there."""
Ports = Callable[[Pod, str], int]
"""A pod and the name of a port -> its number, 0 if it has none."""

COLLECTION, ENDPOINTS, SLICES = "services", "endpoints", "endpointslices.discovery.k8s.io"
_SLICE_MOST = 100
_OF_SERVICE = "kubernetes.io/service-name"
_MANAGED = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}


def load_balancer(service: Object) -> Object:
    """A load balancer has an address (of those set apart for tests); other services have none."""
    old = service.get("status") or {}
    if service["spec"].get("type") != "LoadBalancer":
        return {**old, "loadBalancer": {}}
    meta = service["metadata"]
    drawn = zlib.crc32(f"{meta.get('namespace')}/{meta['name']}".encode())
    address = f"198.{18 + (drawn >> 16) % 2}.{(drawn >> 8) % 256}.{drawn % 254 + 1}"
    return {**old, "loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}


def selected(service: Object, pods: Iterable[Pod]) -> list[Pod]:
    """The pods behind a service, by name: those it selects that have an address."""
    wanted = (service.get("spec") or {}).get("selector") or {}
    found = [
        pod for pod in pods if pod.ip and not pod.has_ended and wanted.items() <= pod.labels.items()
    ]
    return sorted(found, key=lambda pod: pod.key) if wanted else []


def endpoint_steps(service: Object, pods: list[Pod], port: Ports, there: Lookup) -> list[Step]:
    """What to write of the pods behind a service."""
    if not service["spec"].get("selector"):
        return []
    meta = service["metadata"]
    place = f"{meta['namespace']}/{meta['name']}"
    subsets = {"subsets": _subsets(service, pods, port)}
    labels = meta.get("labels") or {}
    head = {"name": meta["name"], "namespace": meta["namespace"], "labels": dict(labels)}
    return _written(ENDPOINTS, there(ENDPOINTS, place), {"metadata": head, **subsets}, subsets)


def slice_steps(service: Object, pods: list[Pod], port: Ports, there: Lookup) -> list[Step]:
    """The same in slices of at most a hundred; those that are not needed any more go."""
    if not service["spec"].get("selector"):
        return []
    meta = service["metadata"]
    steps: list[Step] = []
    number = 0
    while True:
        some = pods[number * _SLICE_MOST : (number + 1) * _SLICE_MOST]
        name = f"{meta['name']}-{template_hash([meta['uid'], number])[:5]}"
        found = there(SLICES, f"{meta['namespace']}/{name}")
        if not some and number:
            if found is None:
                return steps
            steps.append(End(key_of(SLICES, found), found["metadata"]["uid"]))
        else:
            told = {
                "endpoints": [_endpoint(pod) for pod in some],
                "ports": _ports(service, some[0] if some else None, port, named=True),
            }
            made = {
                "metadata": {
                    "name": name,
                    "namespace": meta["namespace"],
                    "labels": {**(meta.get("labels") or {}), _OF_SERVICE: meta["name"], **_MANAGED},
                    "ownerReferences": [owner(service)],
                },
                "addressType": "IPv4",
                **told,
            }
            steps += _written(SLICES, found, made, told)
        number += 1


def _written(
    collection: str, there: Object | None, made: Object, parts: Mapping[str, Any]
) -> list[Step]:
    if there is None:
        return [Make(collection, made)]
    if all(there.get(key) == value for key, value in parts.items()):
        return []
    return [Change(key_of(collection, there), there["metadata"]["uid"], parts)]


def _subsets(service: Object, pods: list[Pod], port: Ports) -> list[Object]:
    if not pods:
        return []
    tells_all = service["spec"].get("publishNotReadyAddresses")
    lists = {
        "addresses": [pod for pod in pods if tells_all or _serves(pod)],
        "notReadyAddresses": [pod for pod in pods if not tells_all and not _serves(pod)],
    }
    told: Object = {
        name: [{"ip": pod.ip, "nodeName": pod.node, "targetRef": _reference(pod)} for pod in some]
        for name, some in lists.items()
        if some
    }
    ports = _ports(service, pods[0], port, named=False)
    return [told | ({"ports": ports} if ports else {})]


def _serves(pod: Pod) -> bool:
    return pod.is_ready and not pod.ending


def _endpoint(pod: Pod) -> Object:
    return {
        "addresses": [pod.ip],
        "conditions": {
            "ready": _serves(pod),
            "serving": pod.is_ready,
            "terminating": pod.ending,
        },
        "nodeName": pod.node,
        "targetRef": _reference(pod),
    }


def _reference(pod: Pod) -> Object:
    namespace, _, name = pod.key.partition("/")
    return {"kind": "Pod", "name": name, "namespace": namespace, "uid": pod.uid}


def _ports(service: Object, pod: Pod | None, port: Ports, *, named: bool) -> list[Object]:
    """The ports behind a service; those of a name are where the first pod has them."""
    found = []
    for one in service["spec"].get("ports") or ():
        target = one.get("targetPort") or one["port"]
        number = target if isinstance(target, int) else port(pod, target) if pod else 0
        if number:
            name = {"name": one.get("name", "")} if named or one.get("name") else {}
            found.append(name | {"port": number, "protocol": one.get("protocol", "TCP")})
    return found
