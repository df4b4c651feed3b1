"""Simulated members in this process, as a plane meets them: by their Cluster."""

from functools import partial

from atoll.client.api import Taken
from atoll.control.hub import CLUSTER, Hub
from atoll.control.insisting import insist
from atoll.wire import Object, Wire


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
        return
    plane.mirror(collection).learn(stored)
