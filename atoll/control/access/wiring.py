"""Members let the plane speak for those who may go through it to them."""

from collections.abc import Iterable, Iterator
from functools import partial

from atoll.client.mirror import Sorter
from atoll.control.access import decide as impersonating
from atoll.control.hub import Hub, spec_changed
from atoll.control.loop import Controller, Loop
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.proxy_access import EVERYWHERE, ways
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.work import Work
from atoll.wire import Wire

RBAC = f"{impersonating.RBAC}/v1"
ROLE, ROLE_BINDING = "ClusterRole", "ClusterRoleBinding"


def access(hub: Hub) -> Loop[str]:
    """The loop of who may go to which cluster, by the cluster's name."""
    controller = Controller("access", partial(_observe, hub), impersonating.plan)
    loop = Loop(controller, hub.performer, hub.turns)

    def changed(before: Member | None, after: Member | None) -> None:
        if after is not None and spec_changed(before, after):
            loop.wake(after.name)

    def placed(before: Wire | None, after: Wire | None) -> None:
        if before is None and after is not None:
            loop.wake(names.cluster_of(after["metadata"]["name"]) or "")

    def wake(roles: Iterable[Wire | None]) -> None:
        names = {name for role in roles if role is not None for name in ways(role)}
        everyone = (each.name for each in hub.members)
        for name in everyone if EVERYWHERE in names else sorted(names):
            loop.wake(name)

    def role_changed(before: Wire | None, after: Wire | None) -> None:
        if spec_changed(before, after):
            wake((before, after))

    def role_bound(before: Wire | None, after: Wire | None) -> None:
        # Most roles are about other things; whom such a one is bound to is no matter.
        if spec_changed(before, after):
            bindings = (each for each in (before, after) if each is not None)
            wake(hub.plane.find(Ref(RBAC, ROLE, "", _role_name(each))) for each in bindings)

    def spoilt(before: Work | None, after: Work | None) -> None:
        """One of the Works was changed or removed by somebody else."""
        work = after or before
        owners = () if work is None else work.meta.owners
        is_ours = any(each.kind == "Cluster" for each in owners)
        if work is not None and is_ours and spec_changed(before, after):
            loop.wake(work.cluster)

    hub.hear_values("access", kinds.CLUSTER, changed)
    hub.hear_values("access", kinds.WORK, spoilt)
    hub.hear("access", ("v1", "Namespace"), placed)
    for kind, hearer in ((ROLE, role_changed), (ROLE_BINDING, role_bound)):
        hub.want(RBAC, kind)
        hub.hear("access", (RBAC, kind), hearer)
    return loop


def _filed(hub: Hub, kind: str, sorter: Sorter, value: object) -> list[Wire]:
    mirror = hub.plane.mirrored(RBAC, kind)
    return [] if mirror is None else mirror.by(sorter, value)


def _bindings(hub: Hub, roles: list[Wire]) -> Iterator[Wire]:
    for role in roles:
        yield from _filed(hub, ROLE_BINDING, _roles_bound, role["metadata"]["name"])


def _observe(hub: Hub, name: str) -> impersonating.SeenAccess | None:
    cluster = hub.member(name)
    space = Ref("v1", "Namespace", "", names.execution_namespace(name))
    if cluster is None or hub.plane.find(space) is None:
        return None
    roles = [role for each in (name, EVERYWHERE) for role in _filed(hub, ROLE, ways, each)]
    works = (hub.works.get(each.namespace, each.name) for each in impersonating.works_of(name))
    return impersonating.SeenAccess(
        cluster=cluster,
        roles=roles,
        bindings=list(_bindings(hub, roles)),
        works=[each for each in works if each is not None],
        new_id=hub.new_id(),
    )


def _roles_bound(binding: Wire) -> tuple[str]:
    return (_role_name(binding),)


def _role_name(binding: Wire) -> str:
    """Of the ClusterRole that a ClusterRoleBinding is of."""
    role: str = (binding.get("roleRef") or {}).get("name", "")
    return role
