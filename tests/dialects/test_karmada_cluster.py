"""Karmada's Cluster objects as the scheduler sees them."""

from typing import Any

import pytest

from atoll.dialects.karmada import cluster
from atoll.errors import Invalid
from atoll.model.amount import Amount
from atoll.model.cluster import Cluster, Free, Grade
from atoll.model.price import Price
from atoll.model.taint import Effect, Taint

GI = 2**30


def wire(*, metadata: Any = None, spec: Any = None, status: Any = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "member1", **(metadata or {})},
        "spec": spec or {},
        "status": status or {},
    }


def annotated(**annotations: str) -> Cluster:
    given = {f"atoll.io/{key}": value for key, value in annotations.items()}
    return cluster.decode(wire(metadata={"annotations": given}))


def summary(**lists: dict[str, Any]) -> Free | None:
    return cluster.decode(wire(status={"resourceSummary": lists})).free


def modelled(models: list[Any], counts: list[Any]) -> Cluster:
    return cluster.decode(
        wire(
            spec={"resourceModels": models},
            status={"resourceSummary": {"allocatableModelings": counts}},
        )
    )


def test_a_cluster_needs_only_a_name() -> None:
    assert cluster.decode({"metadata": {"name": "member1"}}) == Cluster(name="member1")


def test_every_field_is_read() -> None:
    decoded = cluster.decode(
        wire(
            metadata={"labels": {"env": "prod"}, "deletionTimestamp": "2026-05-01T10:00:00Z"},
            spec={
                "provider": "aws",
                "region": "eu",
                "zone": "deprecated",
                "zones": ["eu-1", "eu-2"],
                "taints": [
                    {"key": "k", "value": "v", "effect": "NoSchedule"},
                    {"key": "t", "effect": "NoExecute", "timeAdded": "1970-01-01T00:00:01.5Z"},
                ],
            },
            status={
                "apiEnablements": [
                    {"groupVersion": "apps/v1", "resources": [{"name": "x", "kind": "Deployment"}]},
                    {"groupVersion": "v1"},
                ],
                "conditions": [{"type": "Other", "status": "False"}, {"type": "Ready"}],
            },
        )
    )
    assert decoded == Cluster(
        name="member1",
        labels={"env": "prod"},
        provider="aws",
        region="eu",
        zones=("eu-1", "eu-2"),
        taints=(Taint("k", Effect.NO_SCHEDULE, "v"), Taint("t", Effect.NO_EXECUTE, "", 1.5)),
        apis=frozenset({("apps/v1", "Deployment")}),
        deleting=True,
        ready=None,
    )


def test_the_deprecated_single_zone_does_not_count() -> None:
    assert cluster.decode(wire(spec={"zone": "eu-1"})).zones == ()


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        pytest.param("True", True, id="ready"),
        pytest.param("False", False, id="not ready"),
        pytest.param("Unknown", None, id="unknown is not not-ready"),
    ],
)
def test_readiness_is_the_ready_condition(status: str, ready: bool | None) -> None:  # noqa: FBT001
    conditions = [{"type": "Ready", "status": status}]
    assert cluster.decode(wire(status={"conditions": conditions})).ready is ready


def test_without_a_summary_nothing_is_known_to_be_free() -> None:
    assert cluster.decode(wire()).free is None


def test_an_empty_summary_is_known_to_have_nothing() -> None:
    assert summary() == Free({}, 0)


@pytest.mark.parametrize(
    ("lists", "resource", "left"),
    [
        pytest.param({"allocatable": {"cpu": "4"}}, "cpu", Amount(4000), id="nothing taken"),
        pytest.param(
            {
                "allocatable": {"cpu": "4"},
                "allocated": {"cpu": "500m"},
                "allocating": {"cpu": "0.25"},
            },
            "cpu",
            Amount(3250),
            id="allocated and allocating are taken",
        ),
        pytest.param(
            {"allocatable": {"memory": "64Gi"}, "allocated": {"memory": "1G"}},
            "memory",
            Amount((64 * GI - 10**9) * 1000, binary=True),
            id="the form is that of allocatable",
        ),
        pytest.param(
            {"allocatable": {"memory": "0"}, "allocated": {"memory": "1Gi"}},
            "memory",
            Amount(-GI * 1000, binary=True),
            id="of nothing allocatable the form is that of what is taken",
        ),
        pytest.param(
            {
                "allocatable": {"memory": "1Gi"},
                "allocated": {"memory": "1Gi"},
                "allocating": {"memory": "5"},
            },
            "memory",
            Amount(-5000),
            id="once nothing is left the form is that of what is taken next",
        ),
        pytest.param(
            {"allocatable": {"cpu": "1"}, "allocated": {"cpu": "1n"}},
            "cpu",
            Amount(1000),
            id="rounded away from zero",
        ),
        pytest.param(
            {"allocatable": {"cpu": "1"}, "allocated": {"cpu": "1.0000000001"}},
            "cpu",
            Amount(-1),
            id="rounded away from zero below it",
        ),
        pytest.param({"allocatable": {"cpu": 3}}, "cpu", Amount(3000), id="a JSON number"),
        pytest.param({"allocatable": {"cpu": 1.5}}, "cpu", Amount(1500), id="a JSON fraction"),
    ],
)
def test_free_is_exactly_what_is_left(lists: dict[str, Any], resource: str, left: Amount) -> None:
    free = summary(**lists)
    assert free is not None
    assert free.resources[resource] == left


