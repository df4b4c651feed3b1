"""Spans on their way to a collector: taken, put off, refused, dropped, and sent at the end."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.client.transport import Unreachable
from atoll.config import TracingChoice
from atoll.effects import Chance
from atoll.exchange import Request, Response
from atoll.runtime.children import Children
from atoll.tracing.context import Context
from atoll.tracing.exporting import BATCH, ROOM, TRIES, Exporter, exporting
from atoll.tracing.span import Span
from simulation.world import World, simulate
from testenv.collector import Answer, Collector, collecting

PATIENCE_S = 60.0


def span(number: int = 1) -> Span:
    return Span(name="detect", context=Context("a" * 32, f"{number:016x}"), began_ns=1, ended_ns=2)


def counted(exporter: Exporter) -> dict[str, float]:
    """How many spans had which fate, and how many wait."""
    counter, waiting = exporter.numbers()
    found = {labels[0][1]: number for _, labels, number in counter[3]}
    return {**found, "waiting": next(number for _, _, number in waiting[3])}


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.005)


def sent_to(collector: Collector) -> TracingChoice:
    return TracingChoice(endpoint=f"{collector.url}/v1/traces", service="plane")


def test_spans_arrive_together_and_say_whose_they_are() -> None:
    async def main(collector: Collector) -> None:
        async with exporting(sent_to(collector), Chance("seed")) as exporter:
            for number in range(3):
                exporter.keep(span(number + 1))
            await until(lambda: collector.spans)
            assert counted(exporter) == {"exported": 3, "waiting": 0}

    with collecting() as collector:
        asyncio.run(main(collector))
    ((_, path, headers, body),) = collector.asked
    assert (path, headers["content-type"]) == ("/v1/traces", "application/json")
    assert [each.span[-1] for each in collector.spans] == ["1", "2", "3"]
    assert {each.service for each in collector.spans} == {"plane"}
    described = body["resourceSpans"][0]["resource"]["attributes"]
    known = {"service.name", "service.version", "service.instance.id"}
    assert {each["key"] for each in described} == known


def test_a_collector_that_is_busy_is_asked_again_when_it_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="atoll.tracing")

    async def main(collector: Collector) -> None:
        collector.answers = [Answer(503, headers={"Retry-After": "2"})]
        async with exporting(sent_to(collector), Chance("seed")) as exporter:
            exporter.keep(span())
            await until(lambda: counted(exporter).get("exported"))

    with collecting() as collector:
        asyncio.run(main(collector))
    first, second = (moment for moment, *_ in collector.asked)
    assert second - first > 1.9
    assert len(collector.spans) == 1
    assert caplog.messages == [
        "The collector of traces does not take them: it answers 503",
        "The collector of traces takes them again",
    ]


@pytest.mark.parametrize(
    ("answer", "fate"),
    [
        pytest.param(Answer(400, b"no such thing"), {"refused": 2}, id="all is refused"),
        pytest.param(Answer(301), {"refused": 2}, id="it is elsewhere"),
        pytest.param(
            Answer(200, b'{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "odd"}}'),
            {"refused": 1, "exported": 1},
            id="one is refused",
        ),
        pytest.param(Answer(200, b"thank you"), {"exported": 2}, id="it says something else"),
    ],
)
def test_what_is_refused_is_not_sent_again(answer: Answer, fate: dict[str, int]) -> None:
    async def main(collector: Collector) -> dict[str, float]:
        collector.answers = [answer]
        async with exporting(sent_to(collector), Chance("seed")) as exporter:
            exporter.keep(span(1))
            exporter.keep(span(2))
            await until(lambda: counted(exporter)["waiting"] == 0)
            return counted(exporter)

    with collecting() as collector:
        assert asyncio.run(main(collector)) == {**fate, "waiting": 0}
    assert len(collector.asked) == 1


def test_the_last_spans_are_sent_at_the_end() -> None:
    async def main(collector: Collector) -> None:
        async with exporting(sent_to(collector), Chance("seed")) as exporter:
            for number in range(BATCH + 1):
                exporter.keep(span(number + 1))

    with collecting() as collector:
        asyncio.run(main(collector))
    assert len({each.span for each in collector.spans}) == BATCH + 1


def test_a_collector_that_is_away_costs_the_spans_and_no_time() -> None:
    async def main() -> dict[str, float]:
        choice = TracingChoice(endpoint="http://127.0.0.1:1/v1/traces")
        async with exporting(choice, Chance("seed")) as exporter:
            for number in range(ROOM + 5):
                exporter.keep(span(number + 1))
            await asyncio.sleep(0)
            assert counted(exporter) == {"dropped": 5, "waiting": ROOM}
        return counted(exporter)

    begun = time.monotonic()
    assert asyncio.run(main()) == {"dropped": 5, "lost": ROOM, "waiting": 0}
    assert time.monotonic() - begun < 10


def test_a_collector_that_hangs_does_not_hold_up_the_end() -> None:
    async def main(collector: Collector) -> dict[str, float]:
        collector.answers = [Answer(after_s=8.0)]
        async with exporting(sent_to(collector), Chance("seed")) as exporter:
            exporter.keep(span())
        return counted(exporter)

    with collecting() as collector:
        begun = time.monotonic()
        assert asyncio.run(main(collector)) == {"lost": 1, "waiting": 0}
        assert time.monotonic() - begun < 7


@dataclass
class Moody:
    """A way on which every request is answered as is said, and none once nothing is said."""

    statuses: list[int]
    asked: list[float] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        self.asked.append(asyncio.get_running_loop().time())
        if not self.statuses:
            raise Unreachable("nobody is there")
        await asyncio.sleep(0.1)
        return Response(self.statuses.pop(0))

    async def close(self) -> None:
        return


def test_a_batch_is_tried_ever_less_often_and_then_given_up() -> None:
    async def main(_: World) -> tuple[list[float], dict[str, float]]:
        way = Moody([])
        exporter = Exporter(way, "/v1/traces", {})
        exporter.keep(span())
        async with Children("test") as children:
            children.spawn(exporter.run(), "export")
            await asyncio.sleep(60.0)
        return way.asked, counted(exporter)

    asked, fates = simulate(main, seed=1).value
    pauses = [after - before for before, after in pairwise(asked)]
    assert pauses == pytest.approx([1.0, 2.0, 4.0, 8.0, 16.0])
    assert len(asked) == TRIES
    assert fates == {"lost": 1, "waiting": 0}


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from([200, 400, 429, 503]), max_size=12),
    st.lists(st.tuples(st.integers(1, 3000), st.sampled_from([0.0, 1.5, 40.0])), max_size=6),
)
def test_every_span_is_accounted_for(statuses: list[int], bursts: list[tuple[int, float]]) -> None:
    async def main(_: World) -> dict[str, float]:
        exporter = Exporter(Moody(list(statuses)), "/v1/traces", {})
        async with Children("test") as children:
            children.spawn(exporter.run(), "export")
            for count, pause_s in bursts:
                for number in range(count):
                    exporter.keep(span(number + 1))
                await asyncio.sleep(pause_s)
        await exporter.flush()
        return counted(exporter)

    fates = simulate(main, seed=1).value
    assert fates.pop("waiting") == 0
    assert sum(fates.values()) == sum(count for count, _ in bursts)
