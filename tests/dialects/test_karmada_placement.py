"""Karmada's Placement as an intent, with the answers of Karmada's own scheduler."""

from typing import Any

import pytest

from atoll.dialects.karmada import placement
from atoll.errors import Invalid
from atoll.model.affinity import Affinity, Term
from atoll.model.intent import (
    Available,
    Constrained,
    Constraint,
    Division,
    Duplicated,
    Everyone,
    Field,
    Intent,
    Selection,
    Unsupported,
    Weighted,
)
from atoll.model.selector import NOTHING, Operator, Requirement, Selector
from atoll.model.taint import Effect, Toleration

SPREAD = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]
WEIGHTS = [{"targetCluster": {"clusterNames": ["a"]}, "weight": 3}]


def affinity(**wire: Any) -> Affinity:
    (term,) = placement.decode({"clusterAffinity": wire}).terms
    return term.affinity


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize("wire", [None, {}, {"clusterAffinity": None, "clusterAffinities": None}])
def test_nothing_asked_for_is_everywhere_and_all_of_it(wire: Any) -> None:
    assert placement.decode(wire) == Intent()


def test_a_single_affinity_is_one_term_without_a_name() -> None:
    wire = {"clusterAffinity": {"clusterNames": ["a", "b"], "exclude": ["c"]}}
    assert placement.decode(wire).terms == (
        Term(affinity=Affinity(names=("a", "b"), exclude=("c",))),
    )


def test_affinities_are_named_terms_with_their_tiers() -> None:
    wire = {
        "clusterAffinities": [
            {
                "affinityName": "local",
                "clusterNames": ["a"],
                "overflowAffinities": [{"affinityName": "cloud", "clusterNames": ["b"]}],
            },
            {"affinityName": "rest"},
        ]
    }
    assert placement.decode(wire).terms == (
        Term("local", Affinity(names=("a",)), (Affinity(names=("b",)),)),
        Term("rest"),
    )


def test_a_single_affinity_beside_terms_rules_them_all() -> None:
    wire = {
        "clusterAffinity": {"clusterNames": ["a"]},
        "clusterAffinities": [
            {"affinityName": "t", "clusterNames": ["b"], "overflowAffinities": [{}]}
        ],
    }
    assert placement.decode(wire).terms == (Term("t", Affinity(names=("a",))),)


