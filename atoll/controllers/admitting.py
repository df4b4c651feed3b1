"""Members that join from this process: their Cluster, their namespace, and what they report."""

import asyncio
from collections.abc import Callable
from functools import partial

from atoll.client.api import Refused, Taken, Wire
from atoll.client.transport import Transport, Unreachable
from atoll.controllers.hub import CLUSTER, Hub
from atoll.controllers.insisting import insist
from atoll.controllers.performing import LookAgain
from atoll.dialects.karmada import names
from atoll.model.action import Object, Ref, Update

REPORT_EVERY_S = 10.0
_PAUSE_S = 0.5


async def admit(
    hub: Hub, name: str, transport: Transport, spec: Object | None = None, **metadata: Object
) -> None:
    """Let a member be reached, and make its Cluster and its namespace where they are not there.

    Goes on until all of it is done, for as long as the member or the plane does not answer.
    `metadata` are labels and annotations of its Cluster.
    """
    await hub.connect(name, transport)
    labels = {names.SYSTEM: "true"}
    space: Wire = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": names.execution_namespace(name), "labels": labels},
    }
    cluster: Wire = {
        "apiVersion": CLUSTER,
        "kind": "Cluster",
        "metadata": {**metadata, "name": name},
        "spec": {"syncMode": "Push", **(spec or {})},
    }
    for wire in (space, cluster):
        await insist(f"{wire['kind']} {wire['metadata']['name']}", partial(_make, hub, wire))


async def _make(hub: Hub, wire: Wire) -> None:
    plane = hub.plane
    collection = plane.collection(wire["apiVersion"], wire["kind"])
    try:
        stored = await plane.api.create(collection, wire)
    except Taken:
        there = await plane.api.get(collection.path_of(wire))
        where = (wire.get("spec") or {}).get("apiEndpoint")
        if where is None or there["spec"].get("apiEndpoint") == where:
            return
        # It is found at another address than last time; all else is the user's to change.
        moved = {**there, "spec": {**there["spec"], "apiEndpoint": where}}
        stored = await plane.api.replace(collection, moved)
    plane.mirror(collection).learn(stored)


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
