"""StatefulSets: pods with numbers and volumes of their own, one after the other if so wished.

A stateful set and what is remembered of its templates come in; what to do next goes out. A pod that
is being deleted still has its number: no other of that number is made before it is gone.
"""

from atoll.simulated.plans.census import REVISION, Pod
from atoll.simulated.plans.revisions import forgotten, remembered, template_hash
from atoll.simulated.plans.setting import Setting, without_zeros
from atoll.simulated.plans.steps import PODS, Make, Plan, Step, ends_of, owner, status_change
from atoll.wire import Wire

COLLECTION, CLAIMS = "statefulsets.apps", "persistentvolumeclaims"
_POD_NAME, _POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


def plan(workload: Wire, revisions: list[Wire], setting: Setting) -> Plan:
    """What to do next about a stateful set of which these templates are remembered."""
    labels = workload["spec"]["selector"].get("matchLabels") or {}
    steps = remembered(workload, revisions, labels)
    if steps:
        return Plan(steps)
    pods = setting.pods_of(workload["metadata"]["uid"])
    by_ordinal = {pod.ordinal: pod for pod in pods}
    steps = (
        _missing(workload, by_ordinal, revisions, setting)
        or _too_many(workload, by_ordinal)
        or _outdated(workload, by_ordinal)
    )
    if steps:
        return Plan(steps)
    fresh = _status(workload, pods, setting)
    used = {pod.revision for pod in pods} | {fresh["currentRevision"], fresh["updateRevision"]}
    steps = status_change(COLLECTION, workload, fresh) + forgotten(workload, revisions, used)
    wait_s = workload["spec"].get("minReadySeconds") or 0
    unripe = fresh.get("readyReplicas", 0) > fresh["availableReplicas"]
    return Plan(steps, wait_s if unripe else None)


def _ordinals(workload: Wire) -> range:
    spec = workload["spec"]
    start = int((spec.get("ordinals") or {}).get("start", 0))
    return range(start, start + int(spec.get("replicas", 1)))


def _is_ordered(workload: Wire) -> bool:
    return bool(workload["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady")


def _newest(workload: Wire) -> str:
    return f"{workload['metadata']['name']}-{template_hash(workload['spec']['template'])}"


def _partition(workload: Wire) -> int:
    strategy = workload["spec"].get("updateStrategy") or {}
    return int((strategy.get("rollingUpdate") or {}).get("partition", 0))


def _missing(
    workload: Wire, pods: dict[int, Pod], revisions: list[Wire], setting: Setting
) -> list[Step]:
    """The pods to make now: the first that is not there, or all of them."""
    steps: list[Step] = []
    for ordinal in _ordinals(workload):
        pod = pods.get(ordinal)
        if pod is None:
            steps += _made(workload, ordinal, revisions, setting)
        elif pod.has_ended and not pod.ending:
            steps += ends_of([pod])
        if _is_ordered(workload) and (pod is None or pod.ending or not pod.is_ready):
            break
    return steps


def _made(workload: Wire, ordinal: int, revisions: list[Wire], setting: Setting) -> list[Step]:
    spec, meta = workload["spec"], workload["metadata"]
    name, namespace = f"{meta['name']}-{ordinal}", meta["namespace"]
    revision, template = _template(workload, ordinal, revisions)
    mould = setting.mould(template, namespace)
    claims = spec.get("volumeClaimTemplates") or []
    named = {one["metadata"]["name"] for one in claims}
    volumes = [one for one in mould.spec.get("volumes") or () if one["name"] not in named]
    volumes += [
        {"name": one, "persistentVolumeClaim": {"claimName": f"{one}-{name}"}}
        for one in sorted(named)
    ]
    more: Wire = {"hostname": name, "subdomain": spec.get("serviceName", "")}
    if volumes:
        more["volumes"] = volumes
    pod = mould.pod(namespace, name, owner(workload), **more)
    pod["metadata"]["labels"] |= {REVISION: revision, _POD_NAME: name, _POD_INDEX: str(ordinal)}
    made: list[Step] = [Make(CLAIMS, _claim(one, name, workload)) for one in claims]
    return [*made, Make(PODS, pod, mould)]


def _claim(template: Wire, pod: str, workload: Wire) -> Wire:
    meta = template["metadata"]
    labels = {
        **(meta.get("labels") or {}),
        **(workload["spec"]["selector"].get("matchLabels") or {}),
    }
    return {
        "metadata": {
            **meta,
            "name": f"{meta['name']}-{pod}",
            "namespace": workload["metadata"]["namespace"],
            "labels": labels,
        },
        "spec": template["spec"],
        "status": {"phase": "Pending"},
    }


def _template(workload: Wire, ordinal: int, revisions: list[Wire]) -> tuple[str, Wire]:
    """The template a pod of this number is made from: below the partition it is the old one."""
    newest = _newest(workload)
    before = (workload.get("status") or {}).get("currentRevision", newest)
    if before != newest and ordinal < _partition(workload):
        for one in revisions:
            if one["metadata"]["name"] == before:
                template: Wire = dict(one["data"]["spec"]["template"])
                template.pop("$patch", None)
                return before, template
    return newest, workload["spec"]["template"]


def _too_many(workload: Wire, pods: dict[int, Pod]) -> list[Step]:
    """The pods that are not wanted: the last of them, or all."""
    wanted = _ordinals(workload)
    extra = sorted((number for number in pods if number not in wanted), reverse=True)
    if _is_ordered(workload):
        extra = extra[:1]
    return ends_of(pods[number] for number in extra if not pods[number].ending)


def _outdated(workload: Wire, pods: dict[int, Pod]) -> list[Step]:
    """The next pod to be replaced by one of the newest template, from the last on down."""
    strategy = (workload["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate")
    if strategy != "RollingUpdate":
        return []
    newest = _newest(workload)
    for ordinal in reversed(_ordinals(workload)):
        pod = pods.get(ordinal)
        if ordinal < _partition(workload) or pod is None:
            break
        if pod.revision != newest and not pod.ending:
            return ends_of([pod])
        if pod.ending or not pod.is_ready:
            break
    return []


def _status(workload: Wire, pods: list[Pod], setting: Setting) -> Wire:
    newest = _newest(workload)
    current = (workload.get("status") or {}).get("currentRevision", newest)
    ready = [pod for pod in pods if pod.is_ready]
    updated = sum(pod.revision == newest and not pod.ending for pod in pods)
    if updated == len(pods) == len(ready):
        current = newest
    return {
        "replicas": len(pods),
        "availableReplicas": setting.available(ready, workload["spec"].get("minReadySeconds") or 0),
        "currentRevision": current,
        "updateRevision": newest,
        "collisionCount": 0,
    } | without_zeros(
        observedGeneration=workload["metadata"].get("generation"),
        readyReplicas=len(ready),
        currentReplicas=sum(pod.revision == current and not pod.ending for pod in pods),
        updatedReplicas=updated,
    )
