"""Replicas that a cluster found no node for, asked of its API server when somebody wants to know.

A workload and a moment come in; how many of its pods have been unschedulable since before then goes
out. Of a Deployment only the pods of its present revision count, as in Karmada.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

import orjson

from atoll.client.api import ApiClient
from atoll.client.collection import Collection
from atoll.client.refusals import refusal
from atoll.dialects.wire import instant
from atoll.members.following import PODS
from atoll.wire import Object

_APPS = "apps/v1"
REPLICA_SETS = Collection(_APPS, "ReplicaSet", "replicasets", namespaced=True)
_DEPLOYMENTS = Collection(_APPS, "Deployment", "deployments", namespaced=True)
_KNOWN = (
    _DEPLOYMENTS,
    REPLICA_SETS,
    Collection(_APPS, "StatefulSet", "statefulsets", namespaced=True),
    Collection("batch/v1", "Job", "jobs", namespaced=True),
)
WORKLOADS = {(each.api_version, each.kind): each for each in _KNOWN}
_REVISION = "deployment.kubernetes.io/revision"
_PAGE = "500"


async def stuck(
    api: ApiClient, workloads: Collection, place: tuple[str, str], before: float
) -> int:
    """How many pods of a workload have been unschedulable since before that moment."""
    workload = await api.get(workloads.path(*place))
    selector = selecting((workload.get("spec") or {}).get("selector") or {})
    owner: Object = workload
    if workloads is _DEPLOYMENTS:
        sets = await _selected(api, REPLICA_SETS, place[0], selector)
        present = [each for each in _owned(sets, workload) if _revision(each) == _revision(owner)]
        if not present:
            return 0
        owner = present[0]
    pods = _owned(await _selected(api, PODS, place[0], selector), owner)
    return sum(is_unschedulable(each, before) for each in pods)


def is_unschedulable(pod: Object, before: float) -> bool:
    """Whether no node was found for a pod, since before that moment."""
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("reason") == "Unschedulable":
            since = instant(each, "lastTransitionTime", "status.conditions")
            return each.get("status") == "False" and (since or 0) / 1e9 < before
    return False


def selecting(selector: Object) -> str:
    """A label selector as a query has it."""
    found = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        key, values = each["key"], ",".join(each.get("values") or ())
        match each["operator"]:
            case "Exists":
                found.append(key)
            case "DoesNotExist":
                found.append(f"!{key}")
            case operator:
                found.append(f"{key} {operator.lower()} ({values})")
    return ",".join(found)


async def _selected(
    api: ApiClient, collection: Collection, namespace: str, selector: str
) -> list[Object]:
    found: list[Object] = []
    query = {"limit": _PAGE, "labelSelector": selector}
    while True:
        answer = await api.read(collection.path(namespace), urlencode(query))
        if answer.status != 200:
            raise refusal(answer.status, answer.body)
        listed = orjson.loads(answer.body)
        found += listed.get("items") or ()
        rest = (listed.get("metadata") or {}).get("continue")
        if not rest:
            return found
        query["continue"] = rest


def _owned(objects: Sequence[Object], owner: Object) -> list[Object]:
    uid = owner["metadata"]["uid"]
    return [
        each
        for each in objects
        if any(one.get("uid") == uid for one in each["metadata"].get("ownerReferences") or ())
    ]


def _revision(wire: Object) -> str:
    return str((wire["metadata"].get("annotations") or {}).get(_REVISION, ""))
