"""python -m bench.members: whether members that hang or flap slow down the others.

A plane with thirty simulated members, all in one process. Deployments are applied one after the
other, each for all members; measured is the time until the twenty good ones have it. Rounds in
which all is well take turns with rounds in which five members hang and five come and go, so that a
slow minute of the machine counts for both. What is reported is how many times as long it takes.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from statistics import median

import orjson
import uvloop

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient, Collection
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.config import USUAL_TIMES, Times
from atoll.control.hub import Hub
from atoll.control.running import controlling
from atoll.effects import Effects, system_effects
from atoll.exchange import Peer
from atoll.main import Plane, run
from atoll.runtime.children import Children
from atoll.runtime.memory import settle_memory
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.store.record import Event
from atoll.store.store import Store
from atoll.wire import Object, Wire
from bench.arithmetic import percentile
from bench.propagation import deployment
from simulation.link import LinkedMember, build

ADMINISTRATOR = Peer("bench", (MASTERS,))
CLUSTERS = Collection("cluster.karmada.io/v1alpha1", "Cluster", "clusters", namespaced=False)
DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)
POLICIES = Collection(
    "policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", namespaced=True
)
GOOD, HANGING, FLAPPING = 20, 5, 5
FOR_EVER_S = 3600.0
FLAP_S = 1.5
PAUSE_S = 0.6  # so that what is told of one does not hold up the next
READY_WITHIN_S = 120.0
ALLOWED = 1.2
# Those who come and go are believed to, and the plane acts on it, all the time.
EAGER = Times(
    cluster_status_update_frequency=2.0,
    cluster_failure_threshold=4.0,
    cluster_success_threshold=4.0,
)


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int
    applied: int  # in each half of a round


FULL = Sizes(rounds=4, applied=60)
QUICK = Sizes(rounds=3, applied=15)


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds until all good members had what was applied, by rounds."""

    well: list[list[float]] = field(default_factory=list)
    troubled: list[list[float]] = field(default_factory=list)

    def ratio(self, share: float) -> float:
        """How many times as long it took in trouble: the median of the rounds."""
        pairs = zip(self.troubled, self.well, strict=True)
        return median(percentile(one, share) / percentile(two, share) for one, two in pairs)


class Arrivals:
    """Tells when all good members have something."""

    def __init__(self, members: Sequence[LinkedMember]) -> None:
        self._missing: dict[str, int] = {}
        self._all = asyncio.Event()
        self._count = len(members)
        for member in members:
            member.store.listen(self._committed)

    async def of(self, name: str, apply: Awaitable[object]) -> float:
        """Milliseconds from applying something until it is everywhere."""
        self._missing[name] = self._count
        self._all.clear()
        begun = time.perf_counter()
        async with asyncio.timeout(READY_WITHIN_S):
            await apply
            await self._all.wait()
        return 1000 * (time.perf_counter() - begun)

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == "deployments.apps" and event.before is None:
                self._note(event.after.name.rpartition("/")[2])

    def _note(self, name: str) -> None:
        if name in self._missing:
            self._missing[name] -= 1
            if not self._missing[name]:
                self._all.set()


@dataclass(frozen=True, slots=True)
class Scene:
    """A plane, and its members by how they behave when there is trouble."""

    user: ApiClient
    hub: Hub
    good: list[LinkedMember]
    hanging: list[LinkedMember]
    flapping: list[LinkedMember]

    @property
    def all(self) -> list[LinkedMember]:
        return [*self.good, *self.hanging, *self.flapping]


@asynccontextmanager
async def scene(times: Times) -> AsyncIterator[Scene]:
    """A plane in memory with thirty members that are ready."""
    effects = system_effects()
    members = [build(f"m{number:02}", effects) for number in range(GOOD + HANGING + FLAPPING)]
    ways = {each.name: each.transport for each in members}

    def reach(cluster: Object, _secret: Object | None) -> Transport:
        return ways[cluster["metadata"]["name"]]

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(*members))
        plane = await _served(effects, stack)
        hub = await stack.enter_async_context(controlling(plane, effects, reach=reach, times=times))
        user = ApiClient(plane)
        for each in members:
            each.keeper.give_way(hub.turns)
            await user.create(CLUSTERS, cluster(each.name))
        await user.create(POLICIES, policy())
        good, rest = members[:GOOD], members[GOOD:]
        it = Scene(user, hub, good, rest[:HANGING], rest[HANGING:])
        await _until(lambda: _is_well(it))
        yield it


