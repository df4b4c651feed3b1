"""Explanations: every cluster's fate, the sums a person can check, and the words for them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders import bindings, clusters, make_binding, make_cluster
from hypothesis import given
from hypothesis import strategies as st

from atoll.errors import Invalid
from atoll.model.affinity import Affinity, Term
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.intent import (
    Available,
    Bounds,
    Constrained,
    Constraint,
    Duplicated,
    Field,
    Fill,
    Group,
    Order,
    Pick,
    Shortage,
    Weighted,
)
from atoll.scheduling.arithmetic import Bid, Line
from atoll.scheduling.candidates import Assignment
from atoll.scheduling.cycle import decide
from atoll.scheduling.explain import Report, explain
from atoll.scheduling.fates import Fate
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.recording import Record, record
from atoll.scheduling.sentences import about, sentences
from atoll.scheduling.setting import Setting
from bench.auditing import sums_check


def report_of(binding: Binding, *fleet: Cluster, **facts: Any) -> Report:
    return explain(record(decide(binding, Fleet.of(fleet), **facts)))


def by_cluster(most: int, least: int = 1) -> tuple[Constraint, ...]:
    return (Constraint(Field.CLUSTER, least=least, most=most),)


def weigh(**weights: int) -> Weighted:
    return Weighted(tuple((Affinity(names=(name,)), each) for name, each in weights.items()))


DIVIDED = {"division": Available()}
AGGREGATED = {"division": Available(aggregated=True)}
SPREAD = {"selection": Constrained(), "spread": by_cluster(1)}
NAMED = {"terms": (Term(affinity=Affinity(names=("a",))),)}
TIERS = {"terms": (Term("local", Affinity(names=("a",)), (Affinity(names=("b",)),)),)}
BY_REGION = {
    "selection": Constrained(),
    "spread": (Constraint(Field.REGION, least=1, most=1), *by_cluster(1)),
}


@pytest.mark.parametrize(
    ("wanting", "facts", "other", "fate", "words"),
    [
        pytest.param({}, {}, {"deleting": True}, Fate.DELETING, "is being removed", id="leaving"),
        pytest.param(NAMED, {}, {}, Fate.FILTERED, "did not match the placement", id="not-named"),
        pytest.param(
            {},
            {},
            {"taints": ["gpu=yes:NoSchedule"]},
            Fate.FILTERED,
            "had untolerated taint {gpu=yes:NoSchedule}",
            id="tainted",
        ),
        pytest.param(SPREAD, {}, {"cpu": "8"}, Fate.RANK, "ranked 2nd; 1 better", id="outranked"),
        pytest.param(
            BY_REGION,
            {},
            {"region": "west", "cpu": "0"},
            Fate.GROUP,
            "region west was not taken, but east",
            id="other-region",
        ),
        pytest.param(
            SPREAD | AGGREGATED | {"spread": by_cluster(0)},
            {},
            {},
            Fate.REFUSED,
            "nothing could be placed in any cluster; it has room for 16 more",
            id="nothing-selected",
        ),
        pytest.param(
            SPREAD | DIVIDED,
            {"on": {"b": 0}, "replicas": 12},
            {"cpu": "1"},
            Fate.ROOM,
            "made way for a cluster with more room",
            id="swapped",
        ),
        pytest.param(
            {"division": weigh(a=1)}, {}, {}, Fate.NO_WEIGHT, "gives it no weight", id="no-weight"
        ),
        pytest.param(DIVIDED, {}, {"cpu": "0"}, Fate.NO_ROOM, "has no room", id="full"),
        pytest.param(
            {"division": weigh(a=9, b=1)},
            {"replicas": 2},
            {},
            Fate.SMALL_SHARE,
            "its share of 2 replicas is too small for one",
            id="small-share",
        ),
        pytest.param(
            TIERS | DIVIDED, {}, {}, Fate.TIER, "tiers before it hold all", id="later-tier"
        ),
        pytest.param(
            AGGREGATED, {}, {}, Fate.ENOUGH, "clusters before it have room", id="not-needed"
        ),
        pytest.param(
            DIVIDED, {"on": {"a": 3}}, {}, Fate.UNCHANGED, "stays where it is", id="unchanged"
        ),
        pytest.param(
            DIVIDED, {"on": {"a": 9}}, {}, Fate.SHRINKING, "only taken away", id="shrinking"
        ),
        pytest.param({}, {"replicas": 0}, {}, Fate.NO_REPLICAS, "no replicas", id="nothing-asked"),
        pytest.param(
            DIVIDED,
            {"replicas": 99},
            {},
            Fate.REFUSED,
            "nothing could be placed in any cluster; it has room for 16 more",
            id="refused",
        ),
    ],
)
def test_the_fate_of_a_cluster_is_told(
    wanting: dict[str, Any], facts: dict[str, Any], other: dict[str, Any], fate: Fate, words: str
) -> None:
    binding = make_binding(**{"replicas": 3, "wanting": wanting} | facts)
    a, b = make_cluster("a", region="east"), make_cluster("b", **{"region": "east"} | other)
    report = report_of(binding, a, b)
    assert report.cluster("b").reason.fate is fate
    assert words in about(report.cluster("b"))
    assert sums_check(report) == []


def test_all_failing_filters_are_told_not_only_the_first() -> None:
    b = replace(make_cluster("b", taints=["old:NoExecute"]), apis=frozenset())
    cluster = report_of(make_binding(1, wanting=NAMED), make_cluster("a"), b).cluster("b")
    failed = {each.filter for each in cluster.turned_away}
    assert failed == {"APIEnablement", "TaintToleration", "ClusterAffinity"}
    assert about(cluster) == (
        "b  not chosen: did not have the API resource; also: had untolerated taint {old:NoExecute}"
        "; also: did not match the placement cluster affinity constraint"
    )


def test_a_filter_that_spares_what_runs_says_so() -> None:
    binding = make_binding(1, on={"a": 1})
    cluster = report_of(binding, make_cluster("a", taints=["old:NoExecute"])).cluster("a")
    said = {each.filter: each.said for each in cluster.rulings}
    assert cluster.chosen
    assert (said["TaintToleration"], said["ClusterAffinity"]) == ("spared", "pass")


def test_a_division_can_be_checked_with_pencil_and_paper() -> None:
    binding = make_binding(7, wanting={"division": weigh(a=3, b=2, c=1)})
    report = report_of(binding, *map(make_cluster, "abcd"))
    (told,) = report.decisive.sums
    assert told.lines == (
        Line("a", 3, 3.5, 4, 0),
        Line("b", 2, 7 * 2 / 6, 2, 0),
        Line("c", 1, 7 / 6, 1, 0),
    )
    assert (told.last, told.runner_up) == (Bid("a", 3, 7), Bid("b", 2, 5))
    assert sentences(report)[:3] == [
        "7 replicas in 3 clusters: a 4, b 2, c 1",
        "4 of 4 clusters passed the filters",
        "7 replicas by weight: a 3 of 6 is 3.50, so 4, b 2 of 6 is 2.33, so 2, c 1 of 6 is 1.17, "
        "so 1; 1 other gets none, with 0 of the votes; the last went to a at 3/7 = 0.4286, "
        "next is b at 2/5 = 0.4",
    ]


def test_what_is_kept_is_told_beside_what_is_won() -> None:
    binding = make_binding(6, on={"a": 2}, wanting=DIVIDED)
    report = report_of(binding, make_cluster("a"), make_cluster("b"))
    assert [(line.won, line.kept) for line in report.decisive.sums[0].lines] == [(2, 2), (2, 0)]
    assert "a  4 replicas (ran 2)" in sentences(report)


def test_a_selection_by_region_tells_what_was_weighed() -> None:
    binding = make_binding(3, wanting=BY_REGION | DIVIDED)
    a, b = make_cluster("a", region="east"), make_cluster("b", region="west", cpu="2")
    lines = sentences(report_of(binding, a, b))
    assert lines[2:4] == [
        "SpreadByRegion selected 1 of 2",
        "taken by region: east (score 3000, 1 cluster), "
        "the best combination with a score of 3000 in all",
    ]
    assert lines[4] == "not taken by region: west (score 2000)"


@pytest.mark.parametrize(
    ("binding", "fleet", "sentence"),
    [
        pytest.param(
            make_binding(2, wanting={"division": Duplicated()}),
            [make_cluster("a"), make_cluster("b")],
            "2 replicas in each of 2 clusters: a, b",
            id="duplicated",
        ),
        pytest.param(
            make_binding(0, demand=None),
            [make_cluster("a")],
            "placed in 1 cluster: a",
            id="no-workload",
        ),
        pytest.param(
            make_binding(0, wanting=DIVIDED),
            [make_cluster("a")],
            "there are no replicas to place, so no cluster holds any",
            id="no-replicas",
        ),
        pytest.param(
            make_binding(1),
            [make_cluster("a", taints=["gpu=yes:NoSchedule"])],
            "NoClusterFit: 0/1 clusters are available: "
            "1 cluster(s) had untolerated taint {gpu=yes:NoSchedule}.",
            id="no-cluster-fits",
        ),
    ],
)
def test_the_outcome_is_one_sentence(binding: Binding, fleet: list[Cluster], sentence: str) -> None:
    assert sentences(report_of(binding, *fleet))[0] == sentence


def test_terms_that_were_tried_before_are_told() -> None:
    terms = (Term("first", Affinity(names=("b",))), Term("second", Affinity(names=("a",))))
    binding = make_binding(1, wanting={"terms": terms})
    report = report_of(binding, make_cluster("a"))
    assert report.decisive.term == "second"
    assert sentences(report)[1].startswith("first: 0/1 clusters are available")


def test_many_clusters_are_told_by_what_they_have_in_common() -> None:
    tainted = [make_cluster(f"t{number:02}", taints=["gpu:NoSchedule"]) for number in range(60)]
    lines = sentences(report_of(make_binding(1), make_cluster("a"), *tainted))
    assert lines[-2:] == [
        "a  1 replica",
        "60 clusters not chosen: had untolerated taint {gpu:NoSchedule} "
        "(t00, t01, t02, t03, t04, t05, t06, t07, ...)",
    ]


def test_cost_is_told_as_it_is_given() -> None:
    kept = record(decide(make_binding(1), Fleet.of([make_cluster("a")])))
    assert "cost: $0.58 per hour" in sentences(explain(kept, "$0.58 per hour"))


def test_selected_clusters_without_replicas_can_be_chosen_all_the_same() -> None:
    setting = Setting(empty_workloads=True)
    binding = make_binding(1, wanting=AGGREGATED)
    report = report_of(binding, make_cluster("a"), make_cluster("b"), setting=setting)
    assert [(each.chosen, each.replicas) for each in report.clusters] == [(True, 1), (True, 0)]
    assert sums_check(report) == []


def test_a_cluster_that_was_not_there_is_not_made_up() -> None:
    report = report_of(make_binding(1), make_cluster("a"))
    with pytest.raises(Invalid, match="was not in the fleet"):
        report.cluster("z")


@given(bindings(), clusters())
def test_every_explanation_adds_up_and_leaves_no_cluster_out(
    binding: Binding, fleet: list[Cluster]
) -> None:
    decision = decide(binding, Fleet.of(fleet))
    report = explain(record(decision))
    assert sums_check(report) == []
    assert [each.name for each in report.clusters] == sorted(each.name for each in fleet)
    for cluster in report.clusters:
        assert cluster.chosen or cluster.reason.text
        assert cluster.chosen == (cluster.name in {each.name for each in decision.targets})
    assert len(sentences(report)) >= len(fleet) + 2


GROUPS = st.builds(
    Group,
    key=st.sampled_from(["region", "label:env"]),
    most=st.none() | st.integers(1, 2),
    each_most=st.none() | st.integers(1, 2),
)
PICKS = st.builds(
    Pick,
    order=st.sampled_from(Order),
    most=st.none() | st.integers(1, 4),
    groups=st.lists(GROUPS, max_size=2).map(tuple),
    shortage=st.sampled_from(Shortage),
)
FILLS = st.builds(
    Fill, order=st.sampled_from(Order), even=st.booleans(), shortage=st.sampled_from(Shortage)
)
BOUNDS = st.builds(Bounds, st.just(Affinity()), st.integers(0, 1), st.none() | st.integers(2, 9))


@given(bindings(), clusters(least=2), PICKS, FILLS | st.builds(Available), st.lists(BOUNDS))
def test_our_own_modes_are_explained_as_well(
    binding: Binding, fleet: list[Cluster], pick: Pick, division: Any, bounds: list[Bounds]
) -> None:
    ours = {"selection": pick, "division": division, "bounds": tuple(bounds[:1]), "spread": ()}
    binding = replace(binding, intent=replace(binding.intent, **ours))
    report = report_of(binding, *fleet)
    assert sums_check(report) == []
    assert all(each.chosen or each.reason.text for each in report.clusters)
    assert len(sentences(report)) >= len(fleet) + 2


def test_filling_is_told_as_filling() -> None:
    binding = make_binding(3, wanting={"division": Fill()})
    a, b = make_cluster("a", cpu="8"), make_cluster("b", cpu="4")
    lines = sentences(report_of(binding, a, b))
    assert lines[2] == "3 replicas by fill, best first: a 3 into room for 8; 1 other gets none"
    assert lines[4] == "b  not chosen: clusters before it in the order have room for all"


def with_replicas(kept: Record, replicas: np.ndarray[Any, Any]) -> Record:
    trial = kept.trials[-1]
    assert trial.assignment is not None
    changed = trial.assignment._replace(replicas=replicas)
    return kept._replace(trials=(trial._replace(assignment=changed),))


def with_won(kept: Record, won: np.ndarray[Any, Any]) -> Record:
    assignment = kept.trials[-1].assignment
    assert isinstance(assignment, Assignment)
    changed = assignment._replace(sums=(assignment.sums[0]._replace(won=won),))
    return kept._replace(trials=(kept.trials[-1]._replace(assignment=changed),))


@given(st.integers(0, 1), st.integers(1, 3))
def test_a_sum_that_was_tampered_with_is_noticed(place: int, more: int) -> None:
    binding = make_binding(6, wanting=DIVIDED)
    kept = record(decide(binding, Fleet.of([make_cluster("a"), make_cluster("b", cpu="8")])))
    numbers = np.array([4, 2])
    assert sums_check(explain(with_replicas(kept, numbers))) == []
    numbers[place] += more
    assert sums_check(explain(with_replicas(kept, numbers)))
    assert sums_check(explain(with_won(kept, numbers)))


def test_a_message_that_counts_otherwise_is_noticed() -> None:
    kept = record(decide(make_binding(1), Fleet.of([make_cluster("a", taints=["x:NoExecute"])])))
    assert sums_check(explain(kept)) == []
    assert sums_check(explain(kept._replace(message="0/2 clusters are available.")))
