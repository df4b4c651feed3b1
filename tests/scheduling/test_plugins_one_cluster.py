"""Plug-ins for one cluster at a time: the same decisions as on columns, at a price that is told."""

from dataclasses import dataclass, field, replace

import pytest
from builders import bindings, clusters, make_binding, make_cluster, placed
from hypothesis import given

from atoll.model.affinity import Affinity, Term
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.decision import Verdict
from atoll.model.intent import Available, Constrained, Constraint, Field
from atoll.model.taint import first_untolerated
from atoll.scheduling.cycle import decide
from atoll.scheduling.explain import explain
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.one_cluster import FilterOneByOne, ScoreOneByOne
from atoll.scheduling.plugin import Plugins
from atoll.scheduling.plugins import DEFAULT
from atoll.scheduling.recording import record
from atoll.scheduling.sentences import sentences
from atoll.scheduling.setting import ORDINARY, Setting
from atoll.scheduling.stored import decode, encode
from bench.auditing import sums_check

FLEET = Fleet.of([make_cluster("a"), make_cluster("b"), make_cluster("c")])


class Taints:
    def admits(self, binding: Binding, cluster: Cluster) -> str | None:
        taint = first_untolerated(cluster.taints, binding.intent.tolerations)
        return f"cluster(s) had untolerated taint {{{taint}}}" if taint else None


class Evictions:
    def admits(self, binding: Binding, cluster: Cluster) -> str | None:
        leaving = cluster.name in binding.evicting
        return "cluster(s) is in the process of eviction" if leaving else None


class Locality:
    def score(self, binding: Binding, cluster: Cluster) -> int:
        return 100 if cluster.name in {each.name for each in binding.targets} else 0


class LastFirst:
    def score(self, binding: Binding, cluster: Cluster) -> int:
        return ord(cluster.name)


@dataclass
class Answer:
    """Says what it is told to say, or raises it; and remembers what it was shown."""

    said: object = None
    shown: list[tuple[Binding, Cluster]] = field(default_factory=list)

    def admits(self, binding: Binding, cluster: Cluster) -> str | None:
        self.shown.append((binding, cluster))
        if isinstance(self.said, Exception):
            raise self.said
        return self.said  # type: ignore[return-value]

    def score(self, binding: Binding, cluster: Cluster) -> int:
        return self.admits(binding, cluster)  # type: ignore[return-value]


def one_by_one(*, shared: bool) -> Setting:
    """Karmada's list, with three of its plug-ins written for one cluster at a time."""
    written = {
        "TaintToleration": FilterOneByOne("TaintToleration", Taints(), shared=shared),
        "ClusterEviction": FilterOneByOne("ClusterEviction", Evictions(), spares_placed=False),
    }
    filters = tuple(written.get(each.name, each) for each in DEFAULT.filters)
    scores = (ScoreOneByOne("ClusterLocality", Locality()),)
    return Setting(plugins=Plugins(filters, scores, DEFAULT.selections, DEFAULT.divisions))


ONE_BY_ONE, ONE_BY_ONE_SHARED = one_by_one(shared=False), one_by_one(shared=True)


def with_filter(rule: Answer, **kind: bool) -> Setting:
    own = Plugins((FilterOneByOne("Mine", rule, **kind),), (), (), ())
    return Setting(plugins=DEFAULT.joined(own))


def with_score(rule: Answer) -> Setting:
    return Setting(plugins=DEFAULT.joined(Plugins((), (ScoreOneByOne("Mine", rule),), (), ())))


@pytest.mark.parametrize("setting", [ONE_BY_ONE, ONE_BY_ONE_SHARED], ids=["own", "shared"])
@given(binding=bindings(), fleet=clusters())
def test_a_rule_decides_the_same_for_one_cluster_at_a_time_as_on_columns(
    setting: Setting, binding: Binding, fleet: list[Cluster]
) -> None:
    columns = Fleet.of(fleet)
    one, other = decide(binding, columns), decide(binding, columns, setting)
    assert (one.verdict, one.message, one.targets) == (other.verdict, other.message, other.targets)


def test_a_score_for_one_cluster_counts() -> None:
    wanted = {"selection": Constrained(), "spread": (Constraint(Field.CLUSTER, most=1),)}
    last = Plugins((), (ScoreOneByOne("LastFirst", LastFirst()),), (), ())
    decision = decide(make_binding(wanting=wanted), FLEET, Setting(plugins=DEFAULT.joined(last)))
    assert placed(decide(make_binding(wanting=wanted), FLEET)) == {"a": 1}
    assert placed(decision) == {"c": 1}


