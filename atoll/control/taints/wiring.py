"""Clusters and their taints: by condition, and by ClusterTaintPolicies."""

from functools import partial

from atoll.client.api import Refused
from atoll.control.hub import Hub, spec_changed
from atoll.control.loop import Controller, Loop
from atoll.control.taints import decide
from atoll.dialects.karmada.objects import kinds
from atoll.model.action import Action, Tell, Update
from atoll.model.member import Member
from atoll.model.policy import ClusterTaintPolicy

_ANY = ""


def tainting(hub: Hub) -> Loop[str]:
    """The loop that keeps the taints of clusters, by name."""
    controller = Controller(
        "taints",
        partial(_observe, hub),
        lambda seen: decide.plan(seen, hub.now),
        partial(_refused, hub),
    )
    loop: Loop[str] = Loop(controller, hub.performer, hub.turns)

    def cluster_changed(before: Member | None, after: Member | None) -> None:
        if after is None:
            return
        if spec_changed(before, after) or _conditions(before) != _conditions(after):
            loop.wake(after.name)

    def policy_changed(before: ClusterTaintPolicy | None, after: ClusterTaintPolicy | None) -> None:
        policies = [each for each in (before, after) if each is not None]
        if not spec_changed(before, after):
            return
        names = {name for each in policies for name in _targets(each)}
        named = filter(None, map(hub.member, sorted(names)))
        for cluster in hub.members if _ANY in names else named:
            if any(decide.means(each, cluster) for each in policies):
                loop.wake(cluster.name)

    hub.hear_values("taints", kinds.CLUSTER, cluster_changed)
    if hub.features.Failover:
        hub.hear_values("taints", kinds.CLUSTER_TAINT_POLICY, policy_changed)
    return loop


def _observe(hub: Hub, name: str) -> decide.SeenCluster | None:
    cluster = hub.member(name)
    if cluster is None:
        return None
    known = hub.plane.informer(kinds.CLUSTER_TAINT_POLICY) if hub.features.Failover else None
    found = () if known is None else (*known.by(_targets, name), *known.by(_targets, _ANY))
    return decide.SeenCluster(cluster, found)


def _targets(policy: ClusterTaintPolicy) -> tuple[str, ...]:
    """The clusters that a policy names, or may mean."""
    return (policy.target and policy.target.names) or (_ANY,)


def _refused(hub: Hub, action: Action, refusal: Refused) -> bool:
    if isinstance(action, Update):
        told = Tell(action.object, decide.NOT_TAINTED, str(refusal), warning=True)
        hub.performer.tell_later(told)
    return False


def _conditions(cluster: Member | None) -> list[tuple[str, str]]:
    found = () if cluster is None else cluster.conditions
    return [(each.get("type", ""), each.get("status", "")) for each in found]
