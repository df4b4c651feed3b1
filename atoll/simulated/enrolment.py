"""Joining simulated members to their plane, as `atoll join` would: Secrets and a Cluster each.

Descriptions and addresses come in, once the members answer there. What is made once is the user's
to change from then on: later only an address, or credentials, that have changed are told again.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from functools import partial

from atoll.client.api import ApiClient, Collection, Taken, Wire
from atoll.config import Config
from atoll.controllers.hub import CLUSTER
from atoll.controllers.insisting import insist
from atoll.dialects.karmada import names
from atoll.simulated.fleets import Description, taint

AT_ONCE = 8
_NAMESPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)
_SECRETS = Collection("v1", "Secret", "secrets", namespaced=True)
_CLUSTERS = Collection(CLUSTER, "Cluster", "clusters", namespaced=False)


async def enrol(
    plane: ApiClient,
    descriptions: Sequence[Description],
    addresses: Mapping[str, str],
    config: Config,
) -> None:
    """Have every member in the plane; goes on for as long as it refuses or does not answer."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(description: Description) -> None:
        url, files = addresses[description.name], config.member(description.name)
        async with limit:
            await insist(
                f"joining {description.name}", partial(_join, plane, description, url, files)
            )

    await asyncio.gather(*map(one, descriptions))


async def _join(plane: ApiClient, description: Description, url: str, files: Config) -> None:
    name = description.name
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names.CLUSTER_NAMESPACE}}
    await _make(plane, _NAMESPACES, space, ())
    keys = {
        "token": (files.pki_dir / "admin.token").read_bytes().strip(),
        "caBundle": (files.pki_dir / "ca.crt").read_bytes(),
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": names.CLUSTER_NAMESPACE},
        "data": {key: base64.b64encode(value).decode() for key, value in keys.items()},
    }
    await _make(plane, _SECRETS, secret, ("data",))
    await _make(plane, _CLUSTERS, cluster_of(description, url), ("spec", "apiEndpoint"))


def cluster_of(description: Description, url: str) -> Wire:
    """The Cluster of a member that joins for the first time."""
    spec = {
        "syncMode": "Push",
        "apiEndpoint": url,
        "secretRef": {"namespace": names.CLUSTER_NAMESPACE, "name": description.name},
        "provider": description.provider,
        "region": description.region,
        "zones": list(description.zones),
        "taints": [taint(one) for one in description.taints],
    }
    return {
        "apiVersion": CLUSTER,
        "kind": "Cluster",
        "metadata": {
            "name": description.name,
            "labels": dict(description.labels),
            "annotations": dict(description.annotations),
        },
        "spec": {key: value for key, value in spec.items() if value},
    }


async def _make(
    plane: ApiClient, collection: Collection, wire: Wire, ours: tuple[str, ...]
) -> None:
    """Create an object; of one that is there, only the field that is `ours` is set again."""
    try:
        await plane.create(collection, wire)
        return
    except Taken:
        there = await plane.get(collection.path_of(wire))
    match ours:
        case (field,):
            changed = {**there, field: wire[field]}
        case (part, field):
            changed = {**there, part: {**there[part], field: wire[part][field]}}
        case _:
            return
    if changed != there:
        await plane.replace(collection, changed)
