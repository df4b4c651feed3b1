"""The status of what is one thing and not many pods: a pod, a volume claim, a load balancer.

As in `workloads`, the object and the time come in and its status goes out.
"""

import zlib
from collections.abc import Mapping
from typing import Any

from atoll.apiserver.objects.conditions import condition, since
from atoll.simulated.pods import Pods

Object = dict[str, Any]

_ENDED = ("Succeeded", "Failed")
_NO_ROOM = "0 nodes are available: no room for the pod."


def pod_status(pod: Mapping[str, Any], pods: Pods, now: str) -> Object:
    """A pod runs once it has room and has started; until then it is pending, and says why."""
    old = pod.get("status") or {}
    if old.get("phase") in _ENDED:
        return dict(old)
    known = old.get("conditions") or []
    runs = pods.ready > 0
    told = [_scheduled(has_room=pods.given > 0)]
    if pods.given:
        told.append(condition("Initialized", "", "", holds=True))
        why = "" if runs else "ContainersNotReady"
        told += [condition(kind, why, "", holds=runs) for kind in ("ContainersReady", "Ready")]
    stamped = [since(_without_empty(one), known, now) for one in told]
    found = {**old, "phase": "Running" if runs else "Pending", "conditions": stamped}
    if pods.given:
        found["startTime"] = old.get("startTime", now)
    if runs:
        before = {one["name"]: one for one in old.get("containerStatuses") or []}
        containers = (pod.get("spec") or {}).get("containers") or []
        found["containerStatuses"] = [
            before.get(one["name"]) or _container(one, now) for one in containers
        ]
    return found


def _scheduled(*, has_room: bool) -> Object:
    if has_room:
        return condition("PodScheduled", "", "", holds=True)
    return condition("PodScheduled", "Unschedulable", _NO_ROOM, holds=False)


def _without_empty(one: Object) -> Object:
    return {key: value for key, value in one.items() if value}


def _container(container: Mapping[str, Any], now: str) -> Object:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
        "lastState": {},
    }


def claim_status(claim: Mapping[str, Any], _pods: Pods, _now: str) -> Object:
    """A claim is bound at once, to exactly what it asks for."""
    spec = claim.get("spec") or {}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "0")
    return {
        **(claim.get("status") or {}),
        "phase": "Bound",
        "accessModes": spec.get("accessModes") or [],
        "capacity": {"storage": asked},
    }


def service_status(service: Mapping[str, Any], _pods: Pods, _now: str) -> Object:
    """A load balancer has an address (of those set apart for tests); other services have none."""
    old = service.get("status") or {}
    if (service.get("spec") or {}).get("type") != "LoadBalancer":
        return {**old, "loadBalancer": {}}
    meta = service["metadata"]
    drawn = zlib.crc32(f"{meta.get('namespace')}/{meta['name']}".encode())
    address = f"198.{18 + (drawn >> 16) % 2}.{(drawn >> 8) % 256}.{drawn % 254 + 1}"
    return {**old, "loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}
