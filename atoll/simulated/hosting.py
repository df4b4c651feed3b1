"""Simulated members as a user meets them: each with a store file, a port and a kubeconfig.

Descriptions come in; members that run, and can be reached by kubectl and by the plane, go out. All
a member has is in a directory of its own, so it is the same after a restart.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from atoll.apiserver.door import Door
from atoll.client.api import ApiClient, Collection, Taken
from atoll.config import Config
from atoll.effects import Effects
from atoll.errors import Damaged, NotDurable, StoreError, UsageError
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor, TaskFailed
from atoll.simulated.faults import Gate
from atoll.simulated.fleets import Description, Tenant
from atoll.simulated.keeping import Pace
from atoll.simulated.member import Member, build, running
from atoll.store.sqlite import SqliteLog
from atoll.wire import Wire

STARTING_MAX = 16  # at a time: each writes its nodes, and more would only wait for each other
STOP_WITHIN_S = 15.0
TENANTS = "tenants"
_NAMESPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)
_DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)


@dataclass(frozen=True, slots=True)
class _Together:
    """What members have in common: not all start at a time, but all end at once."""

    starting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(STARTING_MAX))
    ending: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def hosting(
    descriptions: Sequence[Description], config: Config, effects: Effects
) -> AsyncIterator[dict[str, Gate]]:
    """Run these members for the length of the block, and give the ways to them by name.

    Their files are below the plane's. If one cannot start, or fails, all end, with its reason.
    """
    loop, together = asyncio.get_running_loop(), _Together()
    try:
        async with Supervisor("fleet", effects.chance, stop_within_s=STOP_WITHIN_S) as members:
            awaited: list[asyncio.Future[Gate]] = []
            for one in descriptions:
                awaited.append(loop.create_future())
                life = _live(one, config.member(one.name), effects, together, awaited[-1])
                members.start(one.name, life, ask_to_stop=together.ending.set)
            gates = [await each for each in awaited]
            yield {gate.member.name: gate for gate in gates}
    except TaskFailed as failed:
        raise failed.__cause__ or failed from failed


def _live(
    description: Description,
    config: Config,
    effects: Effects,
    together: _Together,
    opened: asyncio.Future[Gate],
) -> Callable[[], Awaitable[None]]:
    """One member's life, until all end or it fails. Once it can be reached, `opened`."""

    async def live() -> None:
        async with AsyncExitStack() as stack:
            try:
                async with together.starting:
                    gate = await _open(description, config, effects, stack)
            except (Damaged, NotDurable) as error:
                raise _cannot_start(description.name, config, error) from error
            if not opened.cancelled():  # by whoever ends all of this before it has begun
                opened.set_result(gate)
            await together.ending.wait()

    return live


def _cannot_start(name: str, config: Config, error: StoreError) -> UsageError:
    attempt = f"move {config.data_dir} away, and it begins anew"
    if isinstance(error, NotDurable):
        attempt = f"make room for {config.data_dir}, and once more"
    return UsageError(f"member {name} cannot start; {error}; try: {attempt}")


async def _open(
    description: Description, config: Config, effects: Effects, stack: AsyncExitStack
) -> Gate:
    """Run a member until the stack is unwound, behind a gate that is open."""
    name = description.name
    for directory in (config.data_dir.parent, config.data_dir):
        directory.mkdir(mode=0o700, exist_ok=True)
    door = stack.enter_context(Door(name, config, effects.now))
    member = build(
        name,
        effects,
        log=SqliteLog(config.store_file),
        fleet=description.pools,
        pace=Pace(description.start_s, description.job_s, description.end_s),
        signing=door.signing,
    )
    await stack.enter_async_context(running(member))
    services = Supervisor(f"door of {name}", effects.chance)
    await stack.enter_async_context(services)
    children = await stack.enter_async_context(Children(name))
    await _settle(member, description.tenants)
    gate = Gate(member, door, effects.now, children)
    await gate.open()
    stack.push_async_callback(gate.close)
    services.start("certificates", door.keep_fresh)
    door.write_files()
    return gate


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
