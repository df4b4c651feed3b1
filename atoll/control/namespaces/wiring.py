"""Namespaces go to every member, before what is in them."""

from functools import partial

from atoll.client.api import Wire
from atoll.control.hub import WORK, Hub, meant_otherwise
from atoll.control.loop import Controller, Loop
from atoll.control.namespaces import decide as namespacing
from atoll.control.works.wiring import gets_otherwise, means, override_policies
from atoll.dialects.karmada import names
from atoll.model.action import Ref


def namespaces(hub: Hub) -> Loop[str]:
    """The loop of namespaces, by name."""
    controller = Controller("namespaces", partial(_observe, hub), namespacing.plan)
    loop = Loop(controller, hub.performer, hub.turns)

    def changed(before: Wire | None, after: Wire | None) -> None:
        name = (after or before or {})["metadata"]["name"]
        if before is None and names.cluster_of(name) is not None:
            all_again(before, after)  # a cluster has a place for Works now
        elif meant_otherwise(before, after):
            loop.wake(name)

    def all_again(before: Wire | None, after: Wire | None) -> None:
        if meant_otherwise(before, after):
            for namespace in hub.plane.all("v1", "Namespace"):
                loop.wake(namespace["metadata"]["name"])

    def cluster_changed(before: Wire | None, after: Wire | None) -> None:
        if gets_otherwise(before, after):
            all_again(None, after)

    hub.hear("Namespace", changed)
    hub.hear("Cluster", cluster_changed)
    hub.hear("ClusterOverridePolicy", all_again)
    return loop


def _observe(hub: Hub, name: str) -> namespacing.SeenNamespace:
    mirror = hub.plane.mirror(hub.plane.collection(WORK, "Work"))
    work = names.work_name("Namespace", name)
    spaces = {each.name: names.execution_namespace(each.name) for each in hub.fleet.clusters}
    staying = {
        each.name: each
        for each in hub.fleet.clusters
        if not each.deleting and hub.plane.find(Ref("v1", "Namespace", "", spaces[each.name]))
    }
    found = (mirror.get(spaces[each], work) for each in staying)
    return namespacing.SeenNamespace(
        namespace=hub.plane.find(Ref("v1", "Namespace", "", name)),
        clusters=staying,
        means=means(hub),
        works=[each for each in found if each is not None],
        policies=override_policies(hub, ""),
        new_id=hub.new_id(),
    )