def test_a_cluster_that_holds_the_work_is_spared_unless_the_plugin_says_otherwise() -> None:
    binding = make_binding(on={"b": 1})
    assert placed(decide(binding, FLEET, with_filter(Answer("no")))) == {"b": 1}
    harsh = decide(binding, FLEET, with_filter(Answer("no"), spares_placed=False))
    assert harsh.message == "0/3 clusters are available: 3 no."


def test_every_cluster_is_asked_about_for_each_term_that_is_tried() -> None:
    terms = (Term("near", Affinity(names=("x",))), Term("far", Affinity(names=("a", "b"))))
    binding = make_binding(2, wanting={"terms": terms, "division": Available()})
    filtering, scoring = Answer(None), Answer(0)
    decide(binding, FLEET, with_filter(filtering))
    assert len(filtering.shown) == 2 * len(FLEET)
    # Nobody passed under the first term, so nobody was scored.
    decide(binding, FLEET, with_score(scoring))
    assert len(scoring.shown) == len(FLEET)


def test_a_shared_filter_is_asked_once_for_all_bindings_alike() -> None:
    rule = Answer(None)
    setting = with_filter(rule, shared=True)
    fleet = Fleet.of(FLEET.clusters)
    for replicas in (1, 2, 3):
        decide(make_binding(replicas), fleet, setting)
        fleet = fleet.with_cluster(make_cluster("b", cpu=str(replicas)))
    assert len(rule.shown) == 3
    decide(make_binding(1), fleet.with_cluster(make_cluster("b", region="east")), setting)
    assert len(rule.shown) == 6


def test_a_shared_filter_is_shown_nothing_that_changes_from_binding_to_binding() -> None:
    one, other = (Answer(None) for _ in range(2))
    cluster = make_cluster("a", labels={"k": "v"})
    decide(
        make_binding(7, on={"a": 1}, uid="u"), Fleet.of([cluster]), with_filter(one, shared=True)
    )
    fuller = replace(cluster, free=None, ready=True)
    decide(make_binding(1, priority=9), Fleet.of([fuller]), with_filter(other, shared=True))
    assert one.shown == other.shown
    assert one.shown[0][1].labels == {"k": "v"}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        pytest.param(KeyError("tier"), "KeyError: 'tier'", id="raises"),
        pytest.param(
            True, "`admits` returns None, or the reason not to as text; got True", id="yes"
        ),
        pytest.param("", "`admits` returns None, or the reason not to as text; got ''", id="empty"),
        pytest.param(3, "`admits` returns None, or the reason not to as text; got 3", id="number"),
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_a_filter_that_fails_refuses_the_decision_and_names_the_cluster(
    said: object, problem: str, *, shared: bool
) -> None:
    check_refused(with_filter(Answer(said), shared=shared), f"cluster a: {problem}")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        pytest.param(ZeroDivisionError("by 0"), "ZeroDivisionError: by 0", id="raises"),
        pytest.param(None, "`score` returns a whole number of 32 bits; got None", id="nothing"),
        pytest.param(1.5, "`score` returns a whole number of 32 bits; got 1.5", id="fraction"),
        pytest.param(True, "`score` returns a whole number of 32 bits; got True", id="boolean"),
        pytest.param(
            2**31, "`score` returns a whole number of 32 bits; got 2147483648", id="too-large"
        ),
    ],
)
def test_a_score_that_fails_refuses_the_decision_and_names_the_cluster(
    said: object, problem: str
) -> None:
    check_refused(with_score(Answer(said)), f"cluster a: {problem}")


def check_refused(setting: Setting, problem: str) -> None:
    """What runs stays, it is tried again, and every cluster has the failure as its reason."""
    binding = make_binding(5, on={"b": 4, "gone": 1})
    decision = decide(binding, FLEET, setting)
    message = f"plug-in Mine failed: {problem}"
    assert (decision.verdict, decision.message) == (Verdict.SCHEDULER_ERROR, message)
    assert decision.retry
    assert decision.bound == binding.targets
    report = explain(decode(encode(record(decision)), FLEET.traits.names))
    assert {each.reason.text for each in report.clusters} == {message}
    assert {each.reason.filter for each in report.clusters} == {"Mine"}
    assert sums_check(report) == []
    assert sentences(report)[0] == f"SchedulerError: {message}"


@given(bindings(), clusters())
def test_where_nothing_fails_the_decision_is_the_usual_one(
    binding: Binding, fleet: list[Cluster]
) -> None:
    columns = Fleet.of(fleet)
    usual, other = decide(binding, columns), decide(binding, columns, ORDINARY)
    assert (usual.message, usual.targets) == (other.message, other.targets)
