"""What the servers are asked to do, one function per workload: a prepared ground in, a Sample out.

Writers never share an object, so that no write meets another; requests are made before the clock
starts. Nothing here knows which server it talks to.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.wire import Wire
from bench.connection import Connection, Failed
from bench.fanout import fan_out
from bench.load import Sample, Tally, ask, close_all, connections, dealt, measured, send_all
from bench.objects import (
    NAMESPACES,
    configmap,
    configmap_patch,
    configmaps,
    deployment,
    deployment_patch,
    deployments,
    get,
    merge_patch,
    post,
    put,
    rights,
)
from bench.servers import USER, Target
from bench.sizes import Sizes

CREATED, POOL, LISTED, WATCHED = "created", "pool", "listed", "watched"
_ALLOWED_WITHIN_S = 30


@dataclass(frozen=True, slots=True)
class Ground:
    """A server with everything in place that workloads need, and clients connected to it."""

    target: Target
    clients: list[Connection]
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Workload:
    """One row of the table. `run` is given the ground and the number of the round, from 1."""

    group: str
    title: str
    run: Callable[[Ground, int], Coroutine[Any, Any, Sample]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object and how it is written."""

    name: str
    path: Callable[[str], str]
    make: Callable[[str, int], Wire]
    patch: Callable[[int], Wire]

    def count(self, sizes: Sizes) -> int:
        return sizes.configmaps if self is CONFIGMAP else sizes.deployments


CONFIGMAP = Kind("ConfigMap, 1 KB", configmaps, configmap, configmap_patch)
DEPLOYMENT = Kind("Deployment, 3 KB", deployments, deployment, deployment_patch)


def workloads(sizes: Sizes) -> list[Workload]:
    kinds = (CONFIGMAP, DEPLOYMENT)
    many = f"{sizes.listed:,} objects"
    return [
        *(Workload("creates", f"create {kind.name}", partial(create, kind)) for kind in kinds),
        *(Workload("updates", f"put {kind.name}", partial(replace, kind)) for kind in kinds),
        *(Workload("updates", f"merge patch {kind.name}", partial(patch, kind)) for kind in kinds),
        *(Workload("gets", f"get {kind.name}", partial(read, kind)) for kind in kinds),
        Workload("lists", f"list {many}, in objects", list_whole),
        Workload("lists", f"list {many} by {sizes.page}, in objects", list_paged),
        Workload("watch", f"watch events to {sizes.watchers} watchers", watch),
    ]


async def prepare(target: Target, sizes: Sizes, groups: Sequence[str]) -> Ground:
    """Connect the clients and make the objects that the workloads of these groups read or write."""
    await _prepare_as_administrator(target, sizes)
    ground = Ground(target, await connections(target, sizes.clients), sizes)
    needed: list[bytes] = []
    if {"updates", "gets"} & set(groups):
        for kind in (CONFIGMAP, DEPLOYMENT):
            needed += [_new(kind, POOL, f"pool-{n}", n) for n in range(sizes.pool)]
    if "lists" in groups:
        needed += [_new(CONFIGMAP, LISTED, f"listed-{n:05}", n) for n in range(sizes.listed)]
    if "watch" in groups:
        needed += [_new(CONFIGMAP, WATCHED, f"watched-{n}", n) for n in range(sizes.writers)]
    if needed:
        await _send(ground, needed)
    return ground


async def _prepare_as_administrator(target: Target, sizes: Sizes) -> None:
    """Make the namespaces, and let the user in: by one binding among many."""
    clients = await connections(target, sizes.clients, as_administrator=True)
    ground = Ground(target, clients, sizes)
    namespaces = [_namespace(name) for name in (CREATED, POOL, LISTED, WATCHED)]
    await _send(ground, [post(NAMESPACES, namespace) for namespace in namespaces])
    await _send(ground, [post(path, obj) for path, obj in rights(USER, sizes.bindings)])
    close_all(clients)
    [client] = await connections(target, 1)
    async with asyncio.timeout(_ALLOWED_WITHIN_S):  # the other server learns of roles by and by
        while (await client.exchange(get(configmaps(POOL)))).status != 200:
            await asyncio.sleep(0.1)
    client.close()


