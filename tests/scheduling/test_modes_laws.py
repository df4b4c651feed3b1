"""What must hold of every decision in Atoll's own modes."""

from dataclasses import replace

from builders import placed
from hypothesis import assume, given
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
)

from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.intent import Available, Bounds, Duplicated, Fill, Order, Pick, Shortage
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching


def bounds_of(name: str, binding: Binding, fleet: Fleet) -> Bounds | None:
    """The first entry that matches counts."""
    row = fleet.rows[name]
    entries = binding.intent.bounds
    return next((each for each in entries if matching(each.affinity, fleet.traits)[row]), None)


def missing(decision: Decision) -> int:
    """Replicas that a division says it did not place."""
    assignment = decision.attempts[-1].assignment
    assert assignment is not None
    return sum(each.seats - int(each.won.sum()) for each in assignment.sums)


@given(bindings(anything), fleets(), st.data())
def test_a_cluster_that_joins_never_makes_a_placement_impossible(
    binding: Binding, fleet: list[Cluster], data: st.DataObject
) -> None:
    assume(decide(binding, Fleet.of(fleet)).ok)
    free = sorted(set(NAMES) - {each.name for each in fleet} - set(dict(binding.targets)))
    assume(free)
    joined = data.draw(clusters(data.draw(st.sampled_from(free))))
    after = decide(binding, Fleet.of([*fleet, joined]))
    assert after.ok, after.message


@given(bindings(anything), fleets())
def test_replicas_add_up_or_what_is_missing_is_said(binding: Binding, fleet: list[Cluster]) -> None:
    decision, division = decide(binding, Fleet.of(fleet)), binding.intent.division
    assume(decision.ok and not isinstance(division, Duplicated))
    total = sum(placed(decision).values())
    if isinstance(division, Fill) and division.shortage is Shortage.PARTIAL:
        assert total + missing(decision) == binding.replicas
    else:
        assert total == binding.replicas
        assert missing(decision) == 0


@given(bindings(anything), fleets())
def test_every_cluster_that_is_used_is_used_within_its_bounds(
    binding: Binding, fleet: list[Cluster]
) -> None:
    columns = Fleet.of(fleet)
    decision = decide(binding, columns)
    assume(not isinstance(binding.intent.division, Duplicated))
    for name, replicas in placed(decision).items():
        entry = bounds_of(name, binding, columns)
        if entry is not None:
            assert replicas >= entry.least
            assert entry.most is None or replicas <= entry.most


@given(bindings(anything), fleets())
def test_what_is_placed_by_room_fits_the_room(binding: Binding, fleet: list[Cluster]) -> None:
    decision = decide(binding, Fleet.of(fleet))
    candidates = decision.attempts[-1].candidates
    assume(decision.ok and candidates is not None)
    assume(isinstance(binding.intent.division, Fill | Available))
    assert candidates is not None
    names = decision.fleet.names_of(candidates.rows)
    room = dict(zip(names, candidates.available.tolist(), strict=True))
    assert all(replicas <= room[name] for name, replicas in placed(decision).items())


@given(bindings(anything), fleets(), st.data())
def test_the_order_of_the_clusters_does_not_matter(
    binding: Binding, fleet: list[Cluster], data: st.DataObject
) -> None:
    one = decide(binding, Fleet.of(fleet))
    other = decide(binding, Fleet.of(data.draw(st.permutations(fleet))))
    assert (one.verdict, one.message, one.targets) == (other.verdict, other.message, other.targets)


@given(bindings(anything), fleets())
def test_deciding_again_with_the_result_changes_nothing(
    binding: Binding, fleet: list[Cluster]
) -> None:
    selection, division = binding.intent.selection, binding.intent.division
    assume(not isinstance(selection, Pick) or selection.sticky)
    assume(not isinstance(division, Fill) or division.keep)
    first = decide(binding, Fleet.of(fleet))
    assume(first.ok)
    again = decide(settled(binding, first), fleet_after(fleet, binding, first))
    assert placed(again) == placed(first)


@given(bindings(intents(divisions=st.builds(Fill, order=st.sampled_from(Order)))), fleets())
def test_filling_anew_comes_to_the_same_end(binding: Binding, fleet: list[Cluster]) -> None:
    division = binding.intent.division
    assert isinstance(division, Fill)
    intent = replace(binding.intent, division=replace(division, keep=False))
    binding = replace(binding, intent=intent)
    first = decide(binding, Fleet.of(fleet))
    assume(first.ok)
    again = decide(settled(binding, first), fleet_after(fleet, binding, first))
    assert placed(again) == placed(first)


@given(bindings(intents(picks())), fleets())
def test_of_every_cluster_left_out_there_is_a_reason(
    binding: Binding, fleet: list[Cluster]
) -> None:
    """It is in no group, its price is not known, or one more would be too many somewhere."""
    decision = decide(binding, Fleet.of(fleet))
    attempt, pick = decision.attempts[-1], binding.intent.selection
    assume(attempt.selected is not None)
    assert attempt.selected is not None
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
