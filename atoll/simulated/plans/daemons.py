"""DaemonSets: one pod on every node that suits, whatever else is there.

A daemon set and what is remembered of its templates come in; what to do next goes out. Its pods put
up with what Kubernetes itself says of nodes in trouble, and are each meant for one node.
"""

from atoll.simulated.plans.census import REVISION, Pod
from atoll.simulated.plans.revisions import forgotten, remembered, template_hash
from atoll.simulated.plans.setting import Setting, share, without_zeros
from atoll.simulated.plans.steps import PODS, Make, Plan, Step, ends_of, owner, status_change
from atoll.wire import Wire

COLLECTION = "daemonsets.apps"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TOLERATED = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": effect}
    for what, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]


def plan(workload: Wire, revisions: list[Wire], setting: Setting) -> Plan:
    """What to do next about a daemon set of which these templates are remembered."""
    spec, meta = workload["spec"], workload["metadata"]
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    steps = remembered(workload, revisions, labels, REVISION)
    if steps:
        return Plan(steps)
    template = _tolerant(spec["template"])
    wanted, lasting = setting.daemon_nodes(setting.mould(template, meta["namespace"]).claim)
    pods = setting.pods_of(meta["uid"])
    steps = _surplus(pods, lasting) + _missing(workload, template, wanted, setting)
    steps = steps or _outdated(workload, pods, wanted, setting)
    if steps:
        return Plan(steps)
    fresh = _status(workload, pods, set(wanted), setting)
    used = {f"{meta['name']}-{pod.revision}" for pod in pods}
    used.add(f"{meta['name']}-{template_hash(spec['template'])}")
    steps = status_change(COLLECTION, workload, fresh) + forgotten(workload, revisions, used)
    wait_s = spec.get("minReadySeconds") or 0
    unripe = fresh["numberReady"] > fresh.get("numberAvailable", 0)
    return Plan(steps, wait_s if unripe else None)


def _tolerant(template: Wire) -> Wire:
    spec = template["spec"]
    return {
        **template,
        "spec": {**spec, "tolerations": [*(spec.get("tolerations") or ()), *_TOLERATED]},
    }


def _surplus(pods: list[Pod], lasting: set[str]) -> list[Step]:
    """The pods that have ended, that may not stay where they are, and the second on a node."""
    kept: set[str] = set()
    steps: list[Step] = []
    for pod in pods:
        if pod.ending:
            continue
        if pod.has_ended or pod.target not in lasting or pod.target in kept:
            steps += ends_of([pod])
        else:
            kept.add(pod.target)
    return steps


def _missing(workload: Wire, template: Wire, wanted: list[str], setting: Setting) -> list[Step]:
    meta, namespace = workload["metadata"], workload["metadata"]["namespace"]
    there = {pod.target for pod in setting.pods_of(meta["uid"])}
    steps: list[Step] = []
    for node in wanted:
        if node in there:
            continue
        mould = setting.mould(_meant_for(template, node), namespace)
        pod = mould.pod(namespace, f"{meta['name'][:57]}-{setting.suffix()}", owner(workload))
        pod["metadata"]["labels"][REVISION] = template_hash(workload["spec"]["template"])
        steps.append(Make(PODS, pod, mould))
    return steps


def _meant_for(template: Wire, node: str) -> Wire:
    """The template of the pod for one node."""
    spec = template["spec"]
    affinity = spec.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    terms = (of_nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    by_name = {"key": "metadata.name", "operator": "In", "values": [node]}
    pinned = {"nodeSelectorTerms": [{**term, "matchFields": [by_name]} for term in terms]}
    pinned_affinity = {**affinity, "nodeAffinity": {**of_nodes, _REQUIRED: pinned}}
    return {**template, "spec": {**spec, "affinity": pinned_affinity}}


def _outdated(workload: Wire, pods: list[Pod], wanted: list[str], setting: Setting) -> list[Step]:
    """The pods to be replaced now: those that serve nobody, and as many more as may be missing."""
    strategy = workload["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return []
    newest = template_hash(workload["spec"]["template"])
    rolling = strategy.get("rollingUpdate") or {}
    most = max(1, share(rolling.get("maxUnavailable", 1), len(wanted), up=True))
    serving = [pod for pod in pods if pod.is_ready and not pod.ending]
    spare = most - max(0, len(wanted) - len(serving))
    steps: list[Step] = []
    for pod in pods:
        if pod.ending or pod.revision == newest:
            continue
        if pod.is_ready:
            if spare <= 0:
                continue
            spare -= 1
        steps += ends_of([pod])
    return steps


def _status(workload: Wire, pods: list[Pod], wanted: set[str], setting: Setting) -> Wire:
    newest = template_hash(workload["spec"]["template"])
    there = [pod for pod in pods if pod.is_active]
    due = [pod for pod in there if pod.target in wanted]
    ready = [pod for pod in due if pod.is_ready]
    available = setting.available(ready, workload["spec"].get("minReadySeconds") or 0)
    return {
        "currentNumberScheduled": len(due),
        "numberMisscheduled": len(there) - len(due),
        "desiredNumberScheduled": len(wanted),
        "numberReady": len(ready),
    } | without_zeros(
        observedGeneration=workload["metadata"].get("generation"),
        updatedNumberScheduled=sum(pod.revision == newest for pod in due),
        numberAvailable=available,
        numberUnavailable=len(wanted) - available,
    )
