"""ReplicaSets, and ReplicationControllers, the elder ones, whose selectors are plain labels.

Ended pods and those that are being deleted do not count. Which go first when there are too many is
as in Kubernetes: those without a node, not running, not ready, and then the youngest.
"""

from atoll.apiserver.objects.conditions import condition, since
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.simulated.plans.census import Pod
from atoll.simulated.plans.setting import Setting, without_zeros
from atoll.simulated.plans.steps import (
    PODS,
    Change,
    Make,
    Plan,
    Step,
    ends_of,
    owner,
    status_change,
)
from atoll.wire import Wire

COLLECTION, CONTROLLERS = "replicasets.apps", "replicationcontrollers"
FAILURE = "ReplicaFailure"


def plan(replica_set: Wire, setting: Setting, collection: str = COLLECTION) -> Plan:
    """What to do about a replica set, or a controller, that nobody else looks after."""
    if collection == CONTROLLERS:
        spec = replica_set["spec"]
        selector = {"matchLabels": spec["selector"]}
        replica_set = {**replica_set, "spec": {**spec, "selector": selector}}
    pods = setting.pods_of(replica_set["metadata"]["uid"])
    steps = pod_steps(replica_set, pods, setting)
    if steps:
        return Plan(steps)
    fresh = status(replica_set, pods, setting)
    # Pods that are ready and not yet available are waited for.
    unripe = fresh.get("readyReplicas", 0) > fresh.get("availableReplicas", 0)
    again_s = (replica_set["spec"].get("minReadySeconds") or 0) if unripe else None
    return Plan(status_change(collection, replica_set, fresh), again_s)


def pod_steps(replica_set: Wire, pods: list[Pod], setting: Setting) -> list[Step]:
    """The pods that change hands; then those that are missing, or too many."""
    spec, meta = replica_set["spec"], replica_set["metadata"]
    steps = _changing_hands(replica_set, pods, setting)
    if steps:
        return steps
    active = [pod for pod in pods if pod.is_active]
    missing = int(spec.get("replicas", 1)) - len(active)
    if missing > 0 and setting.refusal:
        return []
    if missing > 0:
        mould = setting.mould(spec["template"], meta["namespace"])
        mine = owner(replica_set)
        return [
            Make(PODS, mould.pod(meta["namespace"], _name(meta, setting), mine), mould)
            for _ in range(missing)
        ]
    return ends_of(sorted(active, key=_worth)[: max(0, -missing)])


def _changing_hands(replica_set: Wire, pods: list[Pod], setting: Setting) -> list[Step]:
    """Pods that the selector means no more are let go; those it means and nobody has are taken."""
    spec, meta = replica_set["spec"], replica_set["metadata"]
    selector, mine = label_selector(spec["selector"], ""), owner(replica_set)
    let_go: list[Step] = [
        Change((PODS, pod.key), pod.uid, {"disowned": meta["uid"]})
        for pod in pods
        if not selector.matches(pod.labels)
    ]
    taken = [
        Change((PODS, pod.key), pod.uid, {"owned": mine})
        for pod in setting.strays(meta["namespace"])
        if pod.is_active and selector.matches(pod.labels)
    ]
    return let_go + taken


def _name(meta: Wire, setting: Setting) -> str:
    return f"{meta['name'][:57]}-{setting.suffix()}"


def _worth(pod: Pod) -> tuple[bool, bool, bool, int]:
    """The least is the first to go."""
    return (bool(pod.node), pod.phase == "Running", pod.is_ready, -pod.born)


def status(replica_set: Wire, pods: list[Pod], setting: Setting) -> Wire:
    """What is told of a replica set with these pods."""
    spec = replica_set["spec"]
    active = [pod for pod in pods if pod.is_active]
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    told = conditions(replica_set, pods, setting)
    counts = {"replicas": len(active)} | without_zeros(
        fullyLabeledReplicas=sum(labels.items() <= pod.labels.items() for pod in active),
        readyReplicas=sum(pod.is_ready for pod in active),
        availableReplicas=setting.available(active, spec.get("minReadySeconds") or 0),
        observedGeneration=replica_set["metadata"].get("generation"),
    )
    return counts | ({"conditions": told} if told else {})


def conditions(replica_set: Wire, pods: list[Pod], setting: Setting) -> list[Wire]:
    """What others told; and that pods could not be made, for as long as that is so."""
    known = (replica_set.get("status") or {}).get("conditions") or []
    rest = [one for one in known if one.get("type") != FAILURE]
    is_short = sum(pod.is_active for pod in pods) < int(replica_set["spec"].get("replicas", 1))
    if not (is_short and setting.refusal):
        return rest
    # As it was first told: which pod it was about does not matter.
    there = next((one for one in known if one.get("type") == FAILURE), None)
    fresh = condition(FAILURE, "FailedCreate", setting.refusal, holds=True)
    return [*rest, there or since(fresh, known, setting.now)]
