"""Karmada's bindings as workloads, as neighbours of others, and as work just assumed."""

from typing import Any

import pytest

from atoll.dialects.karmada import binding, placement
from atoll.errors import Invalid
from atoll.model.amount import Amount
from atoll.model.binding import Binding, Resource, Target
from atoll.model.demand import Component, Demand, NodeClaim, NodeTerm
from atoll.model.intent import Intent, Ordinals
from atoll.model.neighbour import Neighbour
from atoll.model.selector import Operator, Requirement
from atoll.model.taint import Toleration

RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
WEB = Resource(("apps/v1", "Deployment"), "shop", "web")
GI = 2**30


def test_a_binding_needs_only_a_resource() -> None:
    decoded = binding.decode({"resource": RESOURCE}, None)
    assert decoded == Binding(resource=WEB, intent=Intent())
    assert not decoded.is_workload


def test_every_field_is_read() -> None:
    wanted = {"clusterAffinity": {"clusterNames": ["a"]}}
    decoded = binding.decode(
        {
            "resource": RESOURCE | {"uid": "u-1"},
            "placement": wanted,
            "replicas": 5,
            "replicaRequirements": {
                "resourceRequest": {"memory": "1Gi", "cpu": "250m"},
                "nodeClaim": {
                    "nodeSelector": {"disk": "ssd"},
                    "tolerations": [{"key": "gpu", "operator": "Exists"}],
                    "hardNodeAffinity": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "arch", "operator": "Exists"}]}
                        ]
                    },
                },
                "priorityClassName": "high",
            },
            "clusters": [{"name": "b", "replicas": 3}, {"name": "a"}],
            "gracefulEvictionTasks": [{"fromCluster": "c"}],
            "schedulePriority": {"priority": -7},
            "workloadAffinityGroups": {"affinityGroup": "app=x", "antiAffinityGroup": "app=y"},
        },
        {"schedulerObservingAffinityName": "first"},
    )
    assert decoded == Binding(
        resource=Resource(("apps/v1", "Deployment"), "shop", "web", "u-1"),
        intent=placement.decode(wanted),
        replicas=5,
        demand=Demand(
            requests=(("cpu", Amount(250)), ("memory", Amount(GI * 1000, binary=True))),
            claim=NodeClaim(
                selector=(("disk", "ssd"),),
                terms=(NodeTerm(labels=(Requirement("arch", Operator.EXISTS),)),),
                tolerations=(Toleration("gpu", any_value=True),),
            ),
            namespace="shop",
            priority_class="high",
        ),
        targets=(Target("b", 3), Target("a", 0)),
        evicting=("c",),
        observed_term="first",
        priority=-7,
        affinity_group="app=x",
        anti_affinity_group="app=y",
    )


def test_additions_reach_the_intent() -> None:
    decoded = binding.decode({"resource": RESOURCE, "atoll": {"ordinals": {"stride": 9}}}, {})
    assert decoded.intent.ordinals == Ordinals(9)


def test_empty_requirements_make_a_workload() -> None:
    decoded = binding.decode({"resource": RESOURCE, "replicaRequirements": {}}, {})
    assert decoded.demand == Demand(namespace="shop")
    assert decoded.is_workload


def test_equal_demands_are_one_object() -> None:
    def decoded() -> Binding:
        needs = {"resourceRequest": {"cpu": "".join(["1", "m"])}}
        return binding.decode({"resource": RESOURCE, "replicaRequirements": needs}, {})

    assert decoded().demand is decoded().demand


def test_components_are_read_in_their_order() -> None:
    decoded = binding.decode(
        {
            "resource": RESOURCE,
            "components": [
                {
                    "name": "job",
                    "replicas": 1,
                    "replicaRequirements": {"resourceRequest": {"cpu": 2}},
                },
                {"name": "task", "replicas": 4},
            ],
        },
        {},
    )
    assert decoded.components == (
        Component("job", 1, Demand((("cpu", Amount(2000)),), namespace="shop")),
        Component("task", 4),
    )