@pytest.mark.parametrize(
    ("selector", "meant"),
    [
        pytest.param({}, Selector(), id="an empty selector matches all"),
        pytest.param(
            {"matchLabels": {"env": "prod"}},
            Selector((Requirement("env", Operator.IN, ("prod",)),)),
            id="a label",
        ),
        pytest.param(
            {"matchExpressions": [expression("env", "NotIn", "prod", "dev")]},
            Selector((Requirement("env", Operator.NOT_IN, ("prod", "dev")),)),
            id="none of",
        ),
        pytest.param(
            {"matchExpressions": [expression("a.io/b", "Exists")]},
            Selector((Requirement("a.io/b", Operator.EXISTS),)),
            id="exists",
        ),
        pytest.param(
            {"matchExpressions": [expression("env", "DoesNotExist")]},
            Selector((Requirement("env", Operator.NOT_EXISTS),)),
            id="does not exist",
        ),
    ],
)
def test_label_selectors_are_kubernetes_own(selector: Any, meant: Selector) -> None:
    assert affinity(labelSelector=selector).labels == meant


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param({"matchExpressions": [expression("env", "In")]}, id="in nothing"),
        pytest.param({"matchExpressions": [expression("env", "NotIn")]}, id="not in nothing"),
        pytest.param(
            {"matchExpressions": [expression("env", "Exists", "x")]}, id="exists with values"
        ),
        pytest.param(
            {"matchExpressions": [expression("env", "DoesNotExist", "x")]},
            id="does not exist with values",
        ),
        pytest.param({"matchExpressions": [expression("env", "Like", "x")]}, id="unknown operator"),
        pytest.param({"matchExpressions": [expression("env", "Gt", "1")]}, id="not for labels"),
        pytest.param({"matchExpressions": [expression("", "Exists")]}, id="no key"),
        pytest.param({"matchLabels": {"env": "not a label value"}}, id="no value of a label"),
        pytest.param({"matchLabels": {"env/": "x"}}, id="no key of a label"),
        pytest.param(
            {"matchLabels": {"ok": "ok"}, "matchExpressions": [expression("env", "In")]},
            id="one invalid among valid",
        ),
    ],
)
def test_an_invalid_label_selector_matches_nothing(selector: Any) -> None:
    found = affinity(labelSelector=selector).labels
    assert found is NOTHING
    assert not found.matches({"env": "x"})
    assert not found.matches({})


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param(
            expression("provider", "In", "aws"),
            Affinity(provider=(Requirement("provider", Operator.IN, ("aws",)),)),
            id="a provider",
        ),
        pytest.param(
            expression("region", "NotIn", "eu"),
            Affinity(region=(Requirement("region", Operator.NOT_IN, ("eu",)),)),
            id="not in a region",
        ),
        pytest.param(
            expression("region", "Exists"),
            Affinity(region=(Requirement("region", Operator.EXISTS),)),
            id="has a region",
        ),
        pytest.param(
            expression("provider", "DoesNotExist"),
            Affinity(provider=(Requirement("provider", Operator.NOT_EXISTS),)),
            id="has no provider",
        ),
        pytest.param(
            expression("zone", "In", "a zone"),
            Affinity(zones=(Requirement("zone", Operator.IN, ("a zone",)),)),
            id="zones need not look like labels",
        ),
        pytest.param(
            expression("zone", "NotIn"),
            Affinity(zones=(Requirement("zone", Operator.NOT_IN),)),
            id="not in no zone is true of all",
        ),
        pytest.param(
            expression("zone", "In"),
            Affinity(zones=(Requirement("zone", Operator.IN),)),
            id="in no zone is true of none",
        ),
        pytest.param(
            expression("zone", "Exists", "ignored"),
            Affinity(zones=(Requirement("zone", Operator.EXISTS),)),
            id="has a zone, whatever the values",
        ),
        pytest.param(
            expression("zone", "Gt", "1"), Affinity(labels=NOTHING), id="zones have order"
        ),
        pytest.param(expression("provider", "In"), Affinity(labels=NOTHING), id="in nothing"),
        pytest.param(
            expression("provider", "In", "a b"), Affinity(labels=NOTHING), id="no label value"
        ),
        pytest.param(
            expression("planet", "In", "mars"), Affinity(labels=NOTHING), id="an unknown field"
        ),
        pytest.param(
            expression("planet", "NotIn", "mars"), Affinity(), id="absence of an unknown field"
        ),
    ],
)
def test_field_selectors_are_read_as_karmadas_scheduler_reads_them(
    given: Any, meant: Affinity
) -> None:
    assert affinity(fieldSelector={"matchExpressions": [given]}) == meant


STATIC = {"staticWeightList": WEIGHTS}
DYNAMIC = {"dynamicWeight": "AvailableReplicas"}


@pytest.mark.parametrize(
    ("strategy", "division", "selection"),
    [
        pytest.param(None, Duplicated(stated=False), Constrained(), id="no strategy"),
        pytest.param(
            {"replicaSchedulingType": "Duplicated"}, Duplicated(), Constrained(), id="duplicated"
        ),
        pytest.param(
            {"replicaDivisionPreference": "Aggregated"},
            Available(aggregated=True),
            Constrained(),
            id="divided is the default",
        ),
        pytest.param(
            {"replicaDivisionPreference": "Weighted"}, Weighted(), Everyone(), id="evenly"
        ),
        pytest.param(
            {"replicaDivisionPreference": "Weighted", "weightPreference": STATIC},
            Weighted(((Affinity(names=("a",)), 3),)),
            Everyone(),
            id="static weights",
        ),
        pytest.param(
            {"replicaDivisionPreference": "Weighted", "weightPreference": DYNAMIC},
            Available(),
            Constrained(),
            id="dynamic weight",
        ),
        pytest.param(
            {"replicaDivisionPreference": "Weighted", "weightPreference": STATIC | DYNAMIC},
            Available(),
            Constrained(),
            id="dynamic weight wins",
        ),
        pytest.param(
            {"replicaDivisionPreference": "Weighted", "weightPreference": {}},
            Weighted(),
            Constrained(),
            id="an empty preference divides evenly under constraints",
        ),
        pytest.param({}, Unsupported("Divided", ""), Constrained(), id="no preference"),
        pytest.param(
            {"replicaSchedulingType": "Random", "replicaDivisionPreference": "Odd"},
            Unsupported("Random", "Odd"),
            Constrained(),
            id="nobody knows it",
        ),
    ],
)
def test_strategies_divide_and_select_as_in_karmada(
    strategy: Any, division: Division, selection: Selection
) -> None:
    intent = placement.decode({"replicaScheduling": strategy, "spreadConstraints": SPREAD})
    assert intent.division == division
    assert intent.selection == selection
    assert intent.spread == (Constraint(Field.CLUSTER, least=1, most=2),)


