"""What would have to change: the nearest changes, and that they do what they say."""

from dataclasses import replace
from typing import Any

import pytest
from builders import DEPLOYMENT, bindings, clusters, make_binding, make_cluster, make_demand
from hypothesis import given, settings
from oracle_sample import decided

from atoll.model.affinity import Affinity, Term
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster, Grade
from atoll.model.intent import Available, Constrained, Constraint, Field, Weighted
from atoll.model.neighbour import Neighbour
from atoll.model.selector import Operator, Requirement, Selector
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.features import Features
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting
from atoll.scheduling.whatif.parts import Inputs, written
from atoll.scheduling.whatif.search import nearest, nearness
from atoll.scheduling.whatif.trying import Change, reconsider

DIVIDED = {"division": Available()}
AGGREGATED = {"division": Available(aggregated=True)}


def requiring(*requirements: Requirement, **facts: Any) -> dict[str, Any]:
    affinity = Affinity(labels=Selector(requirements), **facts)
    return {"terms": (Term(affinity=affinity),)}


def first_change(binding: Binding, *fleet: Cluster, **facts: Any) -> str:
    return str(nearest(decide(binding, Fleet.of(fleet), **facts))[0])


IN_PROD = Requirement("env", Operator.IN, ("prod",))
PROD, DEV = {"labels": {"env": "prod"}}, {"labels": {"env": "dev"}}


@pytest.mark.parametrize(
    ("wanting", "a", "b", "said"),
    [
        pytest.param(
            {}, {}, {"taints": ["gpu=yes:NoSchedule"]}, "tolerate the taint gpu=yes:NoSchedule"
        ),
        pytest.param(
            {"terms": (Term(affinity=Affinity(names=("a",))),)},
            *({}, {}, "name b among the clusters"),
        ),
        pytest.param(
            {"terms": (Term(affinity=Affinity(exclude=("b",))),)}, {}, {}, "do not exclude b"
        ),
        pytest.param(requiring(IN_PROD), PROD, DEV, "allow label env dev"),
        pytest.param(
            requiring(IN_PROD), PROD, {}, "no longer require label env in (prod)", id="no label"
        ),
        pytest.param(
            {"terms": (Term(affinity=Affinity(region=(replace(IN_PROD, key="region"),))),)},
            *({"region": "prod"}, {"region": "west"}, "allow region west"),
        ),
        pytest.param(
            {"terms": (Term(affinity=Affinity(sets=("edge",))),)},
            *({"sets": frozenset({"edge"})}, {}, "require no cluster set"),
        ),
        pytest.param(
            {"terms": (Term(affinity=Affinity(expressions=("cheap",))),)},
            *({"holds": frozenset({"cheap"})}, {}, "no longer require cheap"),
        ),
        pytest.param(
            {"terms": (Term(affinity=Affinity(alternatives=(Affinity(names=("a",)),))),)},
            *({}, {}, "name b as an alternative"),
        ),
        pytest.param(
            {"spread": (Constraint(Field.REGION, least=1, most=1),)},
            *({"region": "east"}, {}, "set the region of b, say to 'b'"),
        ),
    ],
)
def test_what_lets_a_cluster_in_is_named(
    wanting: dict[str, Any], a: dict[str, Any], b: dict[str, Any], said: str
) -> None:
    binding = make_binding(2, wanting=wanting)
    told = first_change(binding, make_cluster("a", **a), make_cluster("b", **b))
    assert told == f"b takes 2, if you {said}"


def test_an_api_can_be_installed() -> None:
    b = replace(make_cluster("b"), apis=frozenset())
    told = first_change(make_binding(2), make_cluster("a"), b)
    assert told == "b takes 2, if you install Deployment (apps/v1) in b"


def test_an_eviction_can_end() -> None:
    binding = make_binding(2, evicting=("b",))
    told = first_change(binding, make_cluster("a"), make_cluster("b"))
    assert told == "b takes 2, if you end the eviction from b"


