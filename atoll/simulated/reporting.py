"""Simulated members in this process, as a plane meets them: their Cluster, and what they report."""

import asyncio
from collections.abc import Callable
from functools import partial

from atoll.client.api import Refused, Taken, Wire
from atoll.client.transport import Unreachable
from atoll.controllers.hub import CLUSTER, Hub
from atoll.controllers.insisting import insist
from atoll.controllers.performing import LookAgain
from atoll.model.action import Object, Ref, Update

REPORT_EVERY_S = 10.0
_PAUSE_S = 0.5


async def enrol(hub: Hub, name: str, spec: Object | None = None, **metadata: Object) -> None:
    """Make a member's Cluster where it is not there; goes on for as long as the plane refuses.

    `metadata` are labels and annotations of its Cluster.
    """
    cluster: Wire = {
        "apiVersion": CLUSTER,
        "kind": "Cluster",
        "metadata": {**metadata, "name": name},
        "spec": {"syncMode": "Push", **(spec or {})},
    }
    await insist(f"Cluster {name}", partial(_make, hub, cluster))


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
