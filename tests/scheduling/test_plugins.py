"""Atoll's own plug-ins: what each is for, seen by switching it off; and the feature gates."""

from dataclasses import asdict, replace

import pytest
from builders import make_binding, make_cluster, placed

from atoll.errors import Invalid, UsageError
from atoll.extensions import plugins
from atoll.model.affinity import Affinity, Term
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.decision import Verdict
from atoll.model.intent import (
    Available,
    Bounds,
    Constrained,
    Constraint,
    Field,
    Fill,
    Pick,
    Preference,
    Unsupported,
    Weighted,
)
from atoll.model.neighbour import Neighbour
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.features import USUAL, Features
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugins import DEFAULT
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting

NOBODY_SELECTS = "no plug-in selects clusters for this placement"
NOBODY_DIVIDES = "failed to assign replicas: no plug-in divides replicas for this placement"
UNSUPPORTED = (
    "failed to assign replicas: unsupported replica scheduling strategy, replicaSchedulingType: X, "
    "replicaDivisionPreference: Y, please try another scheduling strategy"
)
ONE_CLUSTER = {
    "selection": Constrained(),
    "spread": (Constraint(Field.CLUSTER, least=1, most=1),),
}
ONE_REGION = {
    "selection": Constrained(),
    "spread": (Constraint(Field.REGION, least=1, most=1), Constraint(Field.CLUSTER, most=1)),
}
B_ONLY = Affinity(names=("b",))
A, B = make_cluster("a", region="east", provider="x"), make_cluster("b", region="west")


def wanting(replicas: int = 1, **wanted: object) -> Binding:
    return make_binding(replicas, wanting=wanted)


def told(decision: Decision) -> dict[str, int] | str:
    return placed(decision) if decision.ok else decision.message


def case(name: str, binding: Binding, on: object, off: object, **changed: Cluster) -> object:
    fleet = [changed.get("a", A), changed.get("b", B)]
    return pytest.param(name, binding, fleet, on, off, id=name)


SWITCHED_OFF = [
    case("APIEnablement", wanting(), {"a": 1}, {"a": 1, "b": 1}, b=replace(B, apis=frozenset())),
    case(
        "TaintToleration",
        wanting(),
        {"a": 1},
        {"a": 1, "b": 1},
        b=make_cluster("b", taints=["old:NoSchedule"]),
    ),
    case("ClusterAffinity", wanting(terms=(Term("", B_ONLY),)), {"b": 1}, {"a": 1, "b": 1}),
    case(
        "SpreadConstraint",
        wanting(spread=(Constraint(Field.PROVIDER),)),
        {"a": 1},
        {"a": 1, "b": 1},
    ),
    case("ClusterEviction", make_binding(evicting=("b",)), {"a": 1}, {"a": 1, "b": 1}),
    case("WorkloadAntiAffinity", make_binding(anti_affinity_group="g"), {"b": 1}, {"a": 1, "b": 1}),
    case("WorkloadAffinity", make_binding(affinity_group="g"), {"a": 1}, {"a": 1, "b": 1}),
    case(
        "ClusterLocality",
        make_binding(on={"b": 1}, wanting=ONE_CLUSTER),
        {"b": 1},
        {"a": 1},
        a=make_cluster("a", cpu="64"),
    ),
    case(
        "SoftTaints",
        wanting(soft_taints=10, **ONE_CLUSTER),
        {"b": 1},
        {"a": 1},
        a=make_cluster("a", taints=["slow:PreferNoSchedule"]),
    ),
    case(
        "Preferences",
        wanting(preferences=(Preference(B_ONLY, 5),), **ONE_CLUSTER),
        {"b": 1},
        {"a": 1},
    ),
    case(
        "OutsideScores",
        wanting(scores=(("green", 2),), **ONE_CLUSTER),
        {"b": 1},
        {"a": 1},
        b=replace(B, scores={"green": 3}),
    ),
    case("Everyone", wanting(), {"a": 1, "b": 1}, NOBODY_SELECTS),
    case("SpreadByRegion", wanting(**ONE_REGION), {"a": 1}, NOBODY_SELECTS),
    case("SpreadByCluster", wanting(**ONE_CLUSTER), {"a": 1}, NOBODY_SELECTS),
    case("Pick", wanting(selection=Pick(most=1)), {"a": 1}, NOBODY_SELECTS),
    case("Duplicated", wanting(3), {"a": 3, "b": 3}, NOBODY_DIVIDES),
    case(
        "Bounded",
        wanting(4, division=Weighted(), bounds=(Bounds(B_ONLY, most=1),)),
        {"a": 3, "b": 1},
        {"a": 2, "b": 2},
    ),
    case("StaticWeight", wanting(4, division=Weighted()), {"a": 2, "b": 2}, NOBODY_DIVIDES),
    case("AvailableReplicas", wanting(4, division=Available()), {"a": 2, "b": 2}, NOBODY_DIVIDES),
    case("Fill", wanting(4, division=Fill()), {"a": 4}, NOBODY_DIVIDES),
    case("Unsupported", wanting(division=Unsupported("X", "Y")), UNSUPPORTED, NOBODY_DIVIDES),
]