def test_a_group_can_be_left() -> None:
    around = Surroundings((Neighbour("default", "x", 1, "", "g", frozenset({"b"})),))
    setting = Setting(Features(WorkloadAffinity=True))
    binding, fleet = make_binding(1, anti_affinity_group="g"), map(make_cluster, "ab")
    told = first_change(binding, *fleet, setting=setting, surroundings=around)
    assert told == "b takes 1, if you leave the anti-affinity group g"


def test_several_obstacles_make_one_change_of_several_parts() -> None:
    b = replace(make_cluster("b", taints=["old:NoExecute"]), apis=frozenset())
    (change,) = nearest(decide(make_binding(1), Fleet.of([make_cluster("a"), b])))
    install, tolerate = map(str, change.parts)
    assert install == "install Deployment (apps/v1) in b"
    assert tolerate == "tolerate the taint old:NoExecute"


def test_single_causes_come_before_several() -> None:
    c = make_cluster("c", taints=["one:NoExecute", "two:NoExecute"])
    b = make_cluster("b", taints=["one:NoExecute"])
    changes = nearest(decide(make_binding(1), Fleet.of([make_cluster("a"), b, c])))
    assert [len(change.parts) for change in changes] == [1, 2]


def test_a_bound_of_the_spread_can_be_raised() -> None:
    spread = (Constraint(Field.CLUSTER, least=1, most=1),)
    wanting = {"selection": Constrained(), "spread": spread, **DIVIDED}
    told = first_change(make_binding(2, wanting=wanting), make_cluster("a"), make_cluster("b"))
    assert told == "b takes 1, a goes from 2 to 1, if you take at most 2 cluster(s)"


def test_a_bound_that_cannot_be_met_can_be_lowered() -> None:
    spread = (Constraint(Field.CLUSTER, least=3, most=3),)
    wanting = {"selection": Constrained(), "spread": spread}
    told = first_change(make_binding(2, wanting=wanting), make_cluster("a"), make_cluster("b"))
    assert told == "it can be placed: a takes 2, b takes 2, if you take at least 2 cluster(s)"


def test_a_weight_can_be_given() -> None:
    division = Weighted(((Affinity(names=("a",)), 6),))
    binding = make_binding(4, wanting={"division": division})
    told = first_change(binding, make_cluster("a"), make_cluster("b"))
    assert told == "b takes 1, a goes from 4 to 3, if you give b a weight of 1"


def test_the_room_that_is_missing_is_told_by_resource() -> None:
    a, b = make_cluster("a"), make_cluster("b", cpu="500m", memory="512Mi", pods=0)
    told = first_change(make_binding(4, wanting=DIVIDED), a, b)
    assert told == (
        "b takes 1, a goes from 4 to 3, "
        "if you give b 2500m more cpu, 2560Mi more memory, 3 more pod slots"
    )


def test_clusters_with_a_resource_model_are_given_nodes() -> None:
    grades = (Grade(0, (("cpu", 500),)), Grade(1, (("cpu", 2000),)))
    b = replace(make_cluster("b"), grades=grades, nodes_by_grade=(3, 0))
    binding = make_binding(2, demand=make_demand("1", "0"), wanting=DIVIDED)
    told = first_change(binding, make_cluster("a", cpu="4"), b)
    assert told == "b takes 1, a goes from 2 to 1, if you give b 1 more nodes of grade 1"


def test_what_an_estimator_would_have_to_answer_is_told() -> None:
    around = Surroundings(estimates={"nodes": {"b": 0}})
    binding = make_binding(2, wanting=DIVIDED)
    fleet = (make_cluster("a", cpu="2"), make_cluster("b"))
    told = first_change(binding, *fleet, surroundings=around)
    assert told == "b takes 1, a goes from 2 to 1, if you give b 1 by the estimate of nodes"


def test_a_shortage_is_told_in_replicas_requests_and_room() -> None:
    fleet = Fleet.of([make_cluster("a", cpu="4"), make_cluster("b", cpu="3")])
    changes = nearest(decide(make_binding(8, wanting=DIVIDED), fleet))
    assert [str(part) for change in changes for part in change.parts] == [
        "ask for 7 replicas",
        "request 800m cpu per replica",
        "give a 1 more cpu",
        "give b 1 more cpu",
    ]