def test_without_constraints_everyone_is_selected() -> None:
    assert placement.decode({"replicaScheduling": {}}).selection == Everyone()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param({"spreadByField": "zone"}, Constraint(Field.ZONE, least=1, most=0), id="bare"),
        pytest.param(
            {"spreadByLabel": "rack", "minGroups": 2, "maxGroups": 3},
            Constraint(None, "rack", 2, 3),
            id="by label",
        ),
        pytest.param(
            {"spreadByField": "region", "minGroups": 0}, Constraint(Field.REGION), id="least of 0"
        ),
    ],
)
def test_constraints_keep_what_was_given(given: Any, meant: Constraint) -> None:
    assert placement.decode({"spreadConstraints": [given]}).spread == (meant,)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param({}, [Toleration()], id="empty"),
        pytest.param(
            {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"},
            [Toleration("k", "v", Effect.NO_SCHEDULE)],
            id="equal",
        ),
        pytest.param(
            {"operator": "Exists", "tolerationSeconds": 0},
            [Toleration(any_value=True, seconds=0)],
            id="exists",
        ),
        pytest.param({"key": "k", "operator": "Lt", "value": "1"}, [], id="less than"),
        pytest.param({"key": "k", "operator": "Near"}, [], id="unknown operator"),
        pytest.param({"key": "k", "effect": "Never"}, [], id="unknown effect"),
    ],
)
def test_tolerations_that_tolerate_nothing_are_left_out(given: Any, meant: Any) -> None:
    assert placement.decode({"clusterTolerations": [given]}).tolerations == tuple(meant)


def test_equal_placements_are_one_intent() -> None:
    def wire() -> dict[str, Any]:
        return {"clusterAffinity": {"clusterNames": ["x", "y"]}, "spreadConstraints": list(SPREAD)}

    turned = dict(reversed(wire().items()))
    assert placement.decode(wire()) is placement.decode(wire())
    assert placement.decode(turned) is placement.decode(wire())


def test_the_same_placement_with_additions_is_another_intent() -> None:
    wire = {"clusterAffinity": {"clusterNames": ["x"]}}
    assert placement.decode(wire, {"ordinals": {}}) is not placement.decode(wire)


@pytest.mark.parametrize(
    ("wire", "field", "value"),
    [
        pytest.param([], "spec.placement", [], id="a list"),
        pytest.param(
            {"clusterAffinity": "a"}, "spec.placement.clusterAffinity", "a", id="affinity of text"
        ),
        pytest.param(
            {"clusterAffinity": {"clusterNames": "a"}},
            "spec.placement.clusterAffinity.clusterNames",
            "a",
            id="names of text",
        ),
        pytest.param(
            {"clusterAffinity": {"labelSelector": {"matchLabels": {"a": 1}}}},
            "spec.placement.clusterAffinity.labelSelector.matchLabels[a]",
            1,
            id="a label of no text",
        ),
        pytest.param(
            {"clusterAffinities": [{"affinityName": "a"}, 1]},
            "spec.placement.clusterAffinities[1]",
            1,
            id="a term of no object",
        ),
        pytest.param(
            {"clusterTolerations": [{"tolerationSeconds": "5"}]},
            "spec.placement.clusterTolerations[0].tolerationSeconds",
            "5",
            id="seconds of text",
        ),
        pytest.param(
            {"spreadConstraints": [{"spreadByField": "planet"}]},
            "spec.placement.spreadConstraints[0].spreadByField",
            "planet",
            id="an unknown field",
        ),
        pytest.param(
            {"spreadConstraints": [{"minGroups": 1.5}]},
            "spec.placement.spreadConstraints[0].minGroups",
            1.5,
            id="half a group",
        ),
        pytest.param(
            {"replicaScheduling": {"weightPreference": {"staticWeightList": [{"weight": -1}]}}},
            "spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight",
            -1,
            id="a negative weight",
        ),
        pytest.param(
            {"replicaScheduling": {"replicaSchedulingType": True}},
            "spec.placement.replicaScheduling.replicaSchedulingType",
            True,
            id="a type of no text",
        ),
    ],
)
def test_bad_input_is_named(wire: Any, field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        placement.decode(wire)
    assert (refused.value.field, refused.value.value) == (field, value)
