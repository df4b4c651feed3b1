"""Joining simulated members to their plane, by the same code as `atoll join`.

Descriptions and addresses come in, once the members answer there. What the description says of a
cluster is told when it joins for the first time and is the user's to change from then on; later
only what the plane needs to reach it is made good.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Taken
from atoll.config import Config
from atoll.control.insisting import insist
from atoll.errors import UsageError
from atoll.members import joining
from atoll.members.objects import CLUSTERS, SECRETS, cluster_of
from atoll.members.objects import identity as identity_of
from atoll.runtime.children import Children
from atoll.simulated.fleets import SIMULATED, Description, taint
from atoll.wire import Wire

log = logging.getLogger("atoll.simulated")

AT_ONCE = 4
PATIENCE_S = 5.0
TOKEN_WITHIN_S = 5


async def enrol(
    descriptions: Sequence[Description], addresses: Mapping[str, str], config: Config
) -> None:
    """Have every member in the plane; goes on for as long as one of the two does not answer."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(description: Description) -> None:
        name = description.name
        attempt = partial(_join, description, addresses[name], config)
        try:
            async with limit:
                await insist(f"joining {name}", partial(asyncio.to_thread, attempt))
        except UsageError as problem:
            said = {"cluster": name, "err": problem}
            log.error("The simulated cluster %(cluster)s is left out: %(err)s", said)

    async with Children("joining") as children:
        for task in [children.spawn(one(each), each.name) for each in descriptions]:
            await task


def _join(description: Description, url: str, config: Config) -> None:
    """Join one member, unless it has joined and nothing has changed."""
    name = description.name
    with (
        closing(_client(config.kubeconfig)) as plane,
        closing(_client(config.member(name).kubeconfig)) as member,
    ):
        known = _known(plane, description, url)
        identity = identity_of(member)
        if _is_joined(plane, known, identity, url):
            return
        if known["spec"].get("id") not in (None, identity) and _is_simulated(known):
            # Its directory was moved away, and it began anew.
            plane.patch(CLUSTERS.path(name=name), {"spec": {"id": identity}})
        joining.join(plane, member, joining.Description(name), TOKEN_WITHIN_S)
        said = {"cluster": name, "url": url}
        log.info("The simulated cluster %(cluster)s has joined from %(url)s", said)


def _client(kubeconfig: Path) -> PlainClient:
    return PlainClient(read_kubeconfig(kubeconfig), PATIENCE_S)


def _known(plane: PlainClient, description: Description, url: str) -> Wire:
    """The Cluster of a member, made as it is described if there was none."""
    try:
        return plane.create(CLUSTERS, _cluster(description, url))
    except Taken:
        return plane.get(CLUSTERS.path(name=description.name))


def _is_joined(plane: PlainClient, known: Wire, identity: str, url: str) -> bool:
    """Whether the plane has all it needs to reach a member that is who and where it was."""
    spec = known["spec"]
    if (spec.get("id"), spec.get("apiEndpoint")) != (identity, url):
        return False
    try:
        for key in ("secretRef", "impersonatorSecretRef"):
            plane.get(SECRETS.path(spec[key]["namespace"], spec[key]["name"]))
    except (KeyError, TypeError, Missing):
        return False
    return True


def _is_simulated(known: Wire) -> bool:
    return SIMULATED in (known["metadata"].get("annotations") or {})


def _cluster(description: Description, url: str) -> Wire:
    spec = {
        "syncMode": "Push",
        "apiEndpoint": url,
        "provider": description.provider,
        "region": description.region,
        "zones": list(description.zones),
        "taints": [taint(one) for one in description.taints],
    }
    said = {key: value for key, value in spec.items() if value}
    cluster = cluster_of(description.name, said)
    annotations = {**description.annotations, SIMULATED: "true"}
    cluster["metadata"] |= {"labels": dict(description.labels), "annotations": annotations}
    return cluster
