"""The real store on a bad disk: writers, watchers, refusals and crashes, life after life.

A world comes in; the tally of what happened goes out. Every acknowledged write must be there after
each crash, nothing may be read that is later taken back, and each watcher's copy, built from one
list and the events since, must at all times be what the store said.
"""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from random import Random

from atoll.effects import Chance
from atoll.errors import Gone
from atoll.runtime.supervisor import Supervisor
from atoll.store.history import Limits
from atoll.store.memory import MemoryLog
from atoll.store.record import Event, Record
from atoll.store.store import Put, Remove, Store
from simulation.ledger import Ledger
from simulation.world import World

COUNTERS = "counters"
FLEETING = "fleeting"
NAMES = 24
# How long a watcher may pause; the last one falls behind.
PAUSES_S = (0.0, 0.5, 60.0)
# Little history, so that slow watchers fall behind it and have to list again.
LIMITS = Limits(history_s=20.0, history_events=200, slice_events=20, group_rows=8)


@dataclass
class Storing:
    """What the scenario shares between its lives."""

    world: World
    chance: Chance
    log: MemoryLog
    ledger: Ledger = field(default_factory=Ledger)
    crashes: int = 0
    relists: int = 0
    events: int = 0


async def store_under_faults(world: World, virtual_s: float = 600.0) -> Storing:
    """Open, use and lose the store again and again; at the end everything must add up."""
    chance = world.effects("hub").chance
    disk = chance.of("disk")
    shared = Storing(world, chance, MemoryLog(delay_s=lambda: disk.expovariate(200.0)))
    end = asyncio.get_running_loop().time() + virtual_s
    while asyncio.get_running_loop().time() < end:
        await _live_once(shared)
    shared.ledger.settle(_counts(Store.open(shared.log, LIMITS)))
    return shared


async def _live_once(shared: Storing) -> None:
    draws = shared.chance.of("lives")
    store = Store.open(shared.log, LIMITS)
    shared.world.note(f"opened: {store.found}")
    shared.ledger.settle(_counts(store))
    async with Supervisor("store", shared.chance) as process:
        process.start("store", store.run)
        async with Supervisor("clients", shared.chance) as clients:
            for n in range(4):
                clients.start(f"writer-{n}", partial(_write, shared, store, f"writer-{n}"))
            for n in range(3):
                clients.start(f"watcher-{n}", partial(_watch, shared, store, f"watcher-{n}"))
            clients.start("trouble", partial(_trouble, shared))
            await asyncio.sleep(draws.uniform(1.0, 60.0))
            crashes = draws.random() < 0.7
            if crashes:
                shared.crashes += 1
                kept = draws.random() < 0.5
                shared.world.note(f"crash at revision {store.revision}, kept={kept}")
                shared.log.crash(kept=kept)
        shared.log.refusal = ""
        if not crashes:
            await store.close()
            shared.world.note(f"closed at revision {store.revision}")


def _counts(store: Store) -> dict[str, int]:
    return {record.name: int(record.value) for record in store.page(COUNTERS).records}


async def _write(shared: Storing, store: Store, who: str) -> None:
    draws = shared.chance.of(who)
    while True:
        await asyncio.sleep(draws.expovariate(5.0))
        # Some names are written all the time, others outlive the history they were written in.
        name = f"n{int(NAMES * draws.random() ** 4)}"
        if draws.random() < 0.2:
            with Ledger().write(name):
                await store.write(FLEETING, name, _toggle)
            continue
        with shared.ledger.write(name):
            written = await store.write(COUNTERS, name, _count_up)
            committed = store.get(COUNTERS, name)
            assert committed is not None, "an acknowledged write can be read"
            assert committed.revision >= written.revision
        _read_all(shared.ledger, store)


def _count_up(current: Record | None, _revision: int) -> Put:
    return Put(str(int(current.value) + 1 if current else 1).encode())


def _toggle(current: Record | None, _revision: int) -> Put | Remove:
    return Put(b"here") if current is None else Remove(current.value)


def _read_all(ledger: Ledger, store: Store) -> None:
    counts = _counts(store)
    for n in range(NAMES):
        ledger.read(f"n{n}", counts.get(f"n{n}", 0))


async def _trouble(shared: Storing) -> None:
    """Let the disk refuse everything for a while, now and then."""
    draws = shared.chance.of("trouble")
    while True:
        await asyncio.sleep(draws.expovariate(1 / 20.0))
        shared.log.refusal = "no space left"
        shared.world.note("the disk refuses")
        await asyncio.sleep(draws.uniform(0.01, 3.0))
        shared.log.refusal = ""
        shared.world.note("the disk accepts")


async def _watch(shared: Storing, store: Store, who: str) -> None:
    """Follow both collections, slowly; where history is gone, list again."""
    draws = shared.chance.of(who)
    while True:
        try:
            await _follow(shared, store, draws, draws.choice((COUNTERS, FLEETING)))
        except Gone:
            shared.relists += 1
            shared.world.note("fell behind and lists again")


async def _follow(shared: Storing, store: Store, draws: Random, collection: str) -> None:
    page = store.page(collection)
    copy = {record.name: record for record in page.records}
    watch = store.watch(collection, page.revision)
    last = page.revision
    pause_s = draws.choice(PAUSES_S)
    while True:
        await watch.wait()
        for event in watch.take(draws.randint(1, 5)):
            assert event.revision > last, "events come in order, once each"
            last = event.revision
            _apply(copy, event)
            shared.events += 1
        if watch.revision == store.revision:
            _check_same(copy, store.page(collection).records)
        await asyncio.sleep(draws.uniform(0.0, pause_s))


def _apply(copy: dict[str, Record], event: Event) -> None:
    name = event.after.name
    before = copy.get(name)
    told = event.before.revision if event.before else None
    assert (before.revision if before else None) == told, f"{name}: an event was missed"
    if event.removed:
        del copy[name]
    else:
        copy[name] = event.after


def _check_same(copy: dict[str, Record], records: list[Record]) -> None:
    there = {record.name: record.revision for record in records}
    assert {name: record.revision for name, record in copy.items()} == there
