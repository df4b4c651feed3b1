"""The real API server on the real store and a bad disk: clients that count, name and watch.

A world comes in; the tally of what happened goes out. Clients speak bytes through the in-process
transport, as they would over HTTPS. Counting up under optimistic concurrency may lose nothing, over
refusals and crashes; each watcher's copy, built from one list and the events since, must be what
the next list says; and no answer may be one that a correct server does not give.
"""

import asyncio
import json
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from atoll.apiserver.assembly import assemble
from atoll.client.inprocess import InProcess
from atoll.client.transport import closing, whole
from atoll.effects import Effects
from atoll.errors import NotDurable
from atoll.exchange import Peer, Request, Response
from atoll.runtime.supervisor import Supervisor
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from simulation.ledger import Ledger
from simulation.storing import LIMITS
from simulation.world import World

PATH = "/api/v1/namespaces/default/configmaps"
ADMIN = Peer("admin", ("system:masters",))
COUNTERS = 4
OWNED = "owned"
GONE = 410


@dataclass
class Serving:
    """What the scenario shares between the lives of the server."""

    world: World
    effects: Effects
    log: MemoryLog
    ledger: Ledger = field(default_factory=Ledger)
    conflicts: int = 0
    crashes: int = 0
    events: int = 0


async def api_under_clients(world: World, virtual_s: float = 300.0) -> Serving:
    """Start the server, use it, lose it, and start it again; at the end everything must add up."""
    effects = world.effects("hub")
    disk = effects.chance.of("disk")
    log = MemoryLog(delay_s=lambda: disk.expovariate(200.0))
    shared = Serving(world, effects, log)
    end = asyncio.get_running_loop().time() + virtual_s
    while asyncio.get_running_loop().time() < end:
        await _live_once(shared)
    return shared


async def _live_once(shared: Serving) -> None:
    draws = shared.effects.chance.of("lives")
    store = Store.open(shared.log, LIMITS)
    shared.world.note(f"opened: {store.found}")
    async with Supervisor("server", shared.effects.chance) as process:
        process.start("store", store.run)
        server = assemble(store, shared.effects)
        await server.start()
        for name, service in server.services.items():
            process.start(name, service)
        hub = InProcess(server.handle, ADMIN)
        shared.ledger.settle(await _counts(hub))
        async with Supervisor("clients", shared.effects.chance) as clients:
            for name, run in (("counter", _count), ("owner", _own), ("watcher", _watch)):
                for n in range(3):
                    who = f"{name}-{n}"
                    clients.start(who, partial(run, shared, hub, shared.effects.chance.of(who)))
            clients.start("trouble", partial(_trouble, shared))
            await asyncio.sleep(draws.uniform(5.0, 60.0))
            if crashes := draws.random() < 0.5:
                shared.crashes += 1
                shared.world.note(f"crash at revision {store.revision}")
                shared.log.crash(kept=draws.random() < 0.5)
        shared.log.refusal = ""
        if not crashes:
            await store.close()


async def _ask(hub: InProcess, method: str, path: str, body: object = None) -> Response:
    sent = b"" if body is None else json.dumps(body).encode()
    kind = "merge-patch+json" if method == "PATCH" else "json"
    headers = {"content-type": f"application/{kind}", "accept": "application/json"}
    path, _, query = path.partition("?")
    return await whole(await hub.send(Request(method, path, query, headers, sent)))


def _expect(answer: Response, *statuses: int) -> Any:
    assert answer.status in statuses, f"{answer.status}: {answer.body.decode()[:300]}"
    return json.loads(answer.body)


async def _counts(hub: InProcess) -> dict[str, int]:
    listed = _expect(await _ask(hub, "GET", f"{PATH}?labelSelector=role%3Dcounter"), 200)
    return {item["metadata"]["name"]: int(item["data"]["n"]) for item in listed["items"]}


async def _count(shared: Serving, hub: InProcess, draws: Random) -> None:
    """Count up by reading and writing back what was read: a conflict means another was first."""
    while True:
        await asyncio.sleep(draws.expovariate(4.0))
        name = f"counter-{draws.randrange(COUNTERS)}"
        answer = await _ask(hub, "GET", f"{PATH}/{name}")
        found = _expect(answer, 200, 404)
        if answer.status == 200:
            shared.ledger.read(name, int(found["data"]["n"]))
        with shared.ledger.write(name):
            await _write_back(shared, hub, name, found if answer.status == 200 else None)


