"""Atoll's additions to a placement: every field reaches the intent, and no mistake is lost."""

from typing import Any

import pytest

from atoll.dialects.karmada import placement
from atoll.errors import Invalid
from atoll.model.affinity import Affinity, Term
from atoll.model.intent import (
    Bounds,
    Combine,
    Constrained,
    Failback,
    Fill,
    Group,
    Intent,
    Order,
    Ordinals,
    Pick,
    Preemption,
    Preference,
    Quota,
    Reschedule,
    Shortage,
    TieBreak,
    Weighted,
)
from atoll.model.selector import Operator, Requirement, Selector

ROOT = "spec.atoll"
AWS = {
    "fieldSelector": {
        "matchExpressions": [{"key": "provider", "operator": "In", "values": ["aws"]}]
    }
}
ON_AWS = Affinity(provider=(Requirement("provider", Operator.IN, ("aws",)),))


def intent(**extra: Any) -> Intent:
    return placement.decode({}, extra)


def test_empty_additions_change_nothing() -> None:
    wire = {"spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 1}]}
    assert placement.decode(wire, {}) is placement.decode(wire)
    assert placement.decode(wire).selection == Constrained()


def test_select_in_full_is_a_pick() -> None:
    picked = intent(
        select={
            "order": "Cheapest",
            "minClusters": 2,
            "maxClusters": 5,
            "seed": 7,
            "sticky": False,
            "spread": [
                {
                    "by": "label:rack",
                    "minGroups": 2,
                    "maxGroups": 3,
                    "minClustersPerGroup": 1,
                    "maxClustersPerGroup": 2,
                    "maxSkew": 1,
                },
                {"by": "zone"},
            ],
            "quotas": [{"clusters": AWS, "count": 3, "min": 1}],
            "whenShort": "Partial",
        }
    )
    assert picked.selection == Pick(
        order=Order.PRICE,
        least=2,
        most=5,
        seed=7,
        sticky=False,
        groups=(Group("label:rack", 2, 3, 1, 2, 1), Group("zone")),
        quotas=(Quota(ON_AWS, 3, 1),),
        shortage=Shortage.PARTIAL,
    )


def test_an_empty_select_is_a_pick_of_the_best() -> None:
    assert intent(select={}).selection == Pick()


@pytest.mark.parametrize(
    ("written", "order"),
    [("Best", Order.BEST), ("MostFree", Order.FREE), ("Random", Order.CHANCE)],
)
def test_orders_have_names(written: str, order: Order) -> None:
    assert intent(select={"order": written}).selection == Pick(order=order)
    assert intent(divide={"order": written}).division == Fill(order=order)


def test_divide_fills_in_an_order() -> None:
    given = {"order": "MostFree", "evenly": True, "seed": 3, "keepRunning": False}
    assert intent(divide=given | {"whenShort": "Partial"}).division == Fill(
        order=Order.FREE, even=True, seed=3, shortage=Shortage.PARTIAL, keep=False
    )


def test_divide_by_weights_can_add_them_up() -> None:
    given = {"weights": [{"clusters": AWS, "weight": 2}], "combine": "Sum"}
    assert intent(divide=given).division == Weighted(((ON_AWS, 2),), Combine.SUM)


def test_the_rest_reaches_the_intent() -> None:
    assert intent(
        replicasPerCluster=[{"clusters": AWS, "min": 1, "max": 4}, {"max": 9}],
        prefer=[{"clusters": AWS, "weight": -5}, {"clusters": AWS}],
        preferNoScheduleCost=10,
        scores={"latency": 2, "carbon": -1},
        tieBreak="Name",
        ordinals={"stride": 100},
        preemption={"mayPreempt": True},
        failback="WhenPossible",
        reschedule="OnClusterChange",
    ) == Intent(
        bounds=(Bounds(ON_AWS, 1, 4), Bounds(Affinity(), 0, 9)),
        preferences=(Preference(ON_AWS, -5), Preference(ON_AWS, 1)),
        soft_taints=10,
        scores=(("carbon", -1), ("latency", 2)),
        tie_break=TieBreak.NAME,
        ordinals=Ordinals(100),
        preemption=Preemption(may_preempt=True),
        failback=Failback.WHEN_POSSIBLE,
        reschedule=Reschedule.ON_CLUSTER_CHANGE,
    )


def test_every_form_of_selector_can_be_written() -> None:
    given = {
        "clusterNames": ["a"],
        "exclude": ["b"],
        "labelSelector": {"matchLabels": {"env": "prod"}},
        "properties": [{"key": "gpu.io/count", "operator": "Gt", "values": ["3"]}],
        "clusterSets": ["blue"],
        "expressions": ["cluster.cpu > 3"],
        "anyOf": [AWS, {}],
    }
    (preference,) = intent(prefer=[{"clusters": given}]).preferences
    assert preference.affinity == Affinity(
        names=("a",),
        exclude=("b",),
        labels=Selector((Requirement("env", Operator.IN, ("prod",)),)),
        properties=(Requirement("gpu.io/count", Operator.ABOVE, ("3",)),),
        sets=("blue",),
        expressions=("cluster.cpu > 3",),
        alternatives=(ON_AWS, Affinity()),
    )


def test_clusters_limit_every_term_and_tier() -> None:
    wire = {
        "clusterAffinities": [
            {
                "affinityName": "t",
                "clusterNames": ["a"],
                "overflowAffinities": [{"affinityName": "o", "clusterNames": ["b"]}],
            }
        ]
    }
    limited = placement.decode(wire, {"clusters": AWS})
    assert limited.terms == (
        Term(
            "t",
            Affinity(names=("a",), alternatives=(ON_AWS,)),
            (Affinity(names=("b",), alternatives=(ON_AWS,)),),
        ),
    )


def labels(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"clusters": {"labelSelector": {"matchExpressions": list(expressions)}}}


LABELS = f"{ROOT}.clusters.labelSelector.matchExpressions[0]"


@pytest.mark.parametrize(
    ("extra", "field", "value"),
    [
        pytest.param([], ROOT, [], id="a list"),
        pytest.param({"selekt": {}}, f"{ROOT}.selekt", {}, id="unknown field"),
        pytest.param(
            {"select": {"cheapest": 1}}, f"{ROOT}.select.cheapest", 1, id="unknown in select"
        ),
        pytest.param({"select": {"order": "Fast"}}, f"{ROOT}.select.order", "Fast", id="order"),
        pytest.param(
            {"select": {"minClusters": 3, "maxClusters": 2}},
            f"{ROOT}.select.maxClusters",
            2,
            id="min above max",
        ),
        pytest.param(
            {"select": {"minClusters": -1}}, f"{ROOT}.select.minClusters", -1, id="negative"
        ),
        pytest.param({"select": {"maxClusters": 0}}, f"{ROOT}.select.maxClusters", 0, id="none"),
        pytest.param({"select": {"sticky": 1}}, f"{ROOT}.select.sticky", 1, id="no flag"),
        pytest.param(
            {"select": {"spread": [{"by": "planet"}]}},
            f"{ROOT}.select.spread[0].by",
            "planet",
            id="spread by what",
        ),
        pytest.param(
            {"select": {"spread": [{"by": "label:"}]}},
            f"{ROOT}.select.spread[0].by",
            "label:",
            id="spread by no label",
        ),
        pytest.param(
            {"select": {"spread": [{"by": "zone", "minGroups": 3, "maxGroups": 1}]}},
            f"{ROOT}.select.spread[0].maxGroups",
            1,
            id="min groups above max",
        ),
        pytest.param(
            {"select": {"spread": [{"by": "zone", "maxSkew": 0}]}},
            f"{ROOT}.select.spread[0].maxSkew",
            0,
            id="no skew at all",
        ),
        pytest.param(
            {"select": {"quotas": [{"clusters": {}}]}},
            f"{ROOT}.select.quotas[0].count",
            None,
            id="how many",
        ),
        pytest.param(
            {"select": {"quotas": [{"count": 1, "min": 2}]}},
            f"{ROOT}.select.quotas[0].min",
            2,
            id="at least more than all",
        ),
        pytest.param(
            {"divide": {"whenShort": "Cry"}}, f"{ROOT}.divide.whenShort", "Cry", id="shortage"
        ),
        pytest.param(
            {"divide": {"weights": [], "order": "Best"}},
            f"{ROOT}.divide.order",
            "Best",
            id="by weight and in order",
        ),
        pytest.param(
            {"divide": {"weights": [{"weight": -1}]}},
            f"{ROOT}.divide.weights[0].weight",
            -1,
            id="a negative weight",
        ),
        pytest.param(
            {"replicasPerCluster": [{"min": 5, "max": 4}]},
            f"{ROOT}.replicasPerCluster[0].max",
            4,
            id="min replicas above max",
        ),
        pytest.param(
            {"prefer": [{"weight": 10**9}]}, f"{ROOT}.prefer[0].weight", 10**9, id="a huge weight"
        ),
        pytest.param({"scores": {"a": "2"}}, f"{ROOT}.scores.a", "2", id="a weight of text"),
        pytest.param({"failback": "Soon"}, f"{ROOT}.failback", "Soon", id="failback"),
        pytest.param({"reschedule": "Daily"}, f"{ROOT}.reschedule", "Daily", id="reschedule"),
        pytest.param({"tieBreak": "Luck"}, f"{ROOT}.tieBreak", "Luck", id="tie break"),
        pytest.param({"ordinals": {"stride": 0}}, f"{ROOT}.ordinals.stride", 0, id="no stride"),
        pytest.param(
            {"preemption": {"never": True}}, f"{ROOT}.preemption.never", True, id="preemption"
        ),
        pytest.param(
            {"clusters": {"clusterNames": [""]}}, f"{ROOT}.clusters.clusterNames[0]", "", id="name"
        ),
        pytest.param(
            labels({"key": "a", "operator": "In"}), f"{LABELS}.values", (), id="in nothing"
        ),
        pytest.param(
            labels({"key": "a", "operator": "Gt", "values": ["1"]}),
            f"{LABELS}.operator",
            "Gt",
            id="labels have no order",
        ),
        pytest.param(
            labels({"key": "a b", "operator": "Exists"}), f"{LABELS}.key", "a b", id="no label"
        ),
        pytest.param(
            {"clusters": {"labelSelector": {"matchLabels": {"a": "b c"}}}},
            f"{ROOT}.clusters.labelSelector.matchLabels[a]",
            "b c",
            id="no label value",
        ),
        pytest.param(
            {
                "clusters": {
                    "fieldSelector": {"matchExpressions": [{"key": "planet", "operator": "Exists"}]}
                }
            },
            f"{ROOT}.clusters.fieldSelector.matchExpressions[0].key",
            "planet",
            id="an unknown cluster field",
        ),
        pytest.param(
            {"clusters": {"properties": [{"key": "a", "operator": "Gt", "values": ["x"]}]}},
            f"{ROOT}.clusters.properties[0].values",
            ("x",),
            id="more than no number",
        ),
    ],
)
def test_a_mistake_is_named(extra: Any, field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        placement.decode({}, extra)
    assert (refused.value.field, refused.value.value) == (field, value)


def test_an_unknown_field_is_told_the_known_ones() -> None:
    with pytest.raises(Invalid, match="unknown field; known are mayPreempt, mayBePreempted"):
        intent(preemption={"may": True})
