"""Members let the plane speak for those who may go through it to them."""

from functools import partial

from atoll.client.api import Wire
from atoll.control.access import decide as impersonating
from atoll.control.hub import CLUSTER, Hub, meant_otherwise
from atoll.control.loop import Controller, Loop
from atoll.dialects.karmada import names
from atoll.model.action import Ref

RBAC = f"{impersonating.RBAC}/v1"
KINDS = ("ClusterRole", "ClusterRoleBinding")


def access(hub: Hub) -> Loop[str]:
    """The loop of who may go to which cluster, by the cluster's name."""
    controller = Controller("access", partial(_observe, hub), impersonating.plan)
    loop = Loop(controller, hub.performer, hub.turns)

    def changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after):
            loop.wake(after["metadata"]["name"])

    def all_again(before: Wire | None, after: Wire | None) -> None:
        if meant_otherwise(before, after):
            for cluster in hub.plane.all(CLUSTER, "Cluster"):
                loop.wake(cluster["metadata"]["name"])

    def spoilt(before: Wire | None, after: Wire | None) -> None:
        """One of the Works was changed or removed by somebody else."""
        work = after or before or {}
        owners = work["metadata"].get("ownerReferences") or ()
        if meant_otherwise(before, after) and any(each["kind"] == "Cluster" for each in owners):
            loop.wake(names.cluster_of(work["metadata"]["namespace"]) or "")

    hub.hear("Cluster", changed)
    hub.hear("Work", spoilt)
    for kind in KINDS:
        hub.want(RBAC, kind)
        hub.hear(kind, all_again)
    return loop


def _observe(hub: Hub, name: str) -> impersonating.SeenAccess | None:
    cluster = hub.plane.find(Ref(CLUSTER, "Cluster", "", name))
    if cluster is None:
        return None
    works = map(hub.plane.find, impersonating.works_of(name))
    roles, bindings = (hub.plane.all(RBAC, kind) for kind in KINDS)
    return impersonating.SeenAccess(
        cluster=cluster,
        roles=roles,
        bindings=bindings,
        works=[each for each in works if each is not None],
        new_id=hub.new_id(),
    )
