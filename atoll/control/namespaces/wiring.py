"""Namespaces go to every member, before what is in them."""

from collections.abc import Iterable
from functools import partial

from atoll.control.hub import Hub, spec_changed
from atoll.control.loop import Controller, Loop
from atoll.control.namespaces import decide as namespacing
from atoll.control.policies.templates import candidates
from atoll.control.works import concerned
from atoll.control.works.decide.overriding.selecting import is_for
from atoll.control.works.wiring import means
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.policy import OverridePolicy
from atoll.wire import Wire

NAMESPACE = ("v1", "Namespace")
Key = tuple[str, str]
"""The name of a namespace, and that of a cluster."""


def namespaces(hub: Hub) -> Loop[Key]:
    """The loop of namespaces in clusters: one that changed is looked at in each of them."""
    controller = Controller("namespaces", partial(_observe, hub), namespacing.plan)
    loop = Loop(controller, hub.performer, hub.turns, lane=lambda key: key[0])

    def wake(namespaces: Iterable[Wire], cluster: str) -> None:
        for each in namespaces:
            if namespacing.is_propagated(each):
                loop.wake((each["metadata"]["name"], cluster))

    def changed(before: Wire | None, after: Wire | None) -> None:
        name = (after or before or {})["metadata"]["name"]
        cluster = names.cluster_of(name)
        if cluster is not None:
            if before is None:
                wake(_all(hub), cluster)  # it has a place for Works now
        elif spec_changed(before, after):
            for each in hub.fleet.clusters:
                if after is None or namespacing.is_propagated(after):
                    loop.wake((name, each.name))

    def override_changed(before: OverridePolicy | None, after: OverridePolicy | None) -> None:
        if spec_changed(before, after):
            for policy in filter(None, (before, after)):
                meant = list(_meant(hub, policy))
                for cluster in hub.fleet.clusters if meant else ():
                    if is_for(policy, cluster):
                        wake(meant, cluster.name)

    def cluster_changed(before: Member | None, after: Member | None) -> None:
        if after is None or not concerned.is_looked_at_otherwise(before, after):
            return
        if before is None:
            wake(_all(hub) if _has_space(hub, after.name) else (), after.name)
            return
        for policy in concerned.overrides_otherwise(hub.overrides, before, after):
            if not policy.ref.namespace:
                wake(_meant(hub, policy), after.name)

    hub.hear("namespaces", NAMESPACE, changed)
    hub.hear_values("namespaces", kinds.CLUSTER, cluster_changed)
    hub.hear_values("namespaces", kinds.CLUSTER_OVERRIDE_POLICY, override_changed)
    return loop


def _meant(hub: Hub, policy: OverridePolicy) -> Iterable[Wire]:
    """The namespaces that a cluster-wide policy may mean."""
    selectors = hub.overrides.reach(policy)
    mirror = hub.plane.mirrored(*NAMESPACE)
    if selectors is None or mirror is None:
        return _all(hub)
    meant = [each for each in selectors if (each.api_version, each.kind) == NAMESPACE]
    return [wire for each in meant for wire in candidates(each, mirror)]


def _all(hub: Hub) -> Iterable[Wire]:
    return hub.plane.all(*NAMESPACE)


def _has_space(hub: Hub, cluster: str) -> bool:
    """Whether a cluster has a place for Works."""
    return hub.plane.find(Ref(*NAMESPACE, "", names.execution_namespace(cluster))) is not None


def _observe(hub: Hub, key: Key) -> namespacing.SeenNamespace | None:
    name, cluster = key
    known = hub.cluster(cluster)
    if known is None or known.deleting or not _has_space(hub, cluster):
        return None
    space, work = names.execution_namespace(cluster), names.work_name("Namespace", name)
    return namespacing.SeenNamespace(
        namespace=hub.plane.find(Ref(*NAMESPACE, "", name)),
        cluster=known,
        means=means(hub),
        work=hub.works.get(space, work),
        policies=hub.overrides.of,
        new_id=hub.new_id(),
    )
