"""What must hold of every decision, whatever the fleet and the placement."""

from dataclasses import replace

import pytest
from builders import bindings, clusters, make_binding, make_cluster, make_demand, placed
from hypothesis import assume, given
from hypothesis import strategies as st

from atoll.model.affinity import Affinity, Term
from atoll.model.amount import Amount
from atoll.model.assumed import Assumed
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster, Free
from atoll.model.decision import Verdict
from atoll.model.demand import Component, Demand
from atoll.model.intent import Available, Constrained, Duplicated, Ordinals, Weighted
from atoll.scheduling.cycle import decide
from atoll.scheduling.features import Features
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting
from atoll.scheduling.trigger import Trigger, trigger


@given(bindings(), clusters())
def test_replicas_add_up(binding: Binding, fleet: list[Cluster]) -> None:
    decision = decide(binding, Fleet.of(fleet))
    assume(decision.ok and binding.is_workload)
    counts = list(placed(decision).values())
    if isinstance(binding.intent.division, Duplicated):
        assert all(count == binding.replicas for count in counts)
    else:
        assert sum(counts) == binding.replicas


@given(bindings(), clusters(), st.data())
def test_the_order_of_clusters_and_of_labels_does_not_matter(
    binding: Binding, fleet: list[Cluster], data: st.DataObject
) -> None:
    shuffled = [
        replace(each, labels=dict(reversed(each.labels.items())))
        for each in data.draw(st.permutations(fleet))
    ]
    one, other = decide(binding, Fleet.of(fleet)), decide(binding, Fleet.of(shuffled))
    assert (one.verdict, one.message, one.targets) == (other.verdict, other.message, other.targets)


@given(bindings(), clusters())
def test_a_decision_is_told_where_it_may_go_and_nowhere_else(
    binding: Binding, fleet: list[Cluster]
) -> None:
    decision = decide(binding, Fleet.of(fleet))
    for name in placed(decision):
        assert name in {each.name for each in fleet}
        assert name not in binding.evicting
        assert name not in binding.intent.terms[0].affinity.exclude


@given(bindings(), clusters())
def test_where_the_trigger_sees_no_change_deciding_again_changes_nothing(
    binding: Binding, fleet: list[Cluster]
) -> None:
    # Karmada's choice among regions looks at where work runs, so it may differ the second time.
    assume(not isinstance(binding.intent.selection, Constrained))
    columns = Fleet.of(fleet)
    first = decide(binding, columns)
    assume(first.ok)
    settled = replace(binding, targets=first.targets, fresh=False)
    assume(trigger(settled, settled.intent, columns) is Trigger.NONE)
    assert placed(decide(settled, columns)) == placed(first)


@given(bindings(), clusters(), st.data())
def test_one_changed_cluster_is_as_good_as_a_new_fleet(
    binding: Binding, fleet: list[Cluster], data: st.DataObject
) -> None:
    changed = data.draw(clusters())
    grown = Fleet.of(fleet)
    decide(binding, grown)
    for each in changed:
        grown = grown.with_cluster(each)
    by_name = {each.name: each for each in [*fleet, *changed]}
    for gone in data.draw(st.lists(st.sampled_from(sorted(by_name)), max_size=2, unique=True)):
        grown = grown.without(gone)
        del by_name[gone]
    built = decide(binding, Fleet.of(by_name.values()))
    changed_one = decide(binding, grown)
    assert (built.message, built.targets) == (changed_one.message, changed_one.targets)


@given(bindings(), clusters())
def test_what_was_remembered_from_other_decisions_changes_nothing(
    binding: Binding, fleet: list[Cluster]
) -> None:
    columns = Fleet.of(fleet)
    first = decide(binding, columns)
    decide(replace(binding, replicas=binding.replicas + 1, targets=()), columns)
    again = decide(binding, columns)
    assert (first.message, first.targets) == (again.message, again.targets)


def test_a_later_term_is_tried_when_the_first_has_no_room_and_is_then_observed() -> None:
    fleet = Fleet.of([make_cluster("near", cpu="2"), make_cluster("far")])
    terms = (
        Term("near", Affinity(names=("near",))),
        Term("far", Affinity(names=("far",))),
    )
    decision = decide(make_binding(4, wanting={"terms": terms, "division": Available()}), fleet)
    assert placed(decision) == {"far": 4}
    assert decision.term == "far"
    assert [attempt.term.name for attempt in decision.attempts] == ["near", "far"]


def test_a_term_before_the_observed_one_is_never_tried_again() -> None:
    fleet = Fleet.of([make_cluster("near"), make_cluster("far")])
    terms = (Term("near", Affinity(names=("near",))), Term("far", Affinity(names=("far",))))
    decision = decide(make_binding(1, wanting={"terms": terms}, observed_term="far"), fleet)
    assert placed(decision) == {"far": 1}


def test_overflow_takes_only_what_the_first_tier_cannot_hold() -> None:
    fleet = Fleet.of([make_cluster("local", cpu="3"), make_cluster("cloud", cpu="100")])
    term = Term("t", Affinity(names=("local",)), (Affinity(names=("cloud",)),))
    decision = decide(
        make_binding(5, wanting={"terms": (term,), "division": Available(aggregated=True)}), fleet
    )
    assert placed(decision) == {"local": 3, "cloud": 2}


