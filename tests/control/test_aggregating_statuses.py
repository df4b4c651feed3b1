"""From Works to the binding and to the template: what is told, when, and in how few writes."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import World, settle, stumble

from atoll.control.delivery.decide.reflecting import identifier
from atoll.control.patience import Waited
from atoll.control.status import decide as aggregating
from atoll.control.status.decide import SeenStatuses
from atoll.dialects.karmada.objects import resource_bindings
from atoll.dialects.karmada.objects import works as work_dialect
from atoll.dialects.kubernetes import conditions
from atoll.errors import Invalid
from atoll.interpreting.operations import Item
from atoll.model.action import Plan, Ref, Tell, Update
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Wire

NOW = 1_767_225_600.0
TEMPLATE = Ref("apps/v1", "Deployment", "shop", "web")
BINDING = Ref("work.karmada.io/v1alpha2", "ResourceBinding", "shop", "web-deployment")


def template() -> Wire:
    metadata = {"namespace": "shop", "name": "web", "uid": "t-1"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def binding(*clusters: str, **spec: Any) -> Wire:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    return {
        "apiVersion": BINDING.api_version,
        "kind": BINDING.kind,
        "metadata": {"namespace": "shop", "name": "web-deployment"},
        "spec": {
            "resource": {**resource, "uid": "t-1"},
            "clusters": [{"name": each} for each in clusters],
            **spec,
        },
    }


def work(cluster: str, *, applied: bool | None = True, ready: int | None = None) -> Wire:
    """A Work, as much as its member has told so far."""
    metadata = {"namespace": "shop", "name": "web"}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    status: Wire = {}
    if applied is not None:
        said = {"type": "Applied", "status": str(applied), "message": f"said by {cluster}"}
        status["conditions"] = [said]
    if ready is not None:
        entry = {"identifier": identifier(0, TEMPLATE), "status": {"readyReplicas": ready}}
        status["manifestStatuses"] = [{**entry, "health": "Healthy" if ready else "Unhealthy"}]
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {"namespace": f"karmada-es-{cluster}", "name": "web"},
        "spec": {"workload": {"manifests": [manifest]}},
        "status": status,
    }


def add_up(_: Wire, items: tuple[Item, ...]) -> Wire:
    return {"readyReplicas": sum((each.status or {}).get("readyReplicas", 0) for each in items)}


def told(bound: Wire, *works: Wire) -> tuple[list[Wire], str]:
    """The items of the binding, and whether it is fully applied."""
    world = World()
    world.put(bound)
    settle(world, lambda: planned(world, list(works)))
    status = (world.get(BINDING) or {}).get("status") or {}
    found = conditions.find(status.get("conditions") or [], "FullyApplied")
    return status.get("aggregatedStatus", []), (found or {}).get("status", "")


def seen_statuses(bound: Wire, sent: list[Wire], *more: Any, **named: Any) -> SeenStatuses:
    decoded = [work_dialect.decode(each) for each in sent]
    return SeenStatuses(resource_bindings.decode(bound), decoded, *more, **named)


def planned(world: World, works: list[Wire]) -> Plan:
    seen = seen_statuses(world.get(BINDING) or {}, works, world.get(TEMPLATE), add_up)
    return aggregating.plan(seen, NOW)


ITEMS = [
    pytest.param(
        work("m1", ready=2),
        {"applied": True, "status": {"readyReplicas": 2}, "health": "Healthy"},
        id="applied and well",
    ),
    pytest.param(
        work("m1", ready=0),
        {"applied": True, "status": {"readyReplicas": 0}, "health": "Unhealthy"},
        id="applied and not yet well",
    ),
    pytest.param(work("m1"), {"applied": True, "health": "Unknown"}, id="nothing reflected yet"),
    pytest.param(
        work("m1", applied=False, ready=2),
        {"appliedMessage": "said by m1", "health": "Unknown"},
        id="refused: the message, and no status of former times",
    ),
]


@pytest.mark.parametrize(("given_work", "item"), ITEMS)
def test_a_binding_tells_what_each_cluster_says(given_work: Wire, item: Wire) -> None:
    items, _ = told(binding("m1"), given_work)
    assert items == [{"clusterName": "m1", **item}]


EVICTED = {"gracefulEvictionTasks": [{"fromCluster": "m2", "purgeMode": "Gracefully"}]}
PURGED = {"gracefulEvictionTasks": [{"fromCluster": "m2", "purgeMode": "Directly"}]}
NEEDED = {"requiredBy": [{"namespace": "shop", "name": "x", "clusters": [{"name": "m2"}]}]}
COMPLETE = [
    pytest.param(binding("m1", "m2"), ["m1", "m2"], "True", id="all have it"),
    pytest.param(binding("m1", "m2"), ["m1"], "False", id="one is missing"),
    pytest.param(binding("m1"), ["m1", "m2"], "False", id="one has it that should not"),
    pytest.param(binding("m1", **NEEDED), ["m1", "m2"], "True", id="one has it for another"),
    pytest.param(binding("m1", **EVICTED), ["m1", "m2"], "True", id="one is about to lose it"),
    pytest.param(binding("m1", **PURGED), ["m1"], "True", id="one has to lose it at once"),
    pytest.param(binding(), ["m1"], "False", id="nobody should have it"),
]


@pytest.mark.parametrize(("bound", "clusters", "fully"), COMPLETE)
def test_fully_applied_means_those_and_no_others(
    bound: Wire, clusters: list[str], fully: str
) -> None:
    assert told(bound, *(work(each) for each in clusters))[1] == fully


def test_fully_applied_is_said_in_karmadas_words() -> None:
    world = World()
    world.put(binding("m1"))
    settle(world, lambda: planned(world, [work("m1")]))
    [said] = (world.get(BINDING) or {})["status"]["conditions"]
    assert (said["reason"], said["message"]) == (
        "FullyAppliedSuccess",
        "All works have been successfully applied",
    )
    settle(world, lambda: planned(world, [work("m1", applied=False)]))
    [said] = (world.get(BINDING) or {})["status"]["conditions"]
    assert (said["reason"], said["message"]) == (
        "FullyAppliedFailed",
        "Failed to apply all works, see status.aggregatedStatus for details",
    )


def test_nothing_is_written_before_a_cluster_has_spoken() -> None:
    world = World()
    world.put(binding("m1", "m2"))
    world.put(template())
    assert planned(world, [work("m1", applied=None), work("m2", applied=None)]) == Plan()


def test_news_costs_one_write_on_the_binding_and_one_on_the_template() -> None:
    world = World()
    world.put(binding("m1", "m2"))
    world.put(template())
    works = [work("m1", ready=2), work("m2", ready=3)]
    assert settle(world, lambda: planned(world, works)) == 2
    assert (world.get(TEMPLATE) or {})["status"] == {"readyReplicas": 5}
    assert settle(world, lambda: planned(world, works[::-1])) == 0


def test_what_others_keep_in_the_status_stays() -> None:
    world = World()
    scheduled = {"type": "Scheduled", "status": "True"}
    status = {"schedulerObservedGeneration": 3, "conditions": [scheduled]}
    world.put({**binding("m1"), "status": status})
    settle(world, lambda: planned(world, [work("m1")]))
    found = (world.get(BINDING) or {})["status"]
    assert found["schedulerObservedGeneration"] == 3
    assert found["conditions"][0] == scheduled


def test_a_deleted_work_says_nothing_any_more() -> None:
    going = work("m2", ready=3)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    items, fully = told(binding("m1"), work("m1", ready=2), going)
    assert [each["clusterName"] for each in items] == ["m1"]
    assert fully == "True"


def test_two_works_in_one_cluster_are_not_all_that_is_asked_for() -> None:
    second = work("m1")
    second["metadata"]["name"] = "web-2"
    items, fully = told(binding("m1"), second, work("m1"))
    assert [each["clusterName"] for each in items] == ["m1", "m1"]
    assert fully == "False"


def test_a_status_that_names_empty_fields_is_understood() -> None:
    wire = work("m1", ready=2)
    core = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "web"}}
    wire["spec"]["workload"]["manifests"] = [core]
    written = {"ordinal": 0, "group": "", "version": "v1", "kind": "Node", "namespace": ""}
    wire["status"]["manifestStatuses"][0]["identifier"] = {**written, "name": "web"}
    bound = binding("m1", resource={"apiVersion": "v1", "kind": "Node", "name": "web"})
    [item], _ = told(bound, wire)
    assert item["status"] == {"readyReplicas": 2}


def test_a_template_made_anew_is_not_told_of_the_old_one() -> None:
    world = World()
    world.put(binding("m1"))
    world.put({**template(), "metadata": {**template()["metadata"], "uid": "t-2"}})
    settle(world, lambda: planned(world, [work("m1", ready=2)]))
    assert "status" not in (world.get(TEMPLATE) or {})


def test_a_sum_that_cannot_be_made_is_told_and_the_binding_is_written_all_the_same() -> None:
    def broken(_: Wire, __: tuple[Item, ...]) -> Wire:
        raise Invalid("spec.customizations.statusAggregation", "script", "did not end in 100 ms")

    seen = seen_statuses(binding("m1"), [work("m1", ready=2)], template(), broken)
    write, *events = aggregating.plan(seen, NOW).actions
    assert Ref.of(getattr(write, "object", {})) == BINDING
    assert [Ref.of(getattr(each, "about", {})) for each in events] == [BINDING, TEMPLATE]
    for event in events:
        assert isinstance(event, Tell)
        assert event.reason == "AggregateStatusFailed"
        assert "did not end in 100 ms" in event.message


def test_what_a_cluster_refuses_is_told_once_on_the_binding_and_on_the_template() -> None:
    world = World()
    world.put(binding("m1", "m2"))
    world.put(template())
    works = [work("m1", ready=2), work("m2", applied=False)]
    settle(world, lambda: planned(world, works))
    works[0] = work("m1", ready=3)
    settle(world, lambda: planned(world, works))
    told_of = [(Ref.of(each.about), each.reason, each.message) for each in world.told]
    assert told_of == [(each, "SyncFailed", "said by m2") for each in (BINDING, TEMPLATE)]


CLUSTERS = st.lists(st.sampled_from(["m1", "m2", "m3"]), unique=True)
SAID = st.tuples(st.sampled_from([None, True, False]), st.none() | st.integers(0, 4))


@settings(max_examples=150)
@given(
    CLUSTERS,
    st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m4"]), SAID),
    st.lists(st.integers(0, 2), max_size=4),
    st.randoms(use_true_random=False),
)
def test_in_any_order_and_stopped_anywhere_the_sum_is_the_same(
    targets: list[str],
    said: dict[str, tuple[bool | None, int | None]],
    stops: list[int],
    chance: random.Random,
) -> None:
    works = [work(name, applied=a, ready=r) for name, (a, r) in said.items()]
    worlds = [World(), World()]
    for world in worlds:
        world.put(binding(*targets))
        world.put(template())
    settle(worlds[0], lambda: planned(worlds[0], works))
    mixed = chance.sample(works, len(works))
    stumble(worlds[1], lambda: planned(worlds[1], mixed), stops)
    settle(worlds[1], lambda: planned(worlds[1], mixed))
    assert worlds[0].contents() == worlds[1].contents()
    summed = sum(ready or 0 for applied, ready in said.values() if applied)
    if any(applied is not None for applied, _ in said.values()):
        assert (worlds[0].get(TEMPLATE) or {})["status"] == {"readyReplicas": summed}


WAITS = [
    pytest.param([work("m1", ready=1), work("m2", ready=1)], True, id="all are well"),
    pytest.param([work("m1", ready=1), work("m2")], True, id="nothing is known against one"),
    pytest.param([work("m1", ready=1)], False, id="one is missing"),
    pytest.param([work("m1", ready=1), work("m2", applied=None)], False, id="one is silent"),
    pytest.param([work("m1", ready=1), work("m2", ready=0)], False, id="one is not well"),
    pytest.param([work("m1", ready=1), work("m2", applied=False)], True, id="one refuses"),
]


@pytest.mark.parametrize(("works", "at_once"), WAITS)
def test_what_may_soon_be_otherwise_waits_a_moment(works: list[Wire], *, at_once: bool) -> None:
    seen = seen_statuses(binding("m1", "m2"), works, template(), add_up, waited=Waited(0.25))
    plan = aggregating.plan(seen, NOW)
    assert bool(plan.actions) is at_once
    assert plan.again_in == (None if at_once else 0.75)
    assert aggregating.plan(replace(seen, waited=Waited(1.0)), NOW).actions


def test_what_was_decided_is_told_along_and_not_for_its_own_sake() -> None:
    scheduled = {"type": "Scheduled", "status": "True"}

    def report(bound: ResourceBinding, _now: float) -> Plan:
        status = {"conditions": [scheduled], "lastScheduledTime": "then"}
        event = Tell(bound.wire, "ScheduleBindingSucceed", "so")
        return Plan((event, Update({**bound.wire, "status": status}, subresource="status")))

    seen = seen_statuses(binding("m1"), [work("m1", ready=1)], None, add_up, report=report)
    event, write = aggregating.plan(seen, NOW).actions
    assert isinstance(event, Tell)
    assert isinstance(write, Update)
    status = write.object["status"]
    assert [each["type"] for each in status["conditions"]] == ["Scheduled", "FullyApplied"]
    assert status["lastScheduledTime"] == "then"
    assert len(status["aggregatedStatus"]) == 1
    plain = aggregating.plan(replace(seen, report=lambda _bound, _now: Plan()), NOW).actions[0]
    assert (
        aggregating.plan(replace(seen, binding=resource_bindings.decode(plain.object)), NOW).actions
        == ()
    )
