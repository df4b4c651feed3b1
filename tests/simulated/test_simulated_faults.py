"""Faults on request: what a client sees over the network of a member that is lost or slow."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.client.https import Https, Patience
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.transport import Transport, Unreachable, closing
from atoll.config import Config
from atoll.effects import system_effects
from atoll.errors import UsageError
from atoll.exchange import Peer, Request, Response
from atoll.simulated.faults import FaultRequests, Gate
from atoll.simulated.fleets import Description, Pool
from atoll.simulated.hosting import hosting

ADMIN = Peer("kubernetes-admin", ("system:masters",))
LIVE = Request("GET", "/readyz")
NAMESPACES = Request("GET", "/api/v1/namespaces")
SHORT = Patience(connect_s=0.5, answer_s=0.5)


def described(name: str) -> Description:
    return Description(name=name, pools=(Pool(count=1, cpu="4", memory="8Gi"),))


@asynccontextmanager
async def one_member(home: Path) -> AsyncIterator[tuple[Gate, Transport]]:
    config = Config(home)
    async with hosting([described("m")], config, system_effects()) as gates:
        way = Https(read_kubeconfig(config.member("m").kubeconfig))
        try:
            yield gates["m"], way
        finally:
            await way.close()


def check(home: Path, use: Callable[[Gate, Transport], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(120), one_member(home) as (gate, way):
            await use(gate, way)

    asyncio.run(main())


async def answers(way: Transport) -> bool:
    try:
        return (await way.send(LIVE)).status == 200
    except Unreachable:
        return False


async def watch(way: Transport) -> Response:
    """A watch that has begun."""
    response = await way.send(Request("GET", "/api/v1/namespaces", "watch=true"))
    assert response.stream is not None
    await anext(response.stream)
    return response


async def read_on(response: Response) -> None:
    """Read a watch, and what has arrived of it, until it breaks."""
    assert response.stream is not None
    async with closing(response.stream):
        while True:
            await anext(response.stream)


def test_a_killed_member_refuses_and_breaks_what_is_open_until_it_is_healed(
    tmp_path: Path,
) -> None:
    async def use(gate: Gate, way: Transport) -> None:
        open_watch = await watch(way)
        url = gate.door.url
        await gate.kill()
        with pytest.raises(Unreachable):
            await read_on(open_watch)
        with pytest.raises(Unreachable, match="did not answer"):
            await way.send(LIVE)
        assert gate.state()["answers"] == "refuses"
        await gate.kill()  # it is gone already
        await gate.heal()
        assert await answers(way)
        assert (gate.door.url, gate.state()["answers"]) == (url, "yes")

    check(tmp_path, use)


def test_a_member_that_hangs_takes_connections_and_says_nothing(tmp_path: Path) -> None:
    async def use(gate: Gate, way: Transport) -> None:
        await gate.kill(hang=True)
        hurried = Https(read_kubeconfig(Config(tmp_path).member("m").kubeconfig), SHORT)
        with pytest.raises(Unreachable):
            await hurried.send(LIVE)
        await hurried.close()
        assert gate.state()["answers"] == "silent"
        waiting = asyncio.ensure_future(way.send(LIVE))
        await asyncio.sleep(0)
        await gate.heal()
        assert (await waiting).status == 200  # whoever has waited long enough is served

    check(tmp_path, use)


def test_dying_in_one_way_after_another_is_told(tmp_path: Path) -> None:
    async def use(gate: Gate, way: Transport) -> None:
        for hang, told in ((True, "silent"), (False, "refuses"), (True, "silent")):
            await gate.kill(hang=hang)
            assert gate.state()["answers"] == told
        await gate.heal()
        assert await answers(way)

    check(tmp_path, use)


def test_a_slow_member_answers_late_and_a_healed_one_at_once(tmp_path: Path) -> None:
    async def use(gate: Gate, way: Transport) -> None:
        gate.slow(3600.0)
        asked = asyncio.ensure_future(way.send(NAMESPACES))
        done, _ = await asyncio.wait([asked], timeout=0.2)
        assert not done
        asked.cancel()
        gate.slow(0.01)
        assert await answers(way)
        assert gate.state()["slowSeconds"] == 0.01
        await gate.heal()
        assert gate.state()["slowSeconds"] == 0.0

    check(tmp_path, use)


def test_a_flapping_member_comes_and_goes_until_it_is_healed(tmp_path: Path) -> None:
    async def use(gate: Gate, way: Transport) -> None:
        gate.flap(0.05)
        for wanted in (False, True, False):
            while await answers(way) is not wanted:
                await asyncio.sleep(0.005)
        assert gate.state()["flapSeconds"] == 0.05
        await gate.heal()
        assert await answers(way)
        assert gate.state()["flapSeconds"] == 0.0

    check(tmp_path, use)


def test_dropped_watches_break_and_nothing_else(tmp_path: Path) -> None:
    async def use(gate: Gate, way: Transport) -> None:
        open_watch = await watch(way)
        assert gate.drop_watches() == 1
        with pytest.raises(Unreachable):
            await read_on(open_watch)
        assert await answers(way)
        await gate.kill()
        assert gate.drop_watches() == 0

    check(tmp_path, use)


def test_what_cannot_be_read_of_one_member_is_told_and_left_alone(tmp_path: Path) -> None:
    config, damaged = Config(tmp_path), b"no database " * 500
    config.member("b").data_dir.mkdir(parents=True)
    config.member("b").store_file.write_bytes(damaged)

    async def main() -> None:
        with pytest.raises(UsageError, match=r"^member b cannot start; .* is damaged.*; try: move"):
            async with hosting([described("a"), described("b")], config, system_effects()):
                raise AssertionError("it must not come to this")

    asyncio.run(main())
    assert config.member("b").store_file.read_bytes() == damaged


def test_members_that_are_ended_while_they_start_end_in_good_order(tmp_path: Path) -> None:
    config = Config(tmp_path)

    async def run() -> None:
        async with hosting([described("m")], config, system_effects()):
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(run())
        async with asyncio.timeout(120):
            while not config.member("m").data_dir.exists():
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


async def ask(faults: FaultRequests, method: str, path: str, **how: Any) -> tuple[int, Any]:
    sent = Request(method, path, "", {}, json.dumps(how).encode(), peer=ADMIN)
    answer = await faults.handle(sent)
    return answer.status, json.loads(answer.body)


def test_faults_are_carried_out_for_administrators_by_name(tmp_path: Path) -> None:
    async def use(gate: Gate, way: Transport) -> None:
        faults = FaultRequests({"m": gate}, {"pid": 7})
        code, told = await ask(faults, "GET", "/faults")
        assert (code, told["pid"]) == (200, 7)
        assert [each["answers"] for each in told["clusters"]] == ["yes"]
        assert (await ask(faults, "POST", "/faults/m/kill"))[1]["answers"] == "refuses"
        assert not await answers(way)
        assert (await ask(faults, "POST", "/faults/m/heal"))[1]["answers"] == "yes"
        assert (await ask(faults, "POST", "/faults/m/slow", seconds=1))[1]["slowSeconds"] == 1.0
        assert (await ask(faults, "POST", "/faults/m/flap", seconds=9))[1]["flapSeconds"] == 9.0
        assert (await ask(faults, "POST", "/faults/m/drop-watch"))[1]["broken"] == 0
        assert (await ask(faults, "POST", "/faults/m/fill", percent=50))[0] == 200
        nodes = gate.member.keeper.hosts.places
        assert nodes.used_on("node-1")["cpu"] == 2000
        assert (await ask(faults, "POST", "/faults/m/lose-node", node="node-1"))[0] == 200
        assert (await ask(faults, "POST", "/faults/m/find-node", node="node-1"))[0] == 200
        code, told = await ask(faults, "POST", "/faults/m/lose-node", node="node-9")
        assert (code, told["message"]) == (400, 'there is no node "node-9"; try: one of node-1')
        refused = {
            ("GET", "/faults/m"): 405,
            ("POST", "/faults/other/kill"): 404,
            ("POST", "/faults/m/burn"): 404,
            ("POST", "/faults/m"): 404,
            ("POST", "/faults/m/flap"): 400,
        }
        for (method, path), wanted in refused.items():
            assert (await ask(faults, method, path))[0] == wanted, path
        nobody = await faults.handle(Request("POST", "/faults/m/kill"))
        assert nobody.status == 403

    check(tmp_path, use)
