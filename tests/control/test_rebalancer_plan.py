"""A rebalancer asks once, tells what it found, and ends in time: stories, and the laws."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import World, settle, stumble

from atoll.control.rebalancer import decide as rebalancer
from atoll.control.rebalancer.decide import SeenRebalancer
from atoll.dialects.karmada.objects import rebalancers, resource_bindings
from atoll.model.action import NOTHING, Delete, Plan, Ref, Update
from atoll.wire import Wire

BINDING = "work.karmada.io/v1alpha2"
MADE, NOW = "2026-03-01T10:00:00Z", 1772360010.0  # 10:13:30
REF = Ref("apps.karmada.io/v1alpha1", "WorkloadRebalancer", "", "again")


def workload(name: str, namespace: str = "shop", kind: str = "Deployment") -> Wire:
    found = {"apiVersion": "apps/v1", "kind": kind, "name": name, "namespace": namespace}
    return {key: value for key, value in found.items() if value}


def made(*names: str, **spec: Any) -> Wire:
    return {
        "apiVersion": REF.api_version,
        "kind": REF.kind,
        "metadata": {"name": "again", "creationTimestamp": MADE, "generation": 1},
        "spec": {"workloads": [workload(each) for each in names], **spec},
    }


def binding(name: str, **spec: Any) -> Wire:
    metadata = {"namespace": "shop", "name": f"{name}-deployment"}
    return {
        "apiVersion": BINDING,
        "kind": "ResourceBinding",
        "metadata": metadata,
        "spec": {"resource": workload(name), **spec},
    }


class Plane:
    """A rebalancer and bindings."""

    def __init__(self, rebalancer_: Wire, *bindings: Wire) -> None:
        self.world = World()
        self.world.put(rebalancer_)
        for each in bindings:
            self.world.put(each)

    def plan(self, now: float = NOW) -> Plan:
        wire = self.world.get(REF)
        if wire is None:
            return NOTHING
        bindings = {
            each.spec.template: each
            for each in map(resource_bindings.decode, self.world.all("ResourceBinding"))
        }
        return rebalancer.plan(SeenRebalancer(rebalancers.decode(wire), bindings), now)

    def settle(self) -> int:
        return settle(self.world, self.plan)

    def status(self) -> Wire:
        return (self.world.get(REF) or {})["status"]

    def results(self) -> dict[str, str]:
        observed = self.status()["observedWorkloads"]
        return {each["workload"]["name"]: each["result"] for each in observed}

    def triggered(self, name: str) -> str | None:
        ref = Ref(BINDING, "ResourceBinding", "shop", f"{name}-deployment")
        return (self.world.get(ref) or {})["spec"].get("rescheduleTriggeredAt")

    def relist(self, *names: str) -> None:
        wire = self.world.get(REF) or {}
        generation = wire["metadata"]["generation"] + 1
        metadata = {**wire["metadata"], "generation": generation}
        spec = {"workloads": [workload(each) for each in names]}
        self.world.put({**wire, "metadata": metadata, "spec": spec})


def test_every_workload_is_asked_for_and_the_outcome_is_told() -> None:
    plane = Plane(made("web", "api", "gone"), binding("web"), binding("api"))
    assert plane.settle() == 3  # two bindings, one status
    assert plane.triggered("web") == plane.triggered("api") == MADE
    assert plane.status() == {
        "observedWorkloads": [
            {"workload": workload("api"), "result": "Successful"},
            {
                "workload": workload("gone"),
                "result": "Failed",
                "reason": "ReferencedBindingNotFound",
            },
            {"workload": workload("web"), "result": "Successful"},
        ],
        "observedGeneration": 1,
        "finishTime": "2026-03-01T10:13:30Z",
    }


STANDING = [
    pytest.param("2026-03-01T09:00:00Z", MADE, 2, id="an older wish is replaced"),
    pytest.param(MADE, MADE, 1, id="the same wish is left"),
    pytest.param("2026-03-01T11:00:00Z", "2026-03-01T11:00:00Z", 1, id="a newer wish is left"),
]


@pytest.mark.parametrize(("before", "after", "writes"), STANDING)
def test_a_wish_that_is_there_already(before: str, after: str, writes: int) -> None:
    plane = Plane(made("web"), binding("web", rescheduleTriggeredAt=before))
    assert plane.settle() == writes
    assert plane.triggered("web") == after
    assert plane.results() == {"web": "Successful"}


def test_workloads_listed_anew_are_followed() -> None:
    plane = Plane(made("web", "gone"), binding("web"), binding("api"))
    plane.settle()
    plane.relist("api")
    plane.settle()
    assert plane.results() == {"web": "Successful", "api": "Successful"}, "what failed is dropped"
    assert plane.triggered("api") == MADE
    assert plane.status()["observedGeneration"] == 2


def test_what_was_answered_is_not_asked_for_again() -> None:
    plane = Plane(made("web", "gone"), binding("web"))
    plane.settle()
    plane.world.put(binding("gone"))
    plane.world.put(binding("web"))
    assert plane.settle() == 0
    assert plane.triggered("gone") is None
    assert plane.triggered("web") is None


def test_a_workload_listed_twice_is_asked_for_once() -> None:
    plane = Plane(made("web", "web"), binding("web"))
    assert plane.settle() == 2
    assert plane.results() == {"web": "Successful"}


def test_it_is_deleted_when_its_time_is_over_and_not_before() -> None:
    plane = Plane(made("web", ttlSecondsAfterFinished=60), binding("web"))
    assert plane.plan().again_in == 60.0
    plane.settle()
    assert plane.plan(NOW + 20) == Plan(again_in=40.0)
    (deleted,) = plane.plan(NOW + 60).actions
    assert isinstance(deleted, Delete)
    assert deleted.ref == REF


def test_without_a_time_it_stays() -> None:
    plane = Plane(made("web"), binding("web"))
    plane.settle()
    assert plane.plan(NOW + 10**9) == NOTHING


def test_one_with_no_time_at_all_tells_before_it_goes() -> None:
    plane = Plane(made("web", ttlSecondsAfterFinished=0), binding("web"))
    wish, told = plane.plan().actions
    assert isinstance(wish, Update)
    assert isinstance(told, Update)
    assert told.subresource == "status"
    plane.settle()
    assert plane.world.get(REF) is None


def test_one_that_is_going_does_nothing_more() -> None:
    leaving = made("web")
    leaving["metadata"]["deletionTimestamp"] = MADE
    assert Plane(leaving, binding("web")).plan() == NOTHING


NAMES = st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True)


@settings(max_examples=60)
@given(NAMES, NAMES, NAMES, st.lists(st.integers(0, 3), max_size=5))
def test_stopped_anywhere_it_ends_alike(
    there: list[str], first: list[str], then: list[str], stops: list[int]
) -> None:
    planes = [Plane(made(*first), *map(binding, there)) for _ in range(2)]
    for plane, stopped in zip(planes, ([], stops), strict=True):
        stumble(plane.world, plane.plan, stopped)
        plane.settle()
        plane.relist(*then)
        stumble(plane.world, plane.plan, stopped)
        plane.settle()
        assert plane.plan() == NOTHING
    assert planes[0].world.contents() == planes[1].world.contents()
    for name in there:
        asked = planes[0].triggered(name) == MADE
        assert asked == (name in first or name in then)
