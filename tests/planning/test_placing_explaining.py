"""Every decision can be read about."""

from base64 import b64decode
from typing import Any

import numpy as np
import pytest
from placing_world import EVEN, NOW, World, make_binding, make_cluster

from atoll.dialects import json
from atoll.model.action import NOTHING, Create, Delete, Plan
from atoll.planning.placing.explaining import KEPT, SeenExplanations, explanation_name, keep
from atoll.scheduling import stored
from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import explain
from atoll.scheduling.trigger import Trigger

PRICED = make_cluster("a", 10)
PRICED["metadata"]["annotations"] = {"atoll.io/price": "cpu=0.25"}
TAINTED = make_cluster("b", taints=[{"key": "gpu", "effect": "NoSchedule"}])


def decided(replicas: int = 2, *clusters: dict[str, Any]) -> tuple[World, Decision]:
    world = World(make_binding(replicas, dividing=EVEN), *(clusters or (PRICED, TAINTED)))
    decision = world.look().decision
    assert decision is not None
    return world, decision


def created(plan: Plan) -> Any:
    (found,) = (each.object for each in plan.actions if isinstance(each, Create))
    return found


def test_an_explanation_says_what_was_decided_and_why() -> None:
    world, decision = decided()
    seen = SeenExplanations(world.binding)
    told = created(keep(seen, decision, Trigger.PLACEMENT_CHANGED, NOW))
    assert told["apiVersion"] == "placement.atoll.io/v1alpha1"
    assert told["kind"] == "Explanation"
    assert told["metadata"]["namespace"] == "shop"
    assert told["metadata"]["name"] == "web-deployment.1"
    assert told["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert told["binding"]["name"] == "web-deployment"
    assert told["time"] == "2027-01-15T08:00:00Z"
    assert told["trigger"] == "placementChanged"
    assert told["outcome"]["verdict"] == "Success"
    assert told["outcome"]["summary"] == "2 replicas in 1 cluster: a 2"
    assert told["targets"] == [{"name": "a", "replicas": 2}]
    assert told["cost"] == "0.5 per hour"
    a, b = told["clusters"]
    assert (a["name"], a["chosen"], a["replicas"]) == ("a", True, 2)
    assert (b["name"], b["chosen"]) == ("b", False)
    assert "untolerated taint" in b["reason"]
    assert any("by free capacity" in each for each in told["sentences"])


def test_the_record_can_be_read_back() -> None:
    world, decision = decided()
    told = created(keep(SeenExplanations(world.binding), decision, Trigger.NONE, NOW))
    names = np.array(told["record"]["clusters"], dtype=object)
    report = explain(stored.decode(b64decode(told["record"]["data"]), names))
    assert [each._asdict() for each in report.targets] == told["targets"]


def test_an_explanation_is_made_of_plain_values() -> None:
    world, decision = decided()
    told = created(keep(SeenExplanations(world.binding), decision, Trigger.NONE, NOW))
    assert json.read(json.written(told)) == told


def test_a_refusal_is_explained_too() -> None:
    world, decision = decided(2, TAINTED)
    told = created(keep(SeenExplanations(world.binding), decision, Trigger.NONE, NOW))
    assert told["outcome"]["verdict"] == "NoClusterFit"
    assert told["outcome"]["message"].startswith("0/1 clusters are available")
    assert told["targets"] == []
    assert told["cost"] == ""


def test_of_many_clusters_only_those_chosen_are_told_one_by_one() -> None:
    world, decision = decided(2, PRICED, *(make_cluster(f"x{n}", 0) for n in range(80)))
    told = created(keep(SeenExplanations(world.binding), decision, Trigger.NONE, NOW))
    assert [each["name"] for each in told["clusters"]] == ["a"]
    assert sum(each["count"] for each in told["reasons"]) == 80
    assert "clusters" not in told["record"]


def test_a_cluster_wide_binding_has_cluster_wide_explanations() -> None:
    world, decision = decided()
    binding = {**world.binding, "kind": "ClusterResourceBinding"}
    binding["metadata"] = {"name": "role-clusterrole", "uid": "u"}
    told = created(keep(SeenExplanations(binding), decision, Trigger.NONE, NOW))
    assert told["kind"] == "ClusterExplanation"
    assert "namespace" not in told["metadata"]


def test_the_last_ten_are_kept() -> None:
    known: tuple[Any, ...] = ()
    for turn in range(25):
        world, decision = decided(1 + turn % 2)
        plan = keep(SeenExplanations(world.binding, known), decision, Trigger.NONE, NOW + turn)
        gone = {each.uid for each in plan.actions if isinstance(each, Delete)}
        one = created(plan)
        one = {**one, "metadata": {**one["metadata"], "uid": f"e{one['sequence']}"}}
        known = tuple(each for each in (one, *known) if each["metadata"]["uid"] not in gone)
        seen = SeenExplanations(world.binding, known)
        assert keep(seen, decision, Trigger.NONE, NOW + turn + 1) is NOTHING
    assert sorted(each["sequence"] for each in known) == list(range(26 - KEPT, 26))


@pytest.mark.parametrize("length", [1, 250, 251, 252, 253, 400])
def test_names_are_never_too_long_and_never_the_same_for_two(length: int) -> None:
    name, other = "a" * length, "a" * (length - 1) + "b"
    assert len(explanation_name(name, 7)) <= 253
    assert explanation_name(name, 7) != explanation_name(other, 7)
    assert explanation_name(name, 7) != explanation_name(name, 8)
