"""Candidates on our own API server, in virtual time: when who leads, and what the Lease says."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient, Missing
from atoll.client.collection import Collection
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport, Unreachable
from atoll.exchange import Peer, Request, Response
from atoll.hosting.electing import SEAT, StillWorking, Term, Work, lead
from atoll.hosting.leading import LeaseTimes
from atoll.runtime.supervisor import Supervisor
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from simulation.world import World, simulate

ADMIN = Peer("admin", (MASTERS,))
TIMES = LeaseTimes()
LEASES = Collection(SEAT.api_version, SEAT.kind, "leases", namespaced=True)
NAMESPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def now() -> float:
    return asyncio.get_running_loop().time()


class Line:
    """A way to the server that can be cut: then nothing is heard any more."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.is_cut = False

    async def send(self, request: Request) -> Response:
        if self.is_cut:
            await asyncio.sleep(3600)
            raise Unreachable("nobody answered")
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


@dataclass
class Host:
    world: World
    api: ApiClient
    inner: Transport
    told: list[tuple[str, float, str]] = field(default_factory=list)

    def candidate(self, name: str, work: Work | None = None) -> "One":
        line = Line(self.inner)
        doing = work or self.working(name)
        coro = lead(ApiClient(line), name, TIMES, doing, self.world.effects(name))
        return One(name, line, asyncio.get_running_loop().create_task(coro, name=name))

    def working(self, name: str) -> Work:
        async def work(term: Term) -> None:
            assert term.left_s > 0
            self.told.append((name, now(), "begins"))
            try:
                await asyncio.Event().wait()
            finally:
                self.told.append((name, now(), "ends"))

        return work

    async def lease(self) -> dict[str, Any]:
        return await self.api.get(LEASES.path(SEAT.namespace, SEAT.name))

    async def until(self, name: str, what: str = "begins") -> float:
        """When this was told last, waited for if it was not."""
        async with asyncio.timeout(240):
            while True:
                for who, at, told in reversed(self.told):
                    if (who, told) == (name, what):
                        return at
                await asyncio.sleep(0.01)


@dataclass
class One:
    name: str
    line: Line
    task: asyncio.Task[None]

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


def on_a_host(story: Callable[[Host], Awaitable[None]]) -> None:
    """Run a story on a host that has the namespace of the Lease, and stop what is left of it."""

    async def main(world: World) -> None:
        effects = world.effects("host")
        store = Store.open(MemoryLog())
        async with Supervisor("host", effects.chance) as supervisor:
            supervisor.start("store", store.run)
            server = assemble(store, effects, kinds=plane_kinds(effects))
            await server.start()
            for name, service in server.services.items():
                supervisor.start(name, service)
            inner = InProcess(server.handle, ADMIN)
            api = ApiClient(inner)
            namespace = {"apiVersion": "v1", "kind": "Namespace"}
            await api.create(NAMESPACES, {**namespace, "metadata": {"name": SEAT.namespace}})
            await story(Host(world, api, inner))
        await store.close()

    simulate(main, seed=1)


def test_the_first_one_leads_at_once_and_the_lease_reads_as_kubectl_expects():
    async def story(host: Host) -> None:
        one = host.candidate("one_1")
        assert await host.until("one_1") < 0.1
        spec = (await host.lease())["spec"]
        assert spec["holderIdentity"] == "one_1"
        assert spec["leaseDurationSeconds"] == 15
        assert spec["leaseTransitions"] == 0
        assert spec["acquireTime"] == spec["renewTime"]
        await asyncio.sleep(60)
        later = (await host.lease())["spec"]
        assert later["acquireTime"] == spec["acquireTime"] < later["renewTime"]
        assert later["leaseTransitions"] == 0
        await one.stop()

    on_a_host(story)