@pytest.mark.parametrize(
    ("binding", "verdict", "message", "bound"),
    [
        pytest.param(
            make_binding(2, on={"a": 2}, wanting={"terms": (Term("", Affinity(names=("x",))),)}),
            Verdict.NO_CLUSTER_FIT,
            "0/2 clusters are available: 2 cluster(s) did not match the placement cluster "
            "affinity constraint.",
            {},
            id="no-cluster-fits-empties-the-binding-and-waits-for-a-change",
        ),
        pytest.param(
            make_binding(200, on={"a": 2}, wanting={"division": Available()}),
            Verdict.UNSCHEDULABLE,
            "failed to assign replicas: failed to scale up: Clusters available replicas 32 "
            "are not enough to schedule.",
            {"a": 2},
            id="no-room-keeps-the-binding-and-tries-again",
        ),
    ],
)
def test_a_failure_says_why_and_what_becomes_of_the_binding(
    binding: Binding, verdict: Verdict, message: str, bound: dict[str, int]
) -> None:
    decision = decide(binding, Fleet.of([make_cluster("a"), make_cluster("b")]))
    assert (decision.verdict, decision.message) == (verdict, message)
    assert decision.retry is (verdict is Verdict.UNSCHEDULABLE)
    assert {target.name: target.replicas for target in decision.bound} == bound
    assert not decision.targets


def test_an_empty_fleet_is_told_so() -> None:
    decision = decide(make_binding(1), Fleet.of([]))
    assert decision.message == "0/0 clusters are available: no cluster exists."


@pytest.mark.parametrize(
    ("weights", "replicas", "uid", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, 9, "", {"a": 3, "b": 6}, id="one-to-two"),
        pytest.param({"a": 1, "b": 3}, 9, "", {"a": 2, "b": 7}, id="one-to-three"),
        pytest.param({"a": 1, "b": 1}, 3, "a", {"a": 2, "b": 1}, id="even-uid-favours-the-first"),
        pytest.param({"a": 1, "b": 1}, 3, "b", {"a": 1, "b": 2}, id="odd-uid-favours-the-last"),
        pytest.param({}, 4, "", {"a": 2, "b": 2}, id="without-weights-all-count-the-same"),
        pytest.param({"b": 7}, 4, "", {"b": 4}, id="who-has-no-weight-gets-nothing"),
    ],
)
def test_static_weights_divide_all_replicas(
    weights: dict[str, int], replicas: int, uid: str, expected: dict[str, int]
) -> None:
    listed = tuple((Affinity(names=(name,)), weight) for name, weight in weights.items())
    binding = make_binding(replicas, uid=uid, wanting={"division": Weighted(listed)})
    decision = decide(binding, Fleet.of([make_cluster("a"), make_cluster("b")]))
    assert placed(decision) == expected


def test_a_split_statefulset_has_every_ordinal_once_and_grows_at_the_top() -> None:
    fleet = Fleet.of([make_cluster("a", cpu="2"), make_cluster("b", cpu="9")])
    wanting = {"division": Available(), "ordinals": Ordinals()}
    first = decide(make_binding(5, wanting=wanting), fleet)
    ranges = first.ordinals()
    assert ranges is not None
    assert sorted((each.start, each.count) for each in ranges.ranges) == [(0, 1), (1, 4)]
    grown = decide(make_binding(7, on=placed(first), wanting=wanting), fleet)
    plan = grown.ordinals(ranges.ranges)
    assert plan is not None
    assert sum(each.count for each in plan.ranges) == 7
    assert decide(make_binding(5, wanting={"division": Available()}), fleet).ordinals() is None


def test_a_request_beyond_all_numbers_fits_nowhere() -> None:
    huge = Demand((("memory", Amount(10**25, binary=True)),))
    decision = decide(
        make_binding(1, demand=huge, wanting={"division": Available()}),
        Fleet.of([make_cluster("a")]),
    )
    assert decision.verdict is Verdict.UNSCHEDULABLE


def test_assumed_work_takes_pod_slots_from_requests_for_pods_too() -> None:
    component = Component("web", 3, make_demand())
    binding = make_binding(
        1, demand=Demand((("pods", Amount(1000)),)), wanting={"division": Available()}
    )
    fleet = Fleet.of([replace(make_cluster("a"), free=Free({"pods": Amount(10_000)}, 20))])
    setting = Setting(Features(SchedulingOvercommitProtection=True))
    surroundings = Surroundings(assumed=(Assumed("a", (component,)),))
    decision = decide(binding, fleet, setting, surroundings)
    assert decision.attempts[0].estimates is not None
    assert decision.attempts[0].estimates.allocatable.tolist() == [7]


def test_an_estimator_that_does_not_know_has_no_say() -> None:
    fleet = Fleet.of([make_cluster("a"), make_cluster("b")])
    answers = {"exact": {"a": 2, "b": -1}}
    decision = decide(
        make_binding(9, wanting={"division": Available()}),
        fleet,
        surroundings=Surroundings(estimates=answers),
    )
    assert placed(decision) == {"a": 1, "b": 8}
    estimates = decision.attempts[0].estimates
    assert estimates is not None
    assert {name: found.tolist() for name, found in estimates.sources.items()} == {
        "cluster report": [16, 16],
        "exact": [2, -1],
    }