def test_only_allocatable_resources_are_free() -> None:
    free = summary(allocatable={"cpu": "1"}, allocated={"gpu": "1"})
    assert free is not None
    assert set(free.resources) == {"cpu"}


def test_pods_are_rounded_up_before_they_are_subtracted() -> None:
    free = summary(allocatable={"pods": "10500m"}, allocated={"pods": "1500m"})
    assert free is not None
    assert free.pods == 11 - 2


def test_more_pods_taken_than_allocatable_is_below_nothing() -> None:
    free = summary(allocatable={"pods": "1"}, allocating={"pods": "5"})
    assert free is not None
    assert free.pods == -4


def model(grade: int, **least: str) -> dict[str, Any]:
    ranges = [{"name": name, "min": value, "max": "9999"} for name, value in least.items()]
    return {"grade": grade, "ranges": ranges}


def test_grades_are_sorted_and_each_resource_is_in_its_unit() -> None:
    decoded = modelled([model(1, memory="4Gi", cpu="1500m"), model(0, cpu="0")], [])
    assert decoded.grades == (
        Grade(0, (("cpu", 0),)),
        Grade(1, (("cpu", 1500), ("memory", 4 * GI))),
    )
    assert decoded.nodes_by_grade == ()


def test_of_two_models_of_one_grade_the_last_counts() -> None:
    assert modelled([model(1, cpu="1"), model(1, cpu="2")], []).grades == (
        Grade(1, (("cpu", 2000),)),
    )


@pytest.mark.parametrize(
    ("counts", "nodes"),
    [
        pytest.param([{"grade": 1, "count": 3}], (0, 3), id="in the order of the grades"),
        pytest.param(
            [{"grade": 0, "count": 1}, {"grade": 0, "count": 2}], (3, 0), id="one grade twice"
        ),
        pytest.param([{"grade": 7, "count": 9}], (0, 0), id="a grade the spec does not know"),
        pytest.param([{"grade": 0}], (0, 0), id="no count is none"),
        pytest.param([], (), id="not reported"),
        pytest.param(
            [{"grade": 0, "count": 1}, {"grade": 7, "count": -1}], (), id="a negative count"
        ),
    ],
)
def test_nodes_are_counted_by_grade(counts: list[Any], nodes: tuple[int, ...]) -> None:
    assert modelled([model(1, cpu="1"), model(0, cpu="0")], counts).nodes_by_grade == nodes


def test_counts_without_a_model_are_not_counts() -> None:
    assert modelled([], [{"grade": 0, "count": 5}]).nodes_by_grade == ()


def test_equal_things_of_two_clusters_are_one_object() -> None:
    def one(name: str) -> Cluster:
        listed = [{"groupVersion": "apps/v1", "resources": [{"kind": "".join(["Deploy", "ment"])}]}]
        return cluster.decode(
            {
                "metadata": {"name": name, "labels": {"".join(["e", "nv"]): "".join(["pr", "od"])}},
                "spec": {
                    "resourceModels": [model(0, cpu="1")],
                    "taints": [{"key": "".join(["a", "b"]), "effect": "NoSchedule"}],
                    "zones": ["".join(["eu", "-1"])],
                },
                "status": {"apiEnablements": listed},
            }
        )

    first, second = one("a"), one("b")
    assert first.apis is second.apis
    assert first.grades is second.grades
    assert first.zones is second.zones
    assert first.taints[0] is second.taints[0]
    assert first.labels["env"] is second.labels["env"]


def test_prices_are_exact_to_the_billionth() -> None:
    decoded = annotated(price="cpu=0.031, gib=0.000000001\nnvidia.com/gpu=2.48,")
    assert decoded.price == Price(31_000_000, 1, {"nvidia.com/gpu": 2_480_000_000})