def _namespace(name: str) -> Wire:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _new(kind: Kind, namespace: str, name: str, number: int) -> bytes:
    return post(kind.path(namespace), kind.make(name, number))


async def create(kind: Kind, ground: Ground, number: int) -> Sample:
    count = kind.count(ground.sizes) * ground.sizes.created
    return await _send(ground, [_new(kind, CREATED, f"r{number}-{n}", n) for n in range(count)])


async def replace(kind: Kind, ground: Ground, number: int) -> Sample:
    path, pool = kind.path(POOL), ground.sizes.pool
    versions = _versions(kind, ground, number)
    return await _send(ground, [put(path, kind.make(f"pool-{n % pool}", n)) for n in versions])


async def patch(kind: Kind, ground: Ground, number: int) -> Sample:
    path, pool = kind.path(POOL), ground.sizes.pool
    versions = _versions(kind, ground, number)
    requests = [merge_patch(path, f"pool-{n % pool}", kind.patch(n + 1)) for n in versions]
    return await _send(ground, requests)


def _versions(kind: Kind, ground: Ground, number: int) -> range:
    """Numbers that no other round uses, so that every write changes something."""
    count = kind.count(ground.sizes)
    # Rounded up, so that a number, and with it an object, always goes to the same client.
    step = -(-count // ground.sizes.pool) * ground.sizes.pool
    return range(number * step, number * step + count)


async def read(kind: Kind, ground: Ground, number: int) -> Sample:
    path, pool = kind.path(POOL), ground.sizes.pool
    return await _send(ground, [get(f"{path}/pool-{n % pool}") for n in range(ground.sizes.gets)])


async def _send(ground: Ground, requests: Sequence[bytes]) -> Sample:
    tally = Tally()
    hands = dealt(requests, len(ground.clients))
    return await measured(
        ground.target,
        tally,
        [send_all(client, hand, tally) for client, hand in zip(ground.clients, hands, strict=True)],
    )


async def list_whole(ground: Ground, number: int) -> Sample:
    return await _list(ground, 0)


async def list_paged(ground: Ground, number: int) -> Sample:
    return await _list(ground, ground.sizes.page)


async def _list(ground: Ground, page: int) -> Sample:
    sizes, tally = ground.sizes, Tally()
    clients = ground.clients[: sizes.list_clients]
    each = max(1, sizes.lists // len(clients))

    async def client(connection: Connection) -> None:
        for _ in range(each):
            await _page_through(connection, page, tally)
            tally.count += sizes.listed

    return await measured(ground.target, tally, [client(one) for one in clients])


async def _page_through(connection: Connection, page: int, tally: Tally) -> None:
    """One list to its end; every page is timed by itself."""
    first = f"{configmaps(LISTED)}?limit={page}" if page else configmaps(LISTED)
    path = first
    while True:
        answer = await ask(connection, get(path), tally)
        _, more, rest = answer.beginning.partition(b'"continue":"')
        if not more:
            break
        token = rest.partition(b'"')[0].decode()
        path = f"{first}&continue={token}"
    if answer.body_bytes < 1000:
        raise Failed(f"a list ended with {answer.body_bytes} bytes")


async def watch(ground: Ground, number: int) -> Sample:
    sizes, path = ground.sizes, configmaps(WATCHED)
    first_version = 1_000 + number * (sizes.bursts + 1)
    bursts = [
        [put(path, configmap(f"watched-{n}", first_version + burst)) for n in range(sizes.writers)]
        for burst in range(sizes.bursts + 1)  # the first one is not measured
    ]
    writers = ground.clients[: sizes.writers]
    return await fan_out(ground.target, writers, path, bursts, watchers=sizes.watchers)