def test_two_steps_are_told_where_one_does_not_suffice() -> None:
    b = replace(make_cluster("b", cpu="1"), apis=frozenset())
    told = first_change(make_binding(2, wanting=DIVIDED), b)
    said = "install Deployment (apps/v1) in b and ask for 1 replicas"
    assert told == f"it can be placed: b takes 1, if you {said}"


@pytest.mark.parametrize(
    ("binding", "fleet"),
    [
        pytest.param(make_binding(1), [], id="no-cluster-at-all"),
        pytest.param(make_binding(1), [make_cluster("a")], id="everyone-is-chosen"),
        pytest.param(
            make_binding(1), [make_cluster("a"), make_cluster("b", deleting=True)], id="leaving"
        ),
    ],
)
def test_where_nothing_helps_nothing_is_told(binding: Binding, fleet: list[Cluster]) -> None:
    assert nearest(decide(binding, Fleet.of(fleet))) == ()


@pytest.mark.parametrize(
    ("resource", "number", "text"),
    [("cpu", 1500, "1500m"), ("cpu", 2000, "2"), ("memory", 3 << 30, "3Gi"), ("gpu", 7, "7")],
)
def test_amounts_are_written_as_people_write_them(resource: str, number: int, text: str) -> None:
    assert written(resource, number) == text


def check(decision: Decision, changes: tuple[Change, ...]) -> None:
    """Every change has the effect it tells, and none of its parts is so already."""
    assert len({change.parts for change in changes}) == len(changes)
    for change in changes:
        after = reconsider(decision, change.parts)
        assert (after.verdict, after.targets) == (change.effect.verdict, change.effect.targets)
        assert after.ok
        assert dict(after.targets) != dict(decision.targets) or not decision.ok
        inputs = Inputs.of(decision)
        for part in change.parts:
            changed = part.apply(inputs)
            assert facts(changed) != facts(inputs), str(part)
            inputs = changed


def facts(inputs: Inputs) -> tuple[Any, ...]:
    return inputs.binding, inputs.fleet.clusters, dict(inputs.surroundings.estimates)


@settings(max_examples=40)
@given(bindings(), clusters())
def test_every_change_does_what_it_says(binding: Binding, fleet: list[Cluster]) -> None:
    decision = decide(binding, Fleet.of(fleet))
    changes = nearest(decision)
    check(decision, changes)
    assert nearest(decide(binding, Fleet.of(reversed(fleet)))) == changes
    assert list(changes) == sorted(changes, key=nearness)


def test_changes_to_recorded_cases_do_what_they_say() -> None:
    found = 0
    for _, decision in decided(every=7)[::12]:
        changes = nearest(decision, most=3)
        check(decision, changes)
        found += len(changes)
    assert found > 50


def test_a_taint_that_many_clusters_share_is_one_change() -> None:
    many = [make_cluster(f"t{number}", taints=["gpu:NoSchedule"]) for number in range(200)]
    changes = nearest(decide(make_binding(1), Fleet.of([make_cluster("a"), *many])))
    assert [list(map(str, change.parts)) for change in changes] == [
        ["tolerate the taint gpu:NoSchedule"]
    ]
    assert changes[0].effect.moved == len(many)


def test_a_request_is_never_raised() -> None:
    fleet = Fleet.of([make_cluster("a", cpu="100m", memory="8Gi")])
    changes = nearest(decide(make_binding(1, wanting=AGGREGATED), fleet))
    told = [str(part) for change in changes for part in change.parts]
    assert [each for each in told if each.startswith("request")] == ["request 100m cpu per replica"]


def test_only_the_api_asked_for_is_installed() -> None:
    b = replace(make_cluster("b"), apis=frozenset({("v1", "ConfigMap")}))
    decision = decide(make_binding(1), Fleet.of([b]))
    (change,) = nearest(decision)
    changed = change.parts[0].apply(Inputs.of(decision)).cluster("b")
    assert changed.apis == {("v1", "ConfigMap"), DEPLOYMENT}