def test_a_price_that_is_not_given_is_not_nothing() -> None:
    assert annotated(price="gib=1").price == Price(None, 1_000_000_000, {})
    assert annotated().price is None


def test_properties_scores_and_sets_are_read_from_annotations() -> None:
    decoded = annotated(properties="a=1, b.io/c = x=y", scores="latency=80,carbon=-15", sets="p, q")
    assert decoded.properties == {"a": "1", "b.io/c": "x=y"}
    assert decoded.scores == {"latency": 80, "carbon": -15}
    assert decoded.sets == frozenset({"p", "q"})


TOO_PRECISE = "0.0000000001"


@pytest.mark.parametrize(
    ("bad", "field", "value"),
    [
        pytest.param({}, "metadata.name", "", id="no metadata"),
        pytest.param(wire(metadata={"name": 7}), "metadata.name", 7, id="a name of no text"),
        pytest.param(wire(metadata={"labels": []}), "metadata.labels", [], id="labels of a list"),
        pytest.param(
            wire(metadata={"labels": {"a": 1}}), "metadata.labels[a]", 1, id="a label of no text"
        ),
        pytest.param(wire(spec={"zones": "eu"}), "spec.zones", "eu", id="zones of text"),
        pytest.param(wire(spec={"zones": [1]}), "spec.zones[0]", 1, id="a zone of no text"),
        pytest.param(wire(spec={"region": 1}), "spec.region", 1, id="a region of no text"),
        pytest.param(
            wire(spec={"taints": [{"key": "k", "effect": "Never"}]}),
            "spec.taints[0].effect",
            "Never",
            id="an unknown effect",
        ),
        pytest.param(
            wire(spec={"taints": [{"effect": "NoSchedule"}]}),
            "spec.taints[0].key",
            "",
            id="a taint without a key",
        ),
        pytest.param(
            wire(spec={"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "now"}]}),
            "spec.taints[0].timeAdded",
            "now",
            id="no time",
        ),
        pytest.param(
            wire(spec={"resourceModels": [{"grade": -1}]}),
            "spec.resourceModels[0].grade",
            -1,
            id="a negative grade",
        ),
        pytest.param(
            wire(spec={"resourceModels": [model(0, cpu="much")]}),
            "spec.resourceModels[0].ranges[0].min",
            "much",
            id="no quantity in a model",
        ),
        pytest.param(
            wire(status={"apiEnablements": [{"groupVersion": "v1", "resources": [{"kind": 3}]}]}),
            "status.apiEnablements[0].resources[0].kind",
            3,
            id="a kind of no text",
        ),
        pytest.param(
            wire(status={"apiEnablements": [{"groupVersion": "v1", "resources": [[]]}]}),
            "status.apiEnablements[0].resources[0]",
            [],
            id="a resource that is a list",
        ),
        pytest.param(
            wire(status={"resourceSummary": {"allocatable": {"cpu": "4 cores"}}}),
            "status.resourceSummary.allocatable[cpu]",
            "4 cores",
            id="no quantity",
        ),
        pytest.param(
            wire(status={"resourceSummary": {"allocatable": {"cpu": True}}}),
            "status.resourceSummary.allocatable[cpu]",
            True,
            id="true is no quantity",
        ),
    ],
)
def test_bad_input_is_named(bad: dict[str, Any], field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        cluster.decode(bad)
    assert (refused.value.field, refused.value.value) == (field, value)


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        pytest.param("price", "cpu", "cpu", id="no value"),
        pytest.param("price", "=1", "=1", id="no key"),
        pytest.param("price", "cpu=-1", "-1", id="a negative price"),
        pytest.param("price", "cpu=1e3", "1e3", id="no plain decimal"),
        pytest.param("price", f"cpu={TOO_PRECISE}", TOO_PRECISE, id="ten places"),
        pytest.param("price", "cpu=1,cpu=2", "cpu=2", id="given twice"),
        pytest.param("price", "memory=1", "memory", id="memory goes by the GiB"),
        pytest.param("scores", "latency=fast", "fast", id="a score of no number"),
        pytest.param("scores", "latency=1000001", "1000001", id="a score out of bounds"),
        pytest.param("properties", "network", "network", id="a property without a value"),
    ],
)
def test_a_bad_annotation_is_named(key: str, written: str, value: str) -> None:
    with pytest.raises(Invalid) as refused:
        annotated(**{key: written})
    assert refused.value.field == f"metadata.annotations[atoll.io/{key}]"
    assert refused.value.value == value
