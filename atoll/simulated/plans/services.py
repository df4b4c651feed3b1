"""Services: an address of their own, and the pods behind it as Endpoints and EndpointSlices.

A service, the pods of its namespace and what is told of them so far come in; steps go out. Traffic
is not carried by anyone.
"""

import zlib
from collections.abc import Callable, Iterable

from atoll.simulated.plans import slices
from atoll.simulated.plans.census import Pod
from atoll.simulated.plans.slices import Portion, Source
from atoll.simulated.plans.steps import Change, Make, Step, key_of
from atoll.wire import Wire

Ports = Callable[[Pod, str, str], int]
"""A pod, the name of a port and its protocol -> its number, 0 if it has none."""
Group = tuple[list[Wire], list[Pod]]
"""Ports of a service, and the pods that have just these."""

COLLECTION, ENDPOINTS = "services", "endpoints"
MANAGER = "endpointslice-controller.k8s.io"
_SLICE_MOST = 100
_MANAGED = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
_HEADLESS = "service.kubernetes.io/headless"


def load_balancer(service: Wire) -> Wire:
    """A load balancer has an address (of those set apart for tests); other services have none."""
    old = service.get("status") or {}
    if service["spec"].get("type") != "LoadBalancer":
        return {**old, "loadBalancer": {}}
    meta = service["metadata"]
    drawn = zlib.crc32(f"{meta.get('namespace')}/{meta['name']}".encode())
    address = f"198.{18 + (drawn >> 16) % 2}.{(drawn >> 8) % 256}.{drawn % 254 + 1}"
    return {**old, "loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}


def selected(service: Wire, pods: Iterable[Pod]) -> list[Pod]:
    """The pods behind a service, by name: those it selects that have an address."""
    wanted = (service.get("spec") or {}).get("selector") or {}
    found = [
        pod for pod in pods if pod.ip and not pod.has_ended and wanted.items() <= pod.labels.items()
    ]
    return sorted(found, key=lambda pod: pod.key) if wanted else []


def grouped(service: Wire, pods: Iterable[Pod], port: Ports) -> list[Group]:
    """These pods by the ports of the service that they have: a named one may be elsewhere."""
    found: list[Group] = []
    for pod in pods:
        ports = _ports(service, pod, port)
        same = next((each for known, each in found if known == ports), None)
        if same is None:
            found.append((ports, [pod]))
        else:
            same.append(pod)
    return found


def endpoint_steps(service: Wire, groups: list[Group], there: Wire | None) -> list[Step]:
    """What to write of the pods behind a service into its Endpoints, which are there or not."""
    meta = service["metadata"]
    subsets = {"subsets": [one for group in groups for one in _subsets(service, *group)]}
    if there is not None:
        if (there.get("subsets") or []) == subsets["subsets"]:
            return []
        return [Change(key_of(ENDPOINTS, there), there["metadata"]["uid"], subsets)]
    headless = {_HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
    labels = {**(meta.get("labels") or {}), **_MANAGED, **headless}
    head = {"name": meta["name"], "namespace": meta["namespace"], "labels": labels}
    return [Make(ENDPOINTS, {"metadata": head, **subsets})]


def slice_steps(service: Wire, groups: list[Group], there: list[Wire]) -> list[Step]:
    """The same in slices of at most a hundred, given those that are there."""
    portions = [
        Portion(ports, [_endpoint(service, pod) for pod in pods[first : first + _SLICE_MOST]])
        for ports, pods in groups
        for first in range(0, len(pods), _SLICE_MOST)
    ]
    return slices.steps(Source(service, MANAGER, {}), portions or [Portion([], [])], there)


def _subsets(service: Wire, ports: list[Wire], pods: list[Pod]) -> list[Wire]:
    """The subset of the pods with these ports; none if they have none of the service's."""
    tells_all = service["spec"].get("publishNotReadyAddresses")
    if not ports and service["spec"].get("ports"):
        return []
    lists = {
        "addresses": [pod for pod in pods if tells_all or _serves(pod)],
        "notReadyAddresses": [pod for pod in pods if not (tells_all or pod.is_ready or pod.ending)],
    }
    told: Wire = {
        name: [{"ip": pod.ip, "nodeName": pod.node, "targetRef": _reference(pod)} for pod in some]
        for name, some in lists.items()
        if some
    }
    if not told:
        return []
    named = [{key: value for key, value in port.items() if value} for port in ports]
    return [told | ({"ports": named} if named else {})]


def _serves(pod: Pod) -> bool:
    return pod.is_ready and not pod.ending


def _endpoint(service: Wire, pod: Pod) -> Wire:
    tells_all = bool(service["spec"].get("publishNotReadyAddresses"))
    return {
        "addresses": [pod.ip],
        "conditions": {
            "ready": tells_all or _serves(pod),
            "serving": pod.is_ready,
            "terminating": pod.ending,
        },
        "nodeName": pod.node,
        "targetRef": _reference(pod),
    }


def _reference(pod: Pod) -> Wire:
    namespace, _, name = pod.key.partition("/")
    return {"kind": "Pod", "name": name, "namespace": namespace, "uid": pod.uid}


def _ports(service: Wire, pod: Pod, port: Ports) -> list[Wire]:
    """The ports of a service on this pod, without those that it has not."""
    found = []
    for one in service["spec"].get("ports") or ():
        target, protocol = one.get("targetPort") or one["port"], one.get("protocol", "TCP")
        number = target if isinstance(target, int) else port(pod, target, protocol)
        if number:
            told = {"name": one.get("name", ""), "port": number, "protocol": protocol}
            more = {"appProtocol": one["appProtocol"]} if one.get("appProtocol") else {}
            found.append(told | more)
    return found