@pytest.mark.parametrize(
    ("asked", "last", "fresh"),
    [
        pytest.param(None, None, False, id="never asked"),
        pytest.param("2026-05-01T10:00:00Z", None, False, id="never decided"),
        pytest.param(None, "2026-05-01T10:00:00Z", False, id="decided, not asked"),
        pytest.param("2026-05-01T10:00:01Z", "2026-05-01T10:00:00Z", True, id="asked since"),
        pytest.param("2026-05-01T10:00:00Z", "2026-05-01T10:00:00Z", False, id="the same moment"),
        pytest.param(
            "2026-05-01T12:00:00+02:00", "2026-05-01T09:59:59Z", True, id="in another zone"
        ),
        pytest.param(
            "2026-05-01T10:00:00.000000002Z",
            "2026-05-01T10:00:00.000000001Z",
            True,
            id="a nanosecond later",
        ),
    ],
)
def test_fresh_is_asked_for_since_the_last_decision(
    asked: str | None,
    last: str | None,
    fresh: bool,  # noqa: FBT001
) -> None:
    spec = {"resource": RESOURCE, "rescheduleTriggeredAt": asked}
    assert binding.decode(spec, {"lastScheduledTime": last}).fresh is fresh


def test_a_neighbour_is_its_groups_and_where_it_runs() -> None:
    wire = {
        "metadata": {"namespace": "shop", "name": "db-deployment", "resourceVersion": "50"},
        "spec": {
            "workloadAffinityGroups": {"affinityGroup": "app=x"},
            "clusters": [{"name": "a", "replicas": 1}, {"name": "b"}],
        },
    }
    assert binding.neighbour(wire) == Neighbour(
        "shop", "db-deployment", 50, "app=x", "", frozenset({"a", "b"})
    )


def spec(**fields: Any) -> dict[str, Any]:
    return {"resource": RESOURCE, **fields}


@pytest.mark.parametrize(
    ("bad", "field", "value"),
    [
        pytest.param([], "spec", [], id="a list"),
        pytest.param(spec(replicas=-1), "spec.replicas", -1, id="negative replicas"),
        pytest.param(spec(replicas=2**31), "spec.replicas", 2**31, id="more than 32 bits"),
        pytest.param(spec(replicas=True), "spec.replicas", True, id="true is no number"),
        pytest.param(spec(placement=3), "spec.placement", 3, id="placement"),
        pytest.param(spec(clusters=[{}]), "spec.clusters[0].name", "", id="a target without name"),
        pytest.param(
            spec(gracefulEvictionTasks=[{"fromCluster": ""}]),
            "spec.gracefulEvictionTasks[0].fromCluster",
            "",
            id="evicted from where",
        ),
        pytest.param(
            spec(replicaRequirements={"resourceRequest": {"cpu": "1x"}}),
            "spec.replicaRequirements.resourceRequest[cpu]",
            "1x",
            id="no quantity",
        ),
        pytest.param(
            spec(replicaRequirements={"resourceRequest": {"cpu": "-1"}}),
            "spec.replicaRequirements.resourceRequest[cpu]",
            "-1",
            id="a negative request",
        ),
        pytest.param(
            spec(components=[{"replicaRequirements": {"resourceRequest": {"cpu": None}}}]),
            "spec.components[0].replicaRequirements.resourceRequest[cpu]",
            None,
            id="no quantity in a component",
        ),
        pytest.param(
            spec(rescheduleTriggeredAt="2026-05-01"),
            "spec.rescheduleTriggeredAt",
            "2026-05-01",
            id="no time",
        ),
    ],
)
def test_bad_input_is_named(bad: Any, field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        binding.decode(bad, {})
    assert (refused.value.field, refused.value.value) == (field, value)


def test_the_same_bad_demand_is_named_where_it_stands() -> None:
    bad = {"resourceRequest": {"cpu": "bad"}}
    with pytest.raises(Invalid, match=r"^spec\.replicaRequirements"):
        binding.decode(spec(replicaRequirements=bad), {})
    with pytest.raises(Invalid, match=r"^spec\.components\[0\]"):
        binding.decode(spec(components=[{"replicaRequirements": bad}]), {})
