"""Simulated members as a user meets them: each with a store file, a port and a kubeconfig.

Descriptions come in; members that run, and can be reached by kubectl and by the plane, go out. All
a member has is in a directory of its own, so it is the same after a restart.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from atoll.apiserver.door import Door
from atoll.apiserver.http.serving import HttpServer
from atoll.client.api import ApiClient, Collection, Taken, Wire
from atoll.config import Config
from atoll.controllers.hub import Hub
from atoll.effects import Effects
from atoll.errors import Damaged, UsageError
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.fleets import Description, Tenant, taint
from atoll.simulated.member import Member, build, running
from atoll.simulated.reporting import enrol, report
from atoll.simulated.summary import summary
from atoll.store.sqlite import SqliteLog

TENANTS = "tenants"
_NAMESPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)
_DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)


@dataclass(frozen=True, slots=True)
class Hosted:
    """A member that runs, with what was asked for and where clients find it."""

    description: Description
    member: Member
    url: str


@asynccontextmanager
async def hosting(
    descriptions: Sequence[Description], config: Config, effects: Effects
) -> AsyncIterator[list[Hosted]]:
    """Run these members for the length of the block; their files are below the plane's."""
    async with AsyncExitStack() as stack:
        found = [
            await stack.enter_async_context(_hosted(one, config.member(one.name), effects))
            for one in descriptions
        ]
        yield found


@asynccontextmanager
async def _hosted(
    description: Description, config: Config, effects: Effects
) -> AsyncIterator[Hosted]:
    name = description.name
    config.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Door(name, config, effects.now) as door:
        try:
            log = SqliteLog(config.store_file)
            member = build(name, effects, log=log, fleet=description.pools, signing=door.signing)
        except Damaged as error:
            raise UsageError(
                f"member {name} cannot start; {error}; "
                f"try: move {config.data_dir} away, and it begins anew"
            ) from error
        async with running(member), Supervisor(f"door of {name}", effects.chance) as services:
            await _settle(member, description.tenants)
            server = HttpServer(member.server.handle, effects.now)
            await door.open(server)
            services.start("certificates", door.keep_fresh)
            door.write_files()
            try:
                yield Hosted(description, member, door.url)
            finally:
                await server.stop()


async def _settle(member: Member, tenants: Sequence[Tenant]) -> None:
    """Make what was in the cluster before it joined, where it is not there."""
    api = ApiClient(member.transport)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TENANTS}}
    wires = [(_DEPLOYMENTS, _deployment(one)) for one in tenants]
    for collection, wire in [(_NAMESPACES, space), *wires] if tenants else ():
        try:
            await api.create(collection, wire)
        except Taken:
            continue


def _deployment(tenant: Tenant) -> Wire:
    labels = {"app": tenant.name}
    requests = {"cpu": tenant.cpu, "memory": tenant.memory}
    container = {"name": "main", "image": tenant.name, "resources": {"requests": requests}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": tenant.name, "namespace": TENANTS, "labels": labels},
        "spec": {
            "replicas": tenant.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


async def join(hub: Hub, hosted: Hosted) -> None:
    """Let a plane work with a member, and tell it how the member is, for ever."""
    it, member = hosted.description, hosted.member
    spec = {
        "apiEndpoint": hosted.url,
        "provider": it.provider,
        "region": it.region,
        "zones": list(it.zones),
        "taints": [taint(one) for one in it.taints],
    }
    told = {key: value for key, value in spec.items() if value}
    notes = {"labels": dict(it.labels), "annotations": dict(it.annotations)}
    member.keeper.give_way(hub.turns)
    await enrol(hub, it.name, told, **notes)
    await report(hub, it.name, partial(summary, member))
