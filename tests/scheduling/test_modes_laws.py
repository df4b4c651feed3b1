"""What must hold of every decision in Atoll's own modes."""

from dataclasses import replace

import numpy as np
from builders import placed
from hypothesis import given
from hypothesis import strategies as st
from modes_drawn import (
    NAMES,
    anything,
    bindings,
    clusters,
    fleet_after,
    fleets,
    intents,
    picks,
    settled,
    staying,
)

from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.intent import Available, Bounds, Duplicated, Fill, Order, Pick, Shortage
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import explain
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.recording import record
from bench.auditing import sums_check

_filling_anew = st.builds(Fill, order=st.sampled_from(Order), keep=st.just(False))


def bounds_of(name: str, binding: Binding, fleet: Fleet) -> Bounds | None:
    """The first entry that matches counts."""
    row = fleet.rows[name]
    entries = binding.intent.bounds
    return next((each for each in entries if matching(each.affinity, fleet.traits)[row]), None)


def room_of(name: str, decision: Decision) -> int:
    candidates = decision.attempts[-1].candidates
    assert candidates is not None
    (place,) = np.flatnonzero(candidates.rows == decision.fleet.rows[name])
    return int(candidates.available[place])


def missing(decision: Decision) -> int:
    """Replicas that a division says it did not place."""
    assignment = decision.attempts[-1].assignment
    assert assignment is not None
    return sum(each.seats - int(each.won.sum()) for each in assignment.sums)


@given(bindings(anything), fleets(), st.data())
def test_a_cluster_that_joins_never_makes_a_placement_impossible(
    binding: Binding, fleet: list[Cluster], data: st.DataObject
) -> None:
    if not decide(binding, Fleet.of(fleet)).ok:
        return
    taken = {*(each.name for each in fleet), *(each.name for each in binding.targets)}
    joined = data.draw(clusters(data.draw(st.sampled_from(sorted({*NAMES, "m9"} - taken)))))
    after = decide(binding, Fleet.of([*fleet, joined]))
    assert after.ok, after.message


@given(bindings(anything), fleets())
def test_replicas_add_up_or_what_is_missing_is_said(binding: Binding, fleet: list[Cluster]) -> None:
    decision, division = decide(binding, Fleet.of(fleet)), binding.intent.division
    if not decision.ok or isinstance(division, Duplicated):
        return
    total = sum(placed(decision).values())
    partial = isinstance(division, Fill) and division.shortage is Shortage.PARTIAL
    assert total + missing(decision) == binding.replicas
    assert partial or total == binding.replicas


@given(bindings(anything), fleets())
def test_every_cluster_is_used_within_its_bounds_and_its_room(
    binding: Binding, fleet: list[Cluster]
) -> None:
    decision, division = decide(binding, Fleet.of(fleet)), binding.intent.division
    if isinstance(division, Duplicated):
        return
    for name, replicas in placed(decision).items():
        entry = bounds_of(name, binding, decision.fleet)
        if entry is not None:
            assert replicas >= entry.least
            assert entry.most is None or replicas <= entry.most
        if isinstance(division, Fill | Available):
            assert replicas <= room_of(name, decision)


@given(bindings(anything), fleets(), st.data())
def test_the_order_of_the_clusters_does_not_matter(
    binding: Binding, fleet: list[Cluster], data: st.DataObject
) -> None:
    one = decide(binding, Fleet.of(fleet))
    other = decide(binding, Fleet.of(data.draw(st.permutations(fleet))))
    assert (one.verdict, one.message, one.targets) == (other.verdict, other.message, other.targets)


@given(bindings(anything.map(staying)), fleets())
def test_deciding_again_with_the_result_changes_nothing(
    binding: Binding, fleet: list[Cluster]
) -> None:
    """Where something ran before and is neither kept nor divided anew over all that were picked,
    it takes one more decision until what runs is what was picked."""
    if not isinstance(binding.intent.division, Fill | Available):
        binding = replace(binding, targets=())
    first = decide(binding, Fleet.of(fleet))
    if first.ok:
        again = decide(settled(binding, first), fleet_after(fleet, binding, first))
        assert placed(again) == placed(first)


@given(bindings(intents(divisions=_filling_anew)), fleets())
def test_filling_anew_comes_to_the_same_end(binding: Binding, fleet: list[Cluster]) -> None:
    binding = replace(binding, targets=())
    first = decide(binding, Fleet.of(fleet))
    if first.ok:
        again = decide(settled(binding, first), fleet_after(fleet, binding, first))
        assert placed(again) == placed(first)


@given(bindings(anything), fleets())
def test_every_decision_can_be_explained_and_its_sums_add_up(
    binding: Binding, fleet: list[Cluster]
) -> None:
    report = explain(record(decide(binding, Fleet.of(fleet))))
    assert sums_check(report) == []
    assert all(each.chosen or each.reason.text for each in report.clusters)


@given(bindings(intents(picks())), fleets())
def test_of_every_cluster_left_out_there_is_a_reason(
    binding: Binding, fleet: list[Cluster]
) -> None:
    """It is in no group, its price is not known, or one more would be too many somewhere."""
    decision = decide(binding, Fleet.of(fleet))
    attempt, pick = decision.attempts[-1], binding.intent.selection
    if attempt.selected is None:
        return
    assert attempt.candidates is not None
    assert isinstance(pick, Pick)
    chosen = set(attempt.selected.rows.tolist())
    keys = [each.key for each in attempt.selected.groups]
    assert keys == [
        *(each.key for each in pick.groups),
        *(["quotas"] if pick.quotas else []),
        *(["price"] if pick.order is Order.PRICE else []),
    ]
    for groups in attempt.selected.groups:
        ends = [sum(groups.sizes[: i + 1]) for i in range(len(groups.sizes))]
        members = [
            set(groups.rows[end - size : end].tolist())
            for size, end in zip(groups.sizes, ends, strict=True)
        ]
        assert list(groups.taken) == [i for i, each in enumerate(members) if each & chosen]
        if groups.key != "price":
            assert chosen <= set().union(*members)
    bounded = pick.most is not None or pick.groups or pick.quotas
    left_out = set(attempt.candidates.rows.tolist()) - chosen
    assert not left_out or bounded