@pytest.mark.parametrize(("name", "binding", "fleet", "on", "off"), SWITCHED_OFF)
def test_a_plugin_that_is_switched_off_has_no_say(
    name: str, binding: Binding, fleet: list[Cluster], on: object, off: object
) -> None:
    group = {"affinity_group": "g", "anti_affinity_group": "g", "targets": frozenset({"a"})}
    around = Surroundings(neighbours=(Neighbour("default", "db-deployment", **group),))
    features = Features(WorkloadAffinity=True)
    without = Setting(features, DEFAULT.without([name]))
    columns = Fleet.of(fleet)
    assert told(decide(binding, columns, Setting(features), around)) == on
    assert told(decide(binding, columns, without, around)) == off


def test_every_plugin_is_switched_off_in_the_table_above_and_has_a_name_of_its_own() -> None:
    assert [each.values[0] for each in SWITCHED_OFF] == DEFAULT.names
    assert len(set(DEFAULT.names)) == len(DEFAULT.names)


def test_without_any_plugin_nothing_is_decided_and_that_is_said() -> None:
    decision = decide(wanting(), Fleet.of([A]), Setting(plugins=DEFAULT.without(DEFAULT.names)))
    assert (decision.verdict, decision.message) == (Verdict.SCHEDULER_ERROR, NOBODY_SELECTS)


def test_a_name_that_nobody_has_cannot_be_switched_off() -> None:
    with pytest.raises(Invalid, match=r"'Taints': there is no such plug-in; known: .*Toleration"):
        DEFAULT.without(["Taints"])


def test_two_plugins_of_one_name_cannot_be_joined() -> None:
    with pytest.raises(Invalid, match="'APIEnablement': there is a plug-in of this name already"):
        DEFAULT.joined(DEFAULT)


STRATEGIES = [each.name for each in (*DEFAULT.selections, *DEFAULT.divisions)]


def all_but(*names: str) -> list[str]:
    return [each for each in DEFAULT.names if each not in names]


@pytest.mark.parametrize(
    ("written", "left"),
    [
        pytest.param("*", DEFAULT.names, id="all"),
        pytest.param("*,-TaintToleration", all_but("TaintToleration"), id="all-but-one"),
        pytest.param("-TaintToleration,*", all_but("TaintToleration"), id="in-any-order"),
        pytest.param(
            " * , -TaintToleration,-ClusterLocality,",
            all_but("TaintToleration", "ClusterLocality"),
            id="with-spaces",
        ),
        pytest.param(
            "ClusterLocality,APIEnablement",
            ["APIEnablement", "ClusterLocality", *STRATEGIES],
            id="only-those-named-and-the-strategies",
        ),
        pytest.param("*,-Pick", all_but("Pick"), id="a-strategy-off"),
        pytest.param("*,-APIEnablement,APIEnablement", DEFAULT.names, id="the-last-word-is-on"),
        pytest.param(
            "*,APIEnablement,-APIEnablement", all_but("APIEnablement"), id="the-last-word-is-off"
        ),
    ],
)
def test_a_list_of_plugins_is_read_as_karmadas(written: str, left: list[str]) -> None:
    assert plugins(written).names == left


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        pytest.param(
            "*,-Taints", "there is no plug-in 'Taints'; known: .*, TaintToleration, ", id="off"
        ),
        pytest.param("Taints", "there is no plug-in 'Taints'; known: .*, TaintTol", id="on"),
        pytest.param("*,-*", "there is no plug-in '\\*'; known: .*, TaintTol", id="all-off"),
        pytest.param("-TaintToleration", "switches nothing on; write .*: \\*,-NAME", id="only-off"),
        pytest.param("", "switches nothing on; write .*: \\*,-NAME", id="nothing"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(written: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"^--plugins.*{problem}"):
        plugins(written)


def test_feature_gates_have_karmadas_names_and_defaults() -> None:
    assert asdict(USUAL) == {
        "CustomizedClusterResourceModeling": True,
        "Failover": False,
        "GracefulEviction": True,
        "MultiplePodTemplatesScheduling": False,
        "PriorityBasedScheduling": False,
        "PropagateDeps": True,
        "PropagationPolicyPreemption": False,
        "SchedulingOvercommitProtection": False,
        "WorkloadAffinity": False,
    }


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("", USUAL, id="nothing-is-the-defaults"),
        pytest.param("WorkloadAffinity=true", Features(WorkloadAffinity=True), id="on"),
        pytest.param(
            "CustomizedClusterResourceModeling=false",
            Features(CustomizedClusterResourceModeling=False),
            id="off",
        ),
        pytest.param(
            " WorkloadAffinity=True , PriorityBasedScheduling=TRUE,",
            Features(WorkloadAffinity=True, PriorityBasedScheduling=True),
            id="several-with-spaces-and-capitals",
        ),
        pytest.param("WorkloadAffinity=true,WorkloadAffinity=false", USUAL, id="the-last-counts"),
    ],
)
def test_feature_gates_are_read(written: str, read: Features) -> None:
    assert Features.of(written) == read


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        pytest.param("WorkloadAffinity", "must be NAME=true or NAME=false", id="no-value"),
        pytest.param("WorkloadAffinity=yes", "must be NAME=true or NAME=false", id="no-boolean"),
        pytest.param("Workloads=true", "is not a gate; known: .*WorkloadAffinity", id="unknown"),
        pytest.param("=true", "is not a gate; known: .*WorkloadAffinity", id="no-name"),
    ],
)
def test_a_feature_gate_that_cannot_be_read_is_refused(written: str, problem: str) -> None:
    with pytest.raises(Invalid, match=rf"^feature-gates: .*{problem}"):
        Features.of(written)