async def _served(effects: Effects, stack: AsyncExitStack) -> Transport:
    store = Store.open(MemoryLog())
    server = assemble(store, effects, kinds=plane_kinds(effects))
    await run(Plane(store, server), effects, stack)
    return InProcess(server.handle, ADMINISTRATOR)


def cluster(name: str) -> Wire:
    kind = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind}
    return {**kind, "metadata": {"name": name}, "spec": {"syncMode": "Push"}}


def paused(name: str) -> Wire:
    """A Deployment that makes no pods: those would be the work of other machines."""
    wire = deployment(name)
    return {**wire, "spec": {**wire["spec"], "paused": True}}


def policy() -> Wire:
    """All goes to all, whatever they are said to be: nothing is less work in trouble."""
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"namespace": "default", "name": "everywhere"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"clusterTolerations": [{"operator": "Exists"}]},
        },
    }


def _is_well(it: Scene) -> bool:
    """Whether all are ready, and have all there is."""
    wanted = len(it.hub.plane.all("apps/v1", "Deployment"))
    there = [len(each.store.page("deployments.apps").records) for each in it.all]
    known = [it.hub.cluster(each.name) for each in it.all]
    return min(there) >= wanted and all(each is not None and each.ready for each in known)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(READY_WITHIN_S):
        while not holds():
            await asyncio.sleep(0.1)


@asynccontextmanager
async def trouble(it: Scene) -> AsyncIterator[None]:
    """Some hang and some come and go for the length of the block; then all is well again."""
    async with Children("trouble") as children:
        for each in it.hanging:
            each.slow(FOR_EVER_S)
        for number, each in enumerate(it.flapping):
            children.spawn(_flap(each, FLAP_S * (1 + number / FLAPPING)), each.name)
        await asyncio.sleep(2 * FLAP_S)
        yield
    for each in (*it.hanging, *it.flapping):
        each.kill()  # what hangs is broken off, as when a machine is restarted
        each.heal()
    await _until(lambda: _is_well(it))


async def _flap(member: LinkedMember, pause_s: float) -> None:
    while True:
        member.kill()
        await asyncio.sleep(pause_s)
        member.heal()
        await asyncio.sleep(pause_s)


async def measure(sizes: Sizes, times: Times, say: Callable[[str], None]) -> Measured:
    """Rounds of calm and trouble in turns; before them, one that does not count."""
    measured, number = Measured(), 0
    async with scene(times) as it:
        arrivals = Arrivals(it.good)
        settle_memory()

        async def applied() -> list[float]:
            nonlocal number
            found = []
            for _ in range(sizes.applied):
                number += 1
                wire = paused(f"bench-{number}")
                applying = it.user.create(DEPLOYMENTS, wire)
                found.append(await arrivals.of(f"bench-{number}", applying))
                await asyncio.sleep(PAUSE_S)
            return found

        await applied()
        await _until(lambda: _is_well(it))
        for turn in range(sizes.rounds):
            measured.well.append(await applied())
            async with trouble(it):
                measured.troubled.append(await applied())
            both = f"{_told(measured.well[-1])}; in trouble {_told(measured.troubled[-1])}"
            say(f"round {turn + 1}: {both}")
    return measured


def _told(found: list[float]) -> str:
    return f"p50 {percentile(found, 0.5):.0f} ms, p99 {percentile(found, 0.99):.0f} ms"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.members", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less exact")
    parser.add_argument("-o", dest="output", choices=["table", "json"], default="table")
    parser.add_argument("--eager", action="store_true", help="believe every change in seconds")
    options = parser.parse_args(arguments)
    times = EAGER if options.eager else USUAL_TIMES
    logging.disable(logging.CRITICAL)  # that members do not answer is what is wanted here
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        measured = runner.run(measure(QUICK if options.quick else FULL, times, _say))
    ratios = {"p50": measured.ratio(0.5), "p99": measured.ratio(0.99)}
    if options.output == "json":
        print(orjson.dumps({"rounds": asdict(measured), "ratios": ratios}).decode())
    else:
        print(f"with {HANGING} hanging and {FLAPPING} flapping of 30 members, on the other {GOOD}:")
        print(f"p50 x {ratios['p50']:.2f}, p99 x {ratios['p99']:.2f} (at most x {ALLOWED})")
    return 0 if ratios["p99"] <= ALLOWED else 1


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