def test_one_that_is_stopped_in_good_order_is_followed_at_once():
    async def story(host: Host) -> None:
        one = host.candidate("one")
        await host.until("one")
        two = host.candidate("two")
        await asyncio.sleep(30)
        assert not any(who == "two" for who, _, _ in host.told)
        await one.stop()
        ended = await host.until("one", "ends")
        assert 0 <= await host.until("two") - ended < 0.1
        assert (await host.lease())["spec"]["leaseTransitions"] == 2 - 1
        await two.stop()
        spec = (await host.lease())["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)

    on_a_host(story)


@pytest.mark.parametrize("after_s", [20.0, 21.0, 21.999])
def test_one_that_is_cut_off_stops_before_another_begins_within_the_lease_time(after_s):
    async def story(host: Host) -> None:
        one = host.candidate("one")
        await host.until("one")
        two = host.candidate("two")
        await asyncio.sleep(after_s)
        one.line.is_cut, cut_at = True, now()
        begun = await host.until("two")
        assert begun - cut_at <= TIMES.duration_s + 0.1
        ended = await host.until("one", "ends")
        assert ended >= cut_at + TIMES.renew_deadline_s - TIMES.retry_s
        assert begun - ended > TIMES.duration_s - TIMES.renew_deadline_s - 0.1
        await asyncio.sleep(60)
        one.line.is_cut = False
        await asyncio.sleep(60)
        assert [who for who, _, told in host.told if told == "begins"] == ["one", "two"]
        await two.stop()
        await one.stop()

    on_a_host(story)


def test_a_host_that_was_away_for_a_moment_changes_nothing():
    async def story(host: Host) -> None:
        one = host.candidate("one")
        await host.until("one")
        one.line.is_cut = True
        await asyncio.sleep(TIMES.renew_deadline_s - TIMES.retry_s - 0.5)
        one.line.is_cut = False
        await asyncio.sleep(60)
        assert [(who, told) for who, _, told in host.told] == [("one", "begins")]
        await one.stop()

    # What was sent while it was cut is lost: the next renewal must come in time.
    on_a_host(story)


def test_a_leader_whose_name_is_taken_off_the_lease_steps_down_at_once():
    async def story(host: Host) -> None:
        one = host.candidate("one")
        await host.until("one")
        lease = await host.lease()
        await host.api.replace(
            LEASES, {**lease, "spec": {**lease["spec"], "holderIdentity": "somebody"}}
        )
        taken_at = now()
        assert await host.until("one", "ends") - taken_at < 0.1
        await asyncio.sleep(TIMES.duration_s + 1)
        assert (await host.lease())["spec"]["holderIdentity"] == "one"
        assert [told for _, _, told in host.told] == ["begins", "ends", "begins"]
        await one.stop()

    on_a_host(story)


def test_a_lease_that_is_removed_is_made_again_by_its_holder():
    async def story(host: Host) -> None:
        one = host.candidate("one")
        await host.until("one")
        two = host.candidate("two")
        await asyncio.sleep(5)
        await host.api.delete(LEASES, await host.lease())
        await asyncio.sleep(30)
        assert (await host.lease())["spec"]["holderIdentity"] == "one"
        assert [(who, told) for who, _, told in host.told] == [("one", "begins")]
        await two.stop()
        await one.stop()

    on_a_host(story)


def test_work_that_fails_ends_the_candidate_and_lets_the_next_one_lead_at_once():
    async def story(host: Host) -> None:
        async def fail(term: Term) -> None:
            await asyncio.sleep(5)
            raise ValueError("this work cannot be done")

        one = host.candidate("one", fail)
        await asyncio.sleep(1)
        two = host.candidate("two")
        with pytest.raises(ValueError, match="this work cannot be done"):
            await one.task
        assert await host.until("two") - now() < 0.1
        await two.stop()

    on_a_host(story)


def test_work_that_comes_to_its_end_gives_the_lease_up():
    async def story(host: Host) -> None:
        async def work(term: Term) -> None:
            await asyncio.sleep(5)

        await host.candidate("one", work).task
        assert (await host.lease())["spec"]["holderIdentity"] == ""

    on_a_host(story)


def test_work_that_does_not_stop_is_told_and_the_lease_is_not_given_up():
    async def story(host: Host) -> None:
        async def stubborn(term: Term) -> None:
            while now() < 100:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(1)

        one = host.candidate("one", stubborn)
        await asyncio.sleep(1)
        one.task.cancel()
        with pytest.raises(StillWorking, match="still goes on after"):
            await one.task
        assert now() < 60
        assert (await host.lease())["spec"]["holderIdentity"] == "one"
        await asyncio.sleep(100)

    on_a_host(story)


def test_what_is_guarded_writes_only_while_the_term_lasts():
    async def story(host: Host) -> None:
        guarded: list[ApiClient] = []

        async def work(term: Term) -> None:
            guarded.append(ApiClient(term.guard(host.inner)))
            await asyncio.Event().wait()

        one = host.candidate("one", work)
        await asyncio.sleep(1)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}}
        await guarded[0].create(NAMESPACES, namespace)
        await one.stop()
        made = await guarded[0].get(NAMESPACES.path(name="made"))
        with pytest.raises(Unreachable, match="DELETE /api/v1/namespaces/made is left to whoever"):
            await guarded[0].delete(NAMESPACES, made)

    on_a_host(story)


def test_a_host_without_the_namespace_is_asked_again_and_not_all_the_time():
    async def story(host: Host) -> None:
        seat = type(SEAT)(SEAT.api_version, SEAT.kind, "nowhere", SEAT.name)
        asked: list[str] = []

        class Counted(Line):
            async def send(self, request: Request) -> Response:
                asked.append(request.method)
                return await super().send(request)

        api = ApiClient(Counted(host.inner))
        work, effects = host.working("one"), host.world.effects("one")
        coro = lead(api, "one", TIMES, work, effects, seat=seat)
        task = asyncio.get_running_loop().create_task(coro, name="one")
        await asyncio.sleep(20)
        assert asked.count("POST") <= 11
        await host.api.create(
            NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nowhere"}},
        )
        assert await host.until("one") < 23
        await One("one", Line(host.inner), task).stop()

    on_a_host(story)


def test_a_candidate_that_was_stopped_before_it_led_leaves_no_lease():
    async def story(host: Host) -> None:
        one = host.candidate("one")
        await one.stop()
        with pytest.raises(Missing):
            await host.lease()

    on_a_host(story)
