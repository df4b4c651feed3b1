"""One trace per change of a template, from detection to status, as a collector sees it.

The plane, its members and the collector are real; the agent is one in this process.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from sites import PATIENCE_S, until
from test_agent_whole import pulled
from test_pipeline import NGINX, deployment, policy, ready, replicas_in
from whole import Whole, whole

from atoll.config import TracingChoice
from atoll.control.hub import WORK
from atoll.control.states import families
from atoll.control.traces import LASTS_S
from atoll.effects import system_effects
from atoll.instruments.families import text_of
from atoll.model.action import Ref
from atoll.tracing.context import ANNOTATION
from atoll.tracing.opening import tracing
from atoll.tracing.span import Span
from atoll.tracing.tracer import Tracer
from simulation.world import World, simulate
from testenv.collector import Collector, Told, collecting

ROOTS = ("template changed", "policy changed")


@asynccontextmanager
async def traced(
    collector: Collector, names: Sequence[str], ratio: float = 1.0
) -> AsyncIterator[Whole]:
    choice = TracingChoice(endpoint=f"{collector.url}/v1/traces", ratio=ratio)
    effects = system_effects()
    async with (
        asyncio.timeout(4 * PATIENCE_S),
        tracing(choice, effects) as tracer,
        whole(names, effects=effects, tracer=tracer) as it,
    ):
        yield it


def lines(spans: Sequence[Told]) -> list[tuple[str, ...]]:
    """Every span with all that are above it, from the first; a cluster is told with its span."""
    known = {each.span: each for each in spans}

    def line(each: Told) -> tuple[str, ...]:
        cluster = each.attributes.get("k8s.cluster.name", "")
        own = f"{each.name} {cluster}".strip()
        return (*(line(known[each.parent]) if each.parent else ()), own)

    return sorted(map(line, spans))


def about_nginx(collector: Collector) -> list[list[Told]]:
    """The traces that are about the Deployment, in the order in which they began."""
    traces: dict[str, list[Told]] = {}
    for each in sorted(collector.spans, key=lambda one: one.began_ns):
        traces.setdefault(each.trace, []).append(each)
    roots = [each for each in collector.spans if each.name in ROOTS]
    ours = {each.trace for each in roots if each.attributes["atoll.object.name"] == "nginx"}
    return [spans for trace, spans in traces.items() if trace in ours]


def named(spans: Sequence[Told], name: str) -> Told:
    return next(each for each in spans if each.name == name)


def decided(spans: Sequence[Told]) -> list[list[str]]:
    """The targets of all decisions; there may be more than one, as nobody waits for a trace."""
    return [each.attributes["atoll.targets"] for each in spans if each.name == "schedule"]


def has_told(collector: Collector, count: int) -> bool:
    """Whether so many traces of the Deployment have come to their end."""
    found = about_nginx(collector)
    ends = [any(each.name == "aggregate status" for each in spans) for spans in found]
    return len(found) == count and all(ends)


NO_DEPLOYMENTS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"namespace": "default", "name": "none"},
    "spec": {"hard": {"count/deployments.apps": "0"}},
}
WAY = ("template changed", "detect", "schedule", "render works")


def test_a_new_template_is_followed_to_every_member_and_back() -> None:
    async def story(collector: Collector) -> None:
        async with traced(collector, ["m1", "m2"]) as it:
            await it.create(policy("m1", "m2", weights={"m1": 1, "m2": 3}))
            await it.create(deployment(4))
            await until(lambda: ready(it) == 4)
            await until(lambda: has_told(collector, 1))

    with collecting() as collector:
        asyncio.run(story(collector))
    (spans,) = about_nginx(collector)
    assert sorted(set(lines(spans))) == [
        WAY[:1],
        WAY[:2],
        WAY[:3],
        (*WAY[:3], "aggregate status"),
        WAY,
        (*WAY, "deliver m1"),
        (*WAY, "deliver m1", "report status m1"),
        (*WAY, "deliver m2"),
        (*WAY, "deliver m2", "report status m2"),
    ]
    assert sum(each.name == "deliver" for each in spans) == 2
    known = {each.span: each for each in spans}
    assert all(each.began_ns <= each.ended_ns for each in spans)
    assert all(known[each.parent].began_ns <= each.began_ns for each in spans if each.parent)
    assert all(each.problem is None for each in spans)
    template = {
        "k8s.namespace.name": "default",
        "atoll.object.api_version": "apps/v1",
        "atoll.object.kind": "Deployment",
        "atoll.object.name": "nginx",
    }
    assert named(spans, "template changed").attributes == template
    detected = {**template, "atoll.policy": "policy default/nginx"}
    assert named(spans, "detect").attributes == detected
    scheduled = named(spans, "schedule").attributes
    assert scheduled["atoll.targets"] == ["m1=1", "m2=3"]
    assert scheduled["atoll.verdict"] == "Success"
    assert named(spans, "render works").attributes["atoll.clusters"] == ["m1", "m2"]
    assert named(spans, "deliver").attributes["atoll.action"] == "create"


def test_each_further_change_is_a_trace_of_its_own() -> None:
    async def story(collector: Collector) -> None:
        async with traced(collector, ["m1", "m2"]) as it:
            written = await it.create(policy("m1"))
            await it.create(deployment(1))
            await until(lambda: ready(it) == 1)
            await until(lambda: has_told(collector, 1))
            await it.change(NGINX, replicas=2)
            await until(lambda: ready(it) == 2)
            await until(lambda: has_told(collector, 2))
            await it.change(Ref.of(written), **policy("m1", "m2")["spec"])
            await until(lambda: ready(it) == 4)
            await until(lambda: has_told(collector, 3))

    with collecting() as collector:
        asyncio.run(story(collector))
    _, scaled, moved = about_nginx(collector)
    # What is rendered of a template that has changed may be so before it is decided anew.
    ways = [(line[0], *line[-2:]) for line in lines(scaled)]
    assert ("template changed", "deliver m1", "report status m1") in ways
    assert named(scaled, "deliver").attributes["atoll.action"] == "update"
    assert ["m1=2"] in decided(scaled)
    assert ("policy changed", *WAY[1:], "deliver m2", "report status m2") in lines(moved)
    assert ["m1=2", "m2=2"] in decided(moved)


def test_what_a_member_refuses_is_told_with_why() -> None:
    async def story(collector: Collector) -> None:
        async with traced(collector, ["m1"]) as it:
            member = it.hub.sites["m1"]
            await member.api.create(member.collection("v1", "ResourceQuota"), NO_DEPLOYMENTS)
            await it.create(policy("m1"))
            await it.create(deployment(1))
            await until(lambda: any(each.problem for each in collector.spans))

    with collecting() as collector:
        asyncio.run(story(collector))
    (spans,) = about_nginx(collector)
    delivered = named(spans, "deliver")
    assert delivered.problem
    assert "exceeded quota" in delivered.problem
    assert delivered.attributes["error.type"] == "Refused"
    assert (*WAY, "deliver m1") in lines(spans)


def test_what_finds_no_place_is_told_with_why() -> None:
    async def story(collector: Collector) -> None:
        async with traced(collector, ["m1"]) as it:
            await it.create(policy("nowhere"))
            await it.create(deployment(1))
            await until(lambda: any(each.name == "schedule" for each in collector.spans))

    with collecting() as collector:
        asyncio.run(story(collector))
    (spans,) = about_nginx(collector)
    scheduled = named(spans, "schedule")
    assert scheduled.problem
    assert "0/1 clusters are available" in scheduled.problem
    assert scheduled.attributes["atoll.verdict"] == "NoClusterFit"
    assert scheduled.attributes["atoll.targets"] == []


def test_an_agent_goes_on_with_the_trace_by_what_the_work_carries() -> None:
    async def story(collector: Collector) -> None:
        effects = system_effects()
        here, there = (
            TracingChoice(endpoint=f"{collector.url}/v1/traces", service=name)
            for name in ("atoll", "atoll-agent")
        )
        async with tracing(here, effects) as tracer, pulled(tracer) as far:
            async with tracing(there, effects) as inside, far.agent(tracer=inside):
                await until(lambda: is_ready(far.it))
                await far.it.create(policy("far"))
                await far.it.create(deployment(2))
                await until(lambda: ready(far.it) == 2)
                await until(lambda: has_told(collector, 1))
            works = far.it.hub.plane.all(WORK, "Work")
            assert all(ANNOTATION in each["metadata"]["annotations"] for each in works)

    with collecting() as collector:
        asyncio.run(story(collector))
    (spans,) = about_nginx(collector)
    assert (*WAY, "deliver far", "report status far") in lines(spans)
    assert {each.name for each in spans if each.service == "atoll-agent"} == {
        "deliver",
        "report status",
    }


def test_of_changes_that_are_not_sampled_nothing_is_told() -> None:
    async def story(collector: Collector) -> str:
        async with traced(collector, ["m1"], ratio=0.0) as it:
            await it.create(policy("m1"))
            await it.create(deployment(1))
            await until(lambda: ready(it) == 1)
            return text_of(families(it.hub))

    with collecting() as collector:
        told = asyncio.run(story(collector))
        assert collector.asked == []
    assert "# TYPE atoll_trace_spans_total counter" in told
    assert "atoll_trace_spans_waiting 0" in told


def test_tracing_changes_no_object_but_by_its_annotation_and_causes_no_write() -> None:
    async def story(world: World, spans: list[Span] | None) -> tuple[dict[str, Any], int]:
        effects = world.effects("hub")
        tracer = None if spans is None else Tracer(effects, spans.append)
        async with whole(["m1", "m2"], effects=effects, tracer=tracer) as it:
            await it.create(policy("m1", "m2", weights={"m1": 1, "m2": 3}))
            await it.create(deployment(4))
            await until(lambda: ready(it) == 4)
            await it.change(NGINX, replicas=8)
            await until(lambda: ready(it) == 8)
            await asyncio.sleep(100.0)
            writes = it.hub.performer.writes
            await asyncio.sleep(100.0)
            assert it.hub.performer.writes == writes
            return everything(it), it.hub.performer.writes

    spans: list[Span] = []
    quiet = simulate(partial(story, spans=None), seed=1)
    traced = simulate(partial(story, spans=spans), seed=1)
    assert spans
    assert traced.value == quiet.value
    assert traced.trace == quiet.trace


def test_what_is_done_long_after_a_change_is_not_on_its_account() -> None:
    async def story(world: World) -> tuple[int, int]:
        effects, spans = world.effects("hub"), list[Span]()
        async with whole(["m1"], effects=effects, tracer=Tracer(effects, spans.append)) as it:
            await it.create(policy("m1"))
            await it.create(deployment(1))
            await until(lambda: ready(it) == 1)
            await asyncio.sleep(LASTS_S)
            told = len(spans)
            await it.change(NGINX, "m1", replicas=5)
            await until(lambda: generation(it) == 3 and replicas_in(it, "m1") == 1)
            template = it.hub.plane.find(NGINX)
            assert template is not None
            await it.delete(template)
            await until(lambda: replicas_in(it, "m1") is None)
            return told, len(spans)

    told, then = simulate(story, seed=1).value
    assert told > 0
    assert then == told


def generation(it: Whole) -> int:
    """How often it was written in the member what the Deployment should be."""
    found = it.hub.sites["m1"].find(NGINX)
    return 0 if found is None else int(found["metadata"]["generation"])


def everything(it: Whole) -> dict[str, Any]:
    """All objects of the plane and its members, without what tracing wrote on Works."""
    found: dict[str, Any] = {}
    for name, site in it.hub.sites.items():
        for collection in site.directory.deletable:
            for wire in site.all(collection.api_version, collection.kind):
                found[f"{name}/{Ref.of(wire)}"] = without_mark(wire)
    return found


def without_mark(wire: dict[str, Any]) -> dict[str, Any]:
    annotations = dict(wire["metadata"].get("annotations") or {})
    annotations.pop(ANNOTATION, None)
    return {**wire, "metadata": {**wire["metadata"], "annotations": annotations}}


def is_ready(it: Whole) -> bool:
    cluster = it.hub.cluster("far")
    return cluster is not None and cluster.ready is True and not cluster.taints
