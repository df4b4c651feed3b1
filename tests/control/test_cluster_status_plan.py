"""A Cluster's status by what was seen of the cluster: what is written, and what is left alone."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.config import Times
from atoll.control.cluster_status.decide import SeenStatus, plan
from atoll.dialects.karmada.cluster_status.enablements import Discovered
from atoll.dialects.karmada.cluster_status.readiness import Health, Streak
from atoll.dialects.karmada.cluster_status.resources import Summary, nodes_by_grade
from atoll.dialects.karmada.objects import members
from atoll.model.action import Update
from atoll.model.cluster import Grade
from atoll.model.node import Node
from atoll.scheduling.nodes.table import NodeTable

NOW = 1_000_000.0
LONG = 0.0
GI = 2**30
MODELS = [
    {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "2"}]},
    {"grade": 1, "ranges": [{"name": "cpu", "min": "2", "max": "1k"}]},
]
SUMMARY = Summary(
    nodes=2,
    ready=1,
    allocatable={"cpu": 8000, "memory": 32 * GI, "pods": 220, "example.com/gpu": 0},
    allocated={"cpu": 1500, "memory": 3 * GI + 1, "pods": 3},
    allocating={},
)
TABLE = NodeTable.of(
    [
        Node(name="a", allocatable={"cpu": 4000}, requested={"cpu": 1000}, slots=110, pods=2),
        Node(name="b", allocatable={"cpu": 4000}, requested={"cpu": 3500}, slots=110, pods=1),
    ]
)
APIS = Discovered({"v1": (("pods", "Pod"),)})


def cluster(status: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    wire = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "east", "resourceVersion": "7"},
        "spec": spec,
    }
    return {**wire, "status": status} if status else wire


def written(wire: Mapping[str, Any], health: Health = Health.OK, **found: Any) -> Any:
    """The status that is written; None if none is."""
    streak = Streak(is_ok=health.is_ok, since=found.pop("since", LONG))
    actions = plan(SeenStatus(members.decode(wire), health, streak, **found), NOW, Times()).actions
    if not actions:
        return None
    (update,) = actions
    assert isinstance(update, Update)
    assert update.subresource == "status"
    assert {**update.object, "status": None} == {**wire, "status": None}
    return update.object["status"]


WHOLE = {"version": "v1.31.2", "apis": APIS, "summary": SUMMARY, "nodes": TABLE}


def test_all_that_was_found_of_a_ready_cluster_is_told() -> None:
    said = written(cluster(resourceModels=MODELS), **WHOLE)
    assert {each["type"]: each["reason"] for each in said.pop("conditions")} == {
        "Ready": "ClusterReady",
        "CompleteAPIEnablements": "Complete",
    }
    assert said == {
        "kubernetesVersion": "v1.31.2",
        "apiEnablements": [
            {"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"}]},
        ],
        "nodeSummary": {"totalNum": 2, "readyNum": 1},
        "resourceSummary": {
            "allocatable": {"cpu": "8", "example.com/gpu": "0", "memory": "32Gi", "pods": "220"},
            "allocated": {"cpu": "1500m", "memory": "3221225473", "pods": "3"},
            "allocatableModelings": [{"grade": 0, "count": 1}, {"grade": 1, "count": 1}],
        },
    }


def test_the_same_again_is_not_written() -> None:
    said = written(cluster(resourceModels=MODELS), **WHOLE)
    again = cluster(said, resourceModels=MODELS)
    assert written(again, **WHOLE) is None


def test_of_a_cluster_that_is_not_ready_only_that_is_told() -> None:
    before = written(cluster(), **WHOLE)
    after = written(cluster(before), Health.UNREACHABLE, **WHOLE)
    ready, complete = after.pop("conditions")
    assert (ready["status"], ready["message"]) == ("False", "cluster is not reachable")
    assert complete == before.pop("conditions")[1]
    assert after == before


def test_a_passing_silence_writes_nothing() -> None:
    before = written(cluster(), **WHOLE)
    assert written(cluster(before), Health.UNREACHABLE, since=NOW - 5) is None


def test_what_could_not_be_found_out_stays_as_it_was() -> None:
    before = written(cluster(), **WHOLE)
    assert written(cluster(before)) is None
    assert written(cluster(before), version="v1.32.0") == {
        **before,
        "kubernetesVersion": "v1.32.0",
    }


def test_what_others_tell_in_the_status_stays() -> None:
    before = {
        "remedyActions": ["TrafficControl"],
        "conditions": [{"type": "ServiceDomainNameResolutionReady", "status": "True"}],
    }
    said = written(cluster(before), **WHOLE)
    assert said["remedyActions"] == ["TrafficControl"]
    assert said["conditions"][0] == before["conditions"][0]


def test_without_the_feature_nodes_are_not_counted_by_grade() -> None:
    said = written(cluster(resourceModels=MODELS), models=False, **WHOLE)
    assert "allocatableModelings" not in said["resourceSummary"]


def test_a_full_node_hides_no_other_from_the_model() -> None:
    full = Node(name="a", allocatable={"cpu": 4000}, slots=3, pods=3)
    others = [Node(name=f"n{at}", allocatable={"cpu": 4000}, slots=10) for at in range(3)]
    grades = (Grade(0, (("cpu", 0),)), Grade(1, (("cpu", 4000),)))
    assert nodes_by_grade(NodeTable.of([full, *others]), grades) == [0, 3]


GRADES = (
    Grade(0, (("cpu", 0), ("memory", 0))),
    Grade(1, (("cpu", 1000), ("memory", 4))),
    Grade(2, (("cpu", 2000), ("memory", 16))),
)


@pytest.mark.parametrize(
    ("free", "grade"),
    [
        pytest.param({"cpu": 2000, "memory": 16}, 2, id="just enough"),
        pytest.param({"cpu": 1999, "memory": 64}, 1, id="the scarcest resource counts"),
        pytest.param({"cpu": 64000, "memory": 3}, 0, id="whichever it is"),
        pytest.param({"cpu": 64000}, 0, id="a resource it lacks is none"),
    ],
)
def test_a_node_is_of_the_highest_grade_it_has_the_least_of(
    free: dict[str, int], grade: int
) -> None:
    table = NodeTable.of([Node(name="a", allocatable=free, slots=1)])
    assert nodes_by_grade(table, GRADES).index(1) == grade


AMOUNT = st.fixed_dictionaries(
    {"cpu": st.integers(-500, 3000), "memory": st.integers(-2, 20), "slots": st.integers(-1, 2)}
)


@given(st.lists(AMOUNT, max_size=12))
def test_counting_all_nodes_at_once_is_counting_them_one_by_one(rows: list[dict[str, int]]) -> None:
    nodes, expected = [], [0] * len(GRADES)
    for at, row in enumerate(rows):
        free = {key: row[key] for key in ("cpu", "memory")}
        nodes.append(Node(name=f"n{at:02}", allocatable=free, slots=row["slots"]))
        fitting = [
            place
            for place, grade in enumerate(GRADES)
            if all(free[name] >= least for name, least in grade.least)
        ]
        if fitting and row["slots"] > 0:
            expected[fitting[-1]] += 1
    assert nodes_by_grade(NodeTable.of(nodes), GRADES) == expected
