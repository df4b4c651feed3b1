"""Clusters and their taints: by condition, and by ClusterTaintPolicies."""

from functools import partial

from atoll.client.api import Refused, Wire
from atoll.control.hub import CLUSTER, POLICY, Hub, meant_otherwise
from atoll.control.loop import Controller, Loop
from atoll.control.taints import decide
from atoll.model.action import Action, Ref, Tell, Update

TAINT_POLICY = "ClusterTaintPolicy"


def tainting(hub: Hub) -> Loop[str]:
    """The loop that keeps the taints of clusters, by name."""
    controller = Controller(
        "taints",
        partial(_observe, hub),
        lambda seen: decide.plan(seen, hub.now),
        partial(_refused, hub),
    )
    loop: Loop[str] = Loop(controller, hub.performer, hub.turns)

    def cluster_changed(before: Wire | None, after: Wire | None) -> None:
        if after is None:
            return
        if meant_otherwise(before, after) or _conditions(before) != _conditions(after):
            loop.wake(after["metadata"]["name"])

    def policy_changed(before: Wire | None, after: Wire | None) -> None:
        if meant_otherwise(before, after):
            for cluster in hub.plane.all(CLUSTER, "Cluster"):
                loop.wake(cluster["metadata"]["name"])

    hub.hear("Cluster", cluster_changed)
    if hub.features.Failover:
        hub.hear(TAINT_POLICY, policy_changed)
    return loop


def _observe(hub: Hub, name: str) -> decide.SeenCluster | None:
    cluster = hub.plane.find(Ref(CLUSTER, "Cluster", "", name))
    if cluster is None:
        return None
    policies = hub.plane.all(POLICY, TAINT_POLICY) if hub.features.Failover else []
    return decide.SeenCluster(cluster, policies)


def _refused(hub: Hub, action: Action, refusal: Refused) -> bool:
    if isinstance(action, Update):
        told = Tell(action.object, decide.NOT_TAINTED, str(refusal), warning=True)
        hub.performer.tell_later(told)
    return False


def _conditions(cluster: Wire | None) -> list[tuple[str, str]]:
    found = ((cluster or {}).get("status") or {}).get("conditions") or ()
    return [(each.get("type", ""), each.get("status", "")) for each in found]
