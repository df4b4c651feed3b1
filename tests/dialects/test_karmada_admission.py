"""Placements that admission refuses: with Karmada's sentences, and a few of our own."""

from typing import Any

import pytest

from atoll.dialects.karmada.admission import validate
from tests.oracle.casefile import CORPORA, read_cases

DYNAMIC = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}
CLUSTER = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}
AFFINITIES = "spec.placement.clusterAffinities"


def told(wire: Any) -> list[tuple[str, str]]:
    return [(each.field, each.problem) for each in validate(wire)]


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.stem)
def test_every_recorded_placement_is_judged_as_karmada_judged_it(corpus: Any) -> None:
    for case in read_cases(corpus, "expected"):
        found = "; ".join(each.problem for each in validate(case["input"]["spec"]["placement"]))
        assert found == (case["expected"].get("invalid") or ""), case["id"]


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"clusterAffinity": {"clusterNames": ["a"]}}, id="names"),
        pytest.param({"spreadConstraints": [{"spreadByLabel": "rack"}]}, id="by label alone"),
        pytest.param(
            {
                "replicaScheduling": {"replicaDivisionPreference": "Aggregated"},
                "clusterAffinities": [
                    {
                        "affinityName": "a",
                        "clusterNames": ["x"],
                        "overflowAffinities": [{"affinityName": "b"}],
                    }
                ],
            },
            id="overflow of an aggregated division",
        ),
    ],
)
def test_what_karmada_accepts_is_accepted(wire: Any) -> None:
    assert validate(wire) == []


@pytest.mark.parametrize(
    ("wire", "field", "problem"),
    [
        pytest.param(
            {"clusterAffinity": {}, "clusterAffinities": [{"affinityName": "a"}]},
            "spec.placement",
            "clusterAffinities cannot co-exist with clusterAffinity",
            id="both forms of affinity",
        ),
        pytest.param(
            {"clusterAffinities": [{"affinityName": "a"}, {"affinityName": "a"}]},
            AFFINITIES,
            "each affinity term in a policy must have a unique name",
            id="one name twice",
        ),
        pytest.param(
            {
                "replicaScheduling": DYNAMIC,
                "clusterAffinities": [
                    {"affinityName": "a", "overflowAffinities": [{"affinityName": "b"}]}
                ],
            },
            f"{AFFINITIES}[0].overflowAffinities",
            "overflowAffinities can only be used together with the inline ClusterAffinity",
            id="overflow of nothing",
        ),
        pytest.param(
            {
                "replicaScheduling": DYNAMIC,
                "clusterAffinities": [
                    {
                        "affinityName": "a",
                        "exclude": ["x"],
                        "overflowAffinities": [{"affinityName": "a"}],
                    }
                ],
            },
            f"{AFFINITIES}[0].overflowAffinities[0].affinityName",
            "overflow affinity name must be unique and must not duplicate the primary group's"
            " affinityName",
            id="a tier named as its term",
        ),
        pytest.param(
            {"clusterAffinity": {"fieldSelector": {"matchExpressions": [{"key": "planet"}]}}},
            "spec.placement.clusterAffinity.fieldSelector",
            'unsupported key "planet", must be provider, region, or zone',
            id="an unknown field",
        ),
        pytest.param(
            {"spreadConstraints": [CLUSTER, CLUSTER, CLUSTER]},
            "spec.placement.spreadConstraints",
            "multiple cluster spread constraints are not allowed",
            id="one field thrice is told once",
        ),
        pytest.param(
            {"spreadConstraints": [CLUSTER | {"spreadByLabel": "rack"}]},
            "spec.placement.spreadConstraints[0]",
            "spreadByLabel should not co-exist with spreadByField",
            id="by field and label",
        ),
        pytest.param(
            {"spreadConstraints": [CLUSTER | {"minGroups": 3}]},
            "spec.placement.spreadConstraints[0]",
            "maxGroups lower than minGroups is not allowed",
            id="min above max",
        ),
        pytest.param(
            {"spreadConstraints": [CLUSTER | {"minGroups": -1}]},
            "spec.placement.spreadConstraints[0]",
            "minGroups lower than 0 is not allowed",
            id="a negative min",
        ),
        pytest.param(
            {"spreadConstraints": [CLUSTER | {"maxGroups": -1}]},
            "spec.placement.spreadConstraints[0]",
            "maxGroups lower than 0 is not allowed",
            id="a negative max",
        ),
        pytest.param(
            {
                "workloadAffinity": {
                    "affinity": {"groupByLabelKey": "app"},
                    "antiAffinity": {"groupByLabelKey": "app"},
                }
            },
            "spec.placement.workloadAffinity",
            "affinity and antiAffinity must not use the same groupByLabelKey",
            id="together and apart",
        ),
        pytest.param(
            {"clusterTolerations": [{"key": "k", "operator": "Gt", "value": "1"}]},
            "spec.placement.clusterTolerations[0].operator",
            'supported values: "", "Equal", "Exists"',
            id="a toleration that compares",
        ),
    ],
)
def test_karmadas_refusals_are_told_in_its_words(wire: Any, field: str, problem: str) -> None:
    assert told(wire) == [(field, problem)]


WEIGHTS = "spec.placement.replicaScheduling.weightPreference.staticWeightList[0]"


def weighted(**entry: Any) -> dict[str, Any]:
    return {"replicaScheduling": {"weightPreference": {"staticWeightList": [entry]}}}


@pytest.mark.parametrize(
    ("wire", "field", "value"),
    [
        pytest.param([], "spec.placement", [], id="not even an object"),
        pytest.param(
            {"workloadAffinity": 5}, "spec.placement.workloadAffinity", 5, id="groups of a number"
        ),
        pytest.param(
            {"workloadAffinity": {"affinity": {}}},
            "spec.placement.workloadAffinity.affinity.groupByLabelKey",
            "",
            id="no label to group by",
        ),
        pytest.param(
            {"clusterAffinities": [{"affinityName": ""}]}, f"{AFFINITIES}[0]", "", id="no name"
        ),
        pytest.param(
            {"clusterAffinity": {"exclude": ["a", ""]}},
            "spec.placement.clusterAffinity.exclude[1]",
            "",
            id="an empty cluster name",
        ),
        pytest.param(
            {
                "clusterAffinity": {
                    "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Like"}]}
                }
            },
            "spec.placement.clusterAffinity.labelSelector.matchExpressions[0].operator",
            "Like",
            id="an unknown operator",
        ),
        pytest.param(
            {"clusterTolerations": [{"effect": "Never"}]},
            "spec.placement.clusterTolerations[0].effect",
            "Never",
            id="an unknown effect",
        ),
        pytest.param(weighted(weight=0), f"{WEIGHTS}.weight", 0, id="a weight of nothing"),
        pytest.param(weighted(weight=-2), f"{WEIGHTS}.weight", -2, id="a negative weight"),
        pytest.param(
            weighted(weight=1, targetCluster={"clusterNames": [""]}),
            f"{WEIGHTS}.targetCluster.clusterNames[0]",
            "",
            id="a weight for no name",
        ),
    ],
)
def test_our_own_refusals_name_field_and_value(wire: Any, field: str, value: object) -> None:
    assert [(each.field, each.value) for each in validate(wire)] == [(field, value)]
