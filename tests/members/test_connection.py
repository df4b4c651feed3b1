"""One way to a member: paced, bounded, and soon silent about one that does not answer.

All of it in virtual time, so that seconds can be counted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from atoll.client.transport import Unreachable
from atoll.exchange import Request, Response
from atoll.members.connection import Connection, Lane, Limits, lane_of
from simulation.world import World, simulate

T = TypeVar("T")
READ = Request("GET", "/api/v1/namespaces/default/pods/p")
WRITE = Request("POST", "/api/v1/namespaces/default/pods", body=b"{}")
PROBE = Request("GET", "/readyz")
LIST = Request("GET", "/api/v1/pods", "limit=500")
WATCH = Request("GET", "/api/v1/pods", "watch=1&resourceVersion=7")


class Member:
    """A server that answers as it is told, and notes when it was asked."""

    def __init__(self) -> None:
        self.is_up = True
        self.takes_s = 0.0
        self.answers: list[Response] = []
        self.asked: list[float] = []
        self.at_once = 0
        self.most_at_once = 0
        self.is_closed = False

    async def send(self, request: Request) -> Response:
        self.asked.append(round(clock(), 3))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.takes_s)
        finally:
            self.at_once -= 1
        if not self.is_up:
            raise Unreachable("connection refused")
        if "watch=1" in request.query:
            return Response(200, stream=nothing())
        return self.answers.pop(0) if self.answers else Response(200, body=b"{}")

    async def close(self) -> None:
        self.is_closed = True


async def nothing():
    """A stream on which nothing ever comes."""
    await asyncio.Event().wait()
    yield b""


def clock() -> float:
    return asyncio.get_running_loop().time()


def story(
    tell: Callable[[Member, Connection], Awaitable[T]], limits: Limits | None = None
) -> tuple[T, Member]:
    """What happens between a member and those who ask it."""
    member = Member()

    async def main(world: World) -> T:
        limited = limits or Limits()
        return await tell(member, Connection("m1", member, world.effects("way"), limits=limited))

    return simulate(main, seed=1).value, member


async def lost(connection: Connection, request: Request = READ) -> str:
    with pytest.raises(Unreachable) as failed:
        await connection.send(request)
    return str(failed.value)


async def until_silent(member: Member, connection: Connection) -> None:
    member.is_up = False
    while not connection.is_silent:
        await lost(connection)


@pytest.mark.parametrize(
    ("request_", "lane"),
    [
        pytest.param(READ, Lane.USUAL, id="a read"),
        pytest.param(WRITE, Lane.USUAL, id="a write"),
        pytest.param(PROBE, Lane.PROBE, id="a question for its health"),
        pytest.param(LIST, Lane.FOLLOW, id="a list in pages"),
        pytest.param(WATCH, Lane.FOLLOW, id="a watch"),
        pytest.param(Request("PUT", "/readyz"), Lane.USUAL, id="a write that looks like one"),
    ],
)
def test_who_asks_is_told_by_the_request(request_, lane):
    assert lane_of(request_) is lane


def test_a_burst_goes_at_once_and_the_rest_at_the_rate():
    async def tell(_member, connection):
        await asyncio.gather(*(connection.send(WRITE) for _ in range(100)))

    _, member = story(tell, Limits(rate=40.0, burst=60))
    assert member.asked[59] == 0.0
    assert member.asked[60] == pytest.approx(0.025)
    assert member.asked[-1] == pytest.approx(1.0)


def test_probes_and_followers_do_not_wait_behind_many_writes():
    async def tell(member, connection):
        writes = [asyncio.ensure_future(connection.send(WRITE)) for _ in range(1000)]
        await asyncio.sleep(0.5)
        begun = clock()
        for request in (PROBE, LIST):
            await connection.send(request)
        waited_s = clock() - begun
        for each in writes:
            each.cancel()
        await asyncio.gather(*writes, return_exceptions=True)
        return waited_s

    assert story(tell)[0] == 0.0


def test_only_so_many_are_under_way_at_once():
    async def tell(member, connection):
        member.takes_s = 2.0
        await asyncio.gather(*(connection.send(WRITE) for _ in range(20)))
        return clock()

    took_s, member = story(tell, Limits(at_once=5))
    assert member.most_at_once == 5
    assert took_s == pytest.approx(8.0)


def test_an_answer_is_not_waited_for_for_ever():
    async def tell(member, connection):
        member.takes_s = 3600.0
        return await lost(connection), clock()

    (said, took_s), _ = story(tell, Limits(answer_s=30.0))
    assert said == "cluster m1: no answer within 30 s"
    assert took_s == pytest.approx(30.0)


def test_of_a_member_that_does_not_answer_others_are_told_at_once_and_what_is_known():
    async def tell(member, connection):
        await connection.send(READ)
        await until_silent(member, connection)
        asked = len(member.asked)
        said = [await lost(connection) for _ in range(100)]
        assert len(member.asked) == asked
        return said[0]

    said = story(tell)[0]
    assert said.startswith("cluster m1 has not answered since 20")
    assert "(connection refused); next attempt in 1 s" in said


def test_one_that_answers_again_is_asked_by_all():
    async def tell(member, connection):
        await until_silent(member, connection)
        member.is_up = True
        while connection.is_silent:
            await asyncio.sleep(0.1)
            try:
                await connection.send(READ)
            except Unreachable:
                continue
        return clock()

    assert story(tell)[0] < 2.0


def test_a_question_for_its_health_always_passes_and_its_answer_counts():
    async def tell(member, connection):
        await until_silent(member, connection)
        member.is_up = True
        await connection.send(PROBE)
        assert not connection.is_silent
        await connection.send(READ)

    story(tell)


def test_whoever_goes_away_after_long_without_an_answer_counts_as_a_failure():
    async def tell(member, connection):
        member.takes_s = 3600.0
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(10):
                    await connection.send(PROBE)
        return connection.is_silent

    assert story(tell)[0]


def test_followers_wait_until_it_answers_and_do_not_come_all_at_once():
    async def tell(member, connection):
        await until_silent(member, connection)
        waiting = [asyncio.ensure_future(connection.send(LIST)) for _ in range(8)]
        await asyncio.sleep(6.0)
        tried = len(member.asked)
        member.is_up = True
        back = clock()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        good = [each for each in results if isinstance(each, Response)]
        return tried, len(good), len({each for each in member.asked if each >= back})

    tried, good, moments = story(tell)[0]
    assert tried <= 3 + 4  # one at a time, ever more rarely
    assert good >= 4
    assert moments >= good  # each at its own


def test_a_stream_ends_when_the_member_goes_silent():
    async def tell(member, connection):
        watched = await connection.send(WATCH)
        ended = asyncio.ensure_future(anext(watched.stream))
        await asyncio.sleep(1.0)
        assert not ended.done()
        await until_silent(member, connection)
        with pytest.raises(Unreachable):
            await ended
        await watched.stream.aclose()
        return clock()

    assert story(tell)[0] < 10.0


def test_a_stream_on_which_nothing_comes_ends_in_the_end():
    async def tell(_member, connection):
        watched = await connection.send(WATCH)
        with pytest.raises(Unreachable):
            await anext(watched.stream)
        await watched.stream.aclose()
        return clock()

    assert story(tell, Limits(silence_s=900.0))[0] == pytest.approx(900.0)


def test_one_who_is_asked_to_come_later_does_and_so_do_others():
    async def tell(member, connection):
        member.answers = [Response(429, {"retry-after": "5"})]
        first = await connection.send(WRITE)
        return first.status, clock(), member.asked

    (status, took_s, asked), _ = story(tell)
    assert status == 200
    assert took_s == pytest.approx(5.0)
    assert asked == [0.0, 5.0]


def test_followers_who_are_asked_to_come_later_do_so_too():
    async def tell(member, connection):
        member.answers = [Response(429, {"retry-after": "5"})]
        return (await connection.send(LIST)).status, member.asked

    assert story(tell)[0] == (200, [0.0, 5.0])


def test_one_who_is_always_asked_to_come_later_is_told_so_in_the_end():
    async def tell(member, connection):
        member.answers = [Response(429, {"retry-after": "1"})] * 10
        return (await connection.send(WRITE)).status, len(member.asked)

    assert story(tell)[0] == (429, 3)


def test_whoever_is_told_hears_of_every_turn_and_so_does_the_log(caplog):
    caplog.set_level(logging.INFO, logger="atoll.members")
    member, turns = Member(), []

    async def main(world):
        def turned():
            turns.append(connection.is_silent)

        connection = Connection("m1", member, world.effects("way"), turned=turned)
        await until_silent(member, connection)
        member.is_up = True
        await connection.send(PROBE)
        await connection.close()

    simulate(main, seed=2)
    assert turns == [True, False]
    lost, back = caplog.messages
    assert lost.startswith("Cluster m1 does not answer: ")
    assert back == "Cluster m1 answers again"
    assert member.is_closed
