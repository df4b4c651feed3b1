"""What takes the place of a copy counts once it was sent, applied and is well, as it is wanted."""

from dataclasses import replace

import pytest
from rendering_world import Plane, make_binding, make_template, targets

from atoll.control.eviction.decide.replacing import replacement
from atoll.control.eviction.decide.tasks import Replacement

GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
TASK = {"fromCluster": "a", "purgeMode": "Gracefully"}
RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
NONE, SENT, HEALTHY = Replacement.NONE, Replacement.SENT, Replacement.HEALTHY


def leaving(on=("b",), **task):
    """A binding that ran in a, and is to run in other clusters."""
    plane = Plane(make_template(), make_binding(on=["a", *on], resource=RESOURCE))
    plane.settle()
    told_ready(plane, *plane.fleet)
    plane.respec(clusters=targets(on), gracefulEvictionTasks=[{**TASK, **task}])
    return plane


def told_ready(plane, *names):
    """These clusters are ready, and no others."""
    known = plane.fleet.items()
    plane.fleet = {name: replace(each, ready=name in names) for name, each in known}


def told(plane, cluster, **status):
    """A member tells of what it has been sent."""
    work = plane.work(cluster)
    manifest = work["spec"]["workload"]["manifests"][0]
    identifier = {
        "ordinal": 0,
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "resource": "",
        "namespace": manifest["metadata"]["namespace"],
        "name": manifest["metadata"]["name"],
    }
    applied = {"type": "Applied", "status": status.pop("applied", "True")}
    generation = {"observedGeneration": status.pop("generation")} if "generation" in status else {}
    entries = [{"identifier": identifier, **status}]
    fresh = {"conditions": [{**applied, **generation}], "manifestStatuses": entries}
    plane.world.put({**work, "status": fresh})


@pytest.mark.parametrize(
    ("status", "far"),
    [
        pytest.param({"health": "Healthy"}, HEALTHY, id="well"),
        pytest.param({"health": "Unhealthy"}, SENT, id="not well"),
        pytest.param({"health": "Unknown"}, SENT, id="nobody knows"),
        pytest.param({}, SENT, id="not told"),
        pytest.param({"health": "Healthy", "applied": "False"}, NONE, id="refused"),
        pytest.param({"health": "Healthy", "generation": 7}, NONE, id="of what was sent before"),
    ],
)
def test_all_that_is_sent_must_be_applied_and_well(status, far):
    plane = leaving(on=("b", "c"))
    for cluster in ("b", "c"):
        told(plane, cluster, health="Healthy")
    assert replacement(plane.seen()) is HEALTHY
    told(plane, "c", **status)
    assert replacement(plane.seen()) is far


def test_health_of_less_than_is_wanted_by_now_counts_for_nothing():
    plane = leaving()
    told(plane, "b", health="Healthy")
    plane.respec(clusters=targets({"b": 9}))
    assert replacement(plane.seen()) is NONE
    plane.perform()
    told(plane, "b", health="Healthy")
    assert replacement(plane.seen()) is HEALTHY


def test_what_is_not_there_yet_or_on_its_way_out_replaces_nothing():
    plane = leaving(on=())
    assert replacement(plane.seen()) is NONE
    plane.respec(clusters=targets(["b"]))
    assert replacement(plane.seen()) is NONE
    plane.perform()
    assert replacement(plane.seen()) is NONE
    told(plane, "b", health="Healthy")
    assert replacement(plane.seen()) is HEALTHY
    plane.world.put({**plane.work("b"), "metadata": {**plane.work("b")["metadata"], **GOING}})
    assert replacement(plane.seen()) is NONE


@pytest.mark.parametrize("part", ["template", "finalizer"])
def test_without_a_template_or_a_hold_on_the_binding_nothing_is_known_to_be_as_wanted(part):
    plane = leaving()
    told(plane, "b", health="Healthy")
    if part == "template":
        plane.template = None
    else:
        plane.world.put(
            {**plane.binding, "metadata": {**plane.binding["metadata"], "finalizers": []}}
        )
    assert replacement(plane.seen()) is NONE


def test_what_is_said_of_clusters_that_cannot_be_reached_counts_for_nothing():
    plane = leaving(on=("b", "c"))
    for cluster in ("b", "c"):
        told(plane, cluster, health="Healthy")
    assert replacement(plane.seen()) is HEALTHY
    told_ready(plane, "b")
    assert replacement(plane.seen()) is SENT
    told_ready(plane)
    assert replacement(plane.seen()) is NONE