async def _write_back(
    shared: Serving, hub: InProcess, name: str, found: dict[str, Any] | None
) -> None:
    """Write the next count; an answer that says it did not happen is raised as a refusal."""
    if found is None:
        metadata = {"name": name, "labels": {"role": "counter"}}
        answer = await _ask(hub, "POST", PATH, {"metadata": metadata, "data": {"n": "1"}})
    else:
        found["data"]["n"] = str(int(found["data"]["n"]) + 1)
        answer = await _ask(hub, "PUT", f"{PATH}/{name}", found)
    if answer.status == 409:
        shared.conflicts += 1
    said = _expect(answer, 200, 201, 409, 503)
    if answer.status in (409, 503):
        raise NotDurable(said["message"])


async def _own(shared: Serving, hub: InProcess, draws: Random) -> None:
    """Make objects under drawn names, patch them and delete them."""
    while True:
        await asyncio.sleep(draws.expovariate(2.0))
        metadata = {"generateName": "owned-", "labels": {"role": OWNED}}
        answer = await _ask(hub, "POST", PATH, {"metadata": metadata})
        if answer.status == 503:
            continue
        made = _expect(answer, 201)["metadata"]
        path = f"{PATH}/{made['name']}"
        patched = await _ask(hub, "PATCH", path, {"data": {"by": made["uid"]}})
        if patched.status == 200:
            assert _expect(patched, 200)["metadata"]["uid"] == made["uid"]
        await asyncio.sleep(draws.uniform(0.0, 10.0))
        _expect(await _ask(hub, "DELETE", path), 200, 503)


async def _trouble(shared: Serving) -> None:
    """Let the disk refuse everything for a while, now and then."""
    draws = shared.effects.chance.of("trouble")
    while True:
        await asyncio.sleep(draws.expovariate(1 / 20.0))
        shared.log.refusal = "no space left"
        await asyncio.sleep(draws.uniform(0.01, 3.0))
        shared.log.refusal = ""


async def _watch(shared: Serving, hub: InProcess, draws: Random) -> None:
    """List, follow for a while, list again: the copy must be what the list says."""
    while True:
        listed = _expect(await _ask(hub, "GET", PATH), 200)
        copy = _by_name(listed)
        since = listed["metadata"]["resourceVersion"]
        seconds = draws.randint(1, 15)
        query = f"watch=1&resourceVersion={since}&timeoutSeconds={seconds}"
        response = await hub.send(Request("GET", PATH, query, {"accept": "application/json"}))
        assert response.stream is not None, response.body
        last = int(since)
        async with closing(response.stream):
            async for chunk in response.stream:
                for line in chunk.splitlines():
                    last = _follow(copy, json.loads(line), last)
                    shared.events += 1
        await _check_copy(hub, copy, last)


def _follow(copy: dict[str, Any], event: dict[str, Any], last: int) -> int:
    """Apply one event to the copy and give its revision."""
    item, kind = event["object"], event["type"]
    revision, name = int(item["metadata"]["resourceVersion"]), item["metadata"]["name"]
    assert revision > last, "events come in order, once each"
    assert (name in copy) == (kind != "ADDED"), f"{kind} of {name} does not fit the copy"
    if kind == "DELETED":
        del copy[name]
    else:
        assert kind in ("ADDED", "MODIFIED"), event
        copy[name] = item
    return revision


async def _check_copy(hub: InProcess, copy: dict[str, Any], last: int) -> None:
    """What the watch made of the list is the list as of the last event."""
    query = f"resourceVersion={last}&resourceVersionMatch=Exact"
    answer = await _ask(hub, "GET", f"{PATH}?{query}")
    if answer.status != GONE:
        assert copy == _by_name(_expect(answer, 200))


def _by_name(listed: dict[str, Any]) -> dict[str, Any]:
    """The items by name. In a list they do not say their kind; each event says it."""
    named = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {item["metadata"]["name"]: {**named, **item} for item in listed["items"]}
