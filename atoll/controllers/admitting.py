"""Members that join from this process: their Cluster, their namespace, and what they report."""

import asyncio
from collections.abc import Callable

from atoll.client.api import Refused, Taken, Wire
from atoll.client.transport import Transport, Unreachable
from atoll.controllers.hub import CLUSTER, Hub
from atoll.controllers.performing import LookAgain
from atoll.dialects.karmada import names
from atoll.model.action import Object, Ref, Update

REPORT_EVERY_S = 10.0
_PAUSE_S = 0.5


async def admit(hub: Hub, name: str, transport: Transport, spec: Object | None = None) -> None:
    """Let a member be reached, and make its Cluster and its namespace where they are not there."""
    await hub.connect(name, transport)
    namespace = {"name": names.execution_namespace(name), "labels": {names.SYSTEM: "true"}}
    cluster: Wire = {
        "apiVersion": CLUSTER,
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push", **(spec or {})},
    }
    plane = hub.plane
    space: Wire = {"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}
    for wire in (space, cluster):
        collection = plane.collection(wire["apiVersion"], wire["kind"])
        try:
            plane.mirror(collection).learn(await plane.api.create(collection, wire))
        except Taken:
            continue


async def report(hub: Hub, name: str, summary: Callable[[], Wire]) -> None:
    """Keep a Cluster's status as its member tells it, for ever."""
    while True:
        cluster = hub.plane.find(Ref(CLUSTER, "Cluster", "", name))
        told = summary()
        if cluster is not None:
            status = {**(cluster.get("status") or {}), **told}
            if status != cluster.get("status"):
                try:
                    await hub.performer.perform(Update({**cluster, "status": status}, "status"))
                except (LookAgain, Refused, Unreachable):
                    await asyncio.sleep(_PAUSE_S)
                    continue
        await asyncio.sleep(REPORT_EVERY_S)
