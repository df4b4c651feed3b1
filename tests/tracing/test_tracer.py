"""Spans are made by the clock and by chance, and of all traces a part is kept."""

from datetime import UTC, datetime, timedelta

import pytest

from atoll.effects import Chance, Effects, stopwatch
from atoll.tracing.span import Span
from atoll.tracing.tracer import Tracer

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
BEGIN_NS = 1_767_225_600_000_000_000


def still(seed: str = "seed") -> Effects:
    """A clock that stands, and chance by a seed."""
    return Effects(now=lambda: BEGIN, chance=Chance(seed))


def test_a_span_is_below_its_parent_and_takes_as_long_as_it_took() -> None:
    kept: list[Span] = []
    moments = iter([BEGIN + timedelta(microseconds=7)])
    tracer = Tracer(Effects(lambda: next(moments), Chance("seed")), kept.append)
    root = tracer.begin()
    span = tracer.open("detect", root, BEGIN_NS)
    span.attributes["late"] = True
    span.end("too late")
    assert kept == [
        Span(
            name="detect",
            context=span.context,
            parent=root.span,
            began_ns=BEGIN_NS,
            ended_ns=BEGIN_NS + 7000,
            attributes={"late": True},
            problem="too late",
        )
    ]
    assert span.context.trace == root.trace
    assert span.context.span != root.span


def test_a_stopwatch_tells_when_something_began() -> None:
    tracer = Tracer(still(), lambda span: None)
    assert tracer.now_ns() == BEGIN_NS
    assert BEGIN_NS - tracer.ns_at(stopwatch() - 2.0) == pytest.approx(2e9, rel=0.1)


@pytest.mark.parametrize(
    ("ratio", "least", "most"), [(0.0, 0, 0), (0.25, 400, 600), (1.0, 2000, 2000)]
)
def test_so_great_a_part_of_all_traces_is_kept(ratio: float, least: int, most: int) -> None:
    kept: list[Span] = []
    tracer = Tracer(still(), kept.append, ratio=ratio)
    for _ in range(2000):
        tracer.open("detect", tracer.begin(), BEGIN_NS).end()
    assert least <= len(kept) <= most


def test_who_goes_on_with_a_trace_keeps_all_of_it_or_nothing() -> None:
    kept: list[Span] = []
    begins, goes_on = (Tracer(still(each), kept.append, ratio=0.5) for each in ("one", "other"))
    roots = [begins.begin() for _ in range(100)]
    for each in roots:
        goes_on.open("deliver", each, BEGIN_NS).end()
    assert [each.context.trace for each in kept] == [each.trace for each in roots if each.sampled]
    assert 0 < len(kept) < 100
