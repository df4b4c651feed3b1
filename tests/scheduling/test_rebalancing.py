"""Proposals to move what runs: every one of them valid, none of them worse, small ones the best."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rebalancing_fleets import NAMES, Judge, make_cluster, make_demand, make_placement, problems

from atoll.errors import Invalid
from atoll.model.cluster import Cluster
from atoll.scheduling.rebalancing.problem import Goal, Placement, Problem, Range
from atoll.scheduling.rebalancing.proposal import Proposal, Reason, Solver, rebalance

goals = st.sampled_from(Goal)
solvers = st.sampled_from(Solver)
numbers_of_moves = st.integers(0, 6)
HERE = str(Path(__file__).parent)
both_solvers = pytest.mark.parametrize("solver", Solver)


def make_problem(*parts: Cluster | Placement) -> Problem:
    clusters = tuple(part for part in parts if isinstance(part, Cluster))
    named = {cluster.name for cluster in clusters}
    missing = tuple(Cluster(name=name) for name in NAMES if name not in named)
    placements = tuple(part for part in parts if isinstance(part, Placement))
    return Problem((*clusters, *missing), placements)


def moved(proposal: Proposal) -> list[tuple[str, str, str, int]]:
    return [(move.binding[1], move.source, move.target, move.replicas) for move in proposal.moves]


@given(problems(), goals, solvers, numbers_of_moves)
def test_every_prefix_of_a_proposal_can_be_made_and_the_whole_is_better(
    problem, goal, solver, moves_most
):
    proposal = rebalance(problem, goal, moves_most, solver=solver)
    judge = Judge(problem, goal)
    held = judge.start()
    numbers = {each.key: number for number, each in enumerate(problem.placements)}
    for move in proposal.moves:
        cells = (numbers[move.binding], move.source), (numbers[move.binding], move.target)
        refusal = judge.refusal(held, cells[0][0], move.source, move.target, move.replicas)
        assert move.replicas > 0
        assert not refusal
        held[cells[0]] -= move.replicas
        held[cells[1]] += move.replicas
    assert sum(move.replicas for move in proposal.moves) <= moves_most
    assert proposal.before.value(goal) == judge.value(judge.start())
    assert proposal.after.value(goal) == judge.value(held)
    assert bool(proposal.moves) == (proposal.after.value(goal) < proposal.before.value(goal))


@settings(max_examples=60)
@given(problems(), goals, st.integers(0, 4))
def test_highs_finds_the_best_there_is_on_small_fleets(problem, goal, moves_most):
    proposal = rebalance(problem, goal, moves_most)
    best = Judge(problem, goal).best(moves_most)
    assert proposal.solver is Solver.HIGHS
    assert proposal.after.value(goal)[0] == best[0]
    assert proposal.bound is None or proposal.bound <= best[0]


@settings(max_examples=60)
@given(problems(), st.integers(0, 4))
def test_savings_add_up_to_what_the_cost_falls_by(problem, moves_most):
    proposal = rebalance(problem, Goal.COST, moves_most)
    savings = [move.saving for move in proposal.moves]
    assert None not in savings
    assert sum(savings) == proposal.before.cost - proposal.after.cost
    assert proposal.before.unpriced == proposal.after.unpriced


@settings(max_examples=60)
@given(problems(), goals, solvers, numbers_of_moves, st.data())
def test_the_order_of_the_input_does_not_matter(problem, goal, solver, moves_most, data):
    clusters = data.draw(st.permutations(problem.clusters))
    placements = data.draw(st.permutations(problem.placements))
    shuffled = Problem(
        tuple(clusters),
        tuple(replace(each, replicas=dict(reversed(each.replicas.items()))) for each in placements),
    )
    first = rebalance(problem, goal, moves_most, solver=solver)
    assert rebalance(shuffled, goal, moves_most, solver=solver) == first


@both_solvers
def test_replicas_go_where_they_are_cheapest_as_far_as_there_is_room(solver):
    problem = make_problem(
        make_cluster("east", price=9, cpu=0),
        make_cluster("north", price=2, cpu=2),
        make_cluster("west", price=5, cpu=9),
        make_placement("web", east=5),
    )
    proposal = rebalance(problem, Goal.COST, 10, solver=solver)
    assert moved(proposal) == [("web", "east", "north", 2), ("web", "east", "west", 3)]
    assert [move.saving for move in proposal.moves] == [14, 12]
    assert {move.reason for move in proposal.moves} == {Reason.CHEAPER}
    assert (proposal.before.cost, proposal.after.cost) == (45, 19)
    assert proposal.solver is solver


@both_solvers
def test_the_number_of_moves_is_bounded_and_the_best_are_made(solver):
    problem = make_problem(
        make_cluster("east", price=9, cpu=0, gpu=0),
        make_cluster("north", price=2, cpu=20, gpu=5),
        make_placement("small", east=4),
        make_placement("large", make_demand(cpu=1, gpu=1), east=2),
    )
    proposal = rebalance(problem, Goal.COST, 3, solver=solver)
    assert sorted(moved(proposal)) == [("large", "east", "north", 2), ("small", "east", "north", 1)]


def test_room_is_made_for_a_larger_saving():
    # The graphics workload saves much in the north, which a small one has filled.
    problem = make_problem(
        make_cluster("east", price=9, cpu=2, gpu=0),
        make_cluster("north", price=2, cpu=0, gpu=1),
        make_placement("small", north=1),
        make_placement("large", make_demand(cpu=1, gpu=1), east=1),
    )
    greedy = rebalance(problem, Goal.COST, 5, solver=Solver.GREEDY)
    assert greedy.moves == ()
    proposal = rebalance(problem, Goal.COST, 5)
    assert moved(proposal) == [("small", "north", "east", 1), ("large", "east", "north", 1)]
    assert [(move.saving, move.reason) for move in proposal.moves] == [
        (-7, Reason.ROOM),
        (77, Reason.CHEAPER),
    ]


def test_a_ring_that_has_no_room_to_turn_is_left_alone():
    problem = make_problem(
        make_cluster("east", price=9, cpu=0, gpu=0),
        make_cluster("north", price=2, cpu=0, gpu=1),
        make_placement("small", north=1),
        make_placement("large", make_demand(cpu=1, gpu=1), east=1),
    )
    assert rebalance(problem, Goal.COST, 5).moves == ()


@both_solvers
def test_an_unknown_price_is_neither_cheap_to_go_to_nor_a_saving_to_leave(solver):
    problem = make_problem(
        make_cluster("east", price=9, cpu=9),
        make_cluster("north", price=None, cpu=9),
        make_placement("web", east=3, north=2),
    )
    proposal = rebalance(problem, Goal.COST, 9, solver=solver)
    assert proposal.moves == ()
    assert (proposal.before.cost, proposal.before.unpriced) == (27, 2)


@both_solvers
def test_a_cluster_that_does_not_say_what_is_free_only_gives(solver):
    problem = make_problem(
        replace(make_cluster("east", price=9), free=None),
        make_cluster("north", price=5, cpu=9),
        replace(make_cluster("west", price=1), free=None),
        make_placement("web", east=3),
    )
    assert moved(rebalance(problem, Goal.COST, 9, solver=solver)) == [("web", "east", "north", 3)]


@both_solvers
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, 4, id="free to go"),
        pytest.param({"movable": False}, 0, id="not movable"),
        pytest.param({"demand": None}, 0, id="unknown demand"),
        pytest.param({"feasible": frozenset({"east"})}, 0, id="not feasible there"),
        pytest.param({"bounds": {"east": Range(3)}}, 1, id="a least here"),
        pytest.param({"bounds": {"north": Range(0, 2)}}, 2, id="a most there"),
        pytest.param({"bounds": {"north": Range(5)}}, 0, id="a least there, out of reach"),
        pytest.param({"bounds": {"north": Range(4)}}, 4, id="a least there, within reach"),
    ],
)
def test_a_placement_keeps_its_constraints(change, expected, solver):
    placement = replace(make_placement("web", east=4), **change)
    problem = make_problem(
        make_cluster("east", price=9, cpu=0), make_cluster("north", price=1, cpu=9), placement
    )
    proposal = rebalance(problem, Goal.COST, 9, solver=solver)
    assert sum(move.replicas for move in proposal.moves) == expected
    assert len(proposal.moves) == (1 if expected else 0)


@both_solvers
def test_what_is_overdrawn_receives_nothing_that_asks_for_it(solver):
    problem = make_problem(
        make_cluster("east", price=9, cpu=0),
        make_cluster("north", price=1, cpu=-1),
        make_placement("web", east=2, north=3),
    )
    assert rebalance(problem, Goal.COST, 9, solver=solver).moves == ()


@both_solvers
def test_the_fullest_cluster_gives_to_the_emptiest(solver):
    problem = make_problem(
        make_cluster("east", price=1, cpu=0),
        make_cluster("north", price=9, cpu=8),
        make_cluster("west", price=9, cpu=4),
        make_placement("web", east=8, west=4),
    )
    proposal = rebalance(problem, Goal.BALANCE, 20, solver=solver)
    assert (proposal.before.largest, proposal.after.largest) == (1_000_000, 500_000)
    assert moved(proposal) == [("web", "east", "north", 4)]
    assert proposal.moves[0].saving == -32
    assert proposal.moves[0].reason is Reason.EVENER


@both_solvers
def test_balance_counts_the_resource_that_is_fullest(solver):
    # By CPU the east is half empty; its accelerators are what is short.
    graphics = make_placement("graphics", make_demand(cpu=1, gpu=1), east=2)
    problem = make_problem(
        make_cluster("east", cpu=18, gpu=0), make_cluster("north", cpu=2, gpu=2), graphics
    )
    proposal = rebalance(problem, Goal.BALANCE, 9, solver=solver)
    assert proposal.before.largest == 1_000_000
    assert moved(proposal) == [("graphics", "east", "north", 1)]
    assert proposal.after.largest == 500_000
    assert proposal.moves[0].saving is None


def make_fleet(clusters: int, placements: int) -> Problem:
    """A fleet too large to be solved in whole numbers, all of it dearer than need be."""
    names = [f"c-{number:02}" for number in range(clusters)]
    fleet = tuple(
        make_cluster(name, price=3 + 7 * place % 11, cpu=6 + place % 5, gpu=4, pods=30)
        for place, name in enumerate(names)
    )
    placed = tuple(
        Placement(
            key=("shop", f"app-{number:02}"),
            demand=make_demand(cpu=1 + number % 3, gpu=number % 2),
            replicas={names[5 * number % clusters]: 3, names[(3 * number + 1) % clusters]: 2},
            feasible=frozenset(names),
        )
        for number in range(placements)
    )
    return Problem(fleet, placed)


@pytest.mark.parametrize("goal", Goal)
@pytest.mark.parametrize("moves_most", [10, 1000])
def test_a_larger_fleet_comes_near_the_bound_and_is_never_worse_than_greedy(goal, moves_most):
    problem = make_fleet(15, 40)
    proposal = rebalance(problem, goal, moves_most)
    greedy = rebalance(problem, goal, moves_most, solver=Solver.GREEDY)
    value, bound = proposal.after.value(goal), proposal.bound
    assert proposal.solver is Solver.HIGHS
    assert greedy.solver is Solver.GREEDY
    assert bound is not None
    assert bound <= value[0] <= 1.1 * bound
    assert value <= greedy.after.value(goal) < proposal.before.value(goal)
    assert rebalance(problem, goal, moves_most) == proposal


def test_without_highs_the_greedy_search_answers_and_says_so():
    # A module that is None in sys.modules is one that is not installed.
    program = (
        f"import sys; sys.modules['highspy'] = None; sys.path.insert(0, {HERE!r});"
        "from test_rebalancing import make_fleet, rebalance, Goal;"
        "proposal = rebalance(make_fleet(3, 4), Goal.COST, 5);"
        "print(proposal.solver, proposal.bound, len(proposal.moves) > 0)"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (made.stdout, made.stderr) == ("greedy None True\n", "")


def test_the_solver_is_loaded_only_when_asked_and_prints_nothing():
    program = (
        f"import sys; sys.path.insert(0, {HERE!r});"
        "from test_rebalancing import make_fleet, rebalance, Goal;"
        "before = 'highspy' in sys.modules;"
        "rebalance(make_fleet(3, 4), Goal.COST, 5);"
        "print(before, 'highspy' in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (made.stdout, made.stderr) == ("False True\n", "")


EAST = make_cluster("east", price=1, cpu=1)
WEB = make_placement("web", east=1)


@pytest.mark.parametrize(
    ("parts", "moves_most", "complaint"),
    [
        pytest.param((EAST, WEB), -1, "moves_most: -1: must be between", id="negative moves"),
        pytest.param((EAST, EAST, WEB), 1, "clusters: 'east': is given 2 times", id="one cluster"),
        pytest.param(
            (EAST, WEB, WEB), 1, "placements: 'shop/web': is given 2 times", id="one placement"
        ),
        pytest.param(
            (EAST, replace(WEB, replicas={"east": -2})),
            1,
            r"placements\[shop/web\].replicas\[east\]: -2: must be between",
            id="negative replicas",
        ),
        pytest.param(
            (EAST, replace(WEB, replicas={"moon": 2})),
            1,
            r"placements\[shop/web\].replicas: 'moon': is not one of the clusters",
            id="unknown cluster",
        ),
        pytest.param(
            (EAST, replace(WEB, bounds={"east": Range(3, 2)})),
            1,
            r"bounds\[east\].most: 2: is below the least, 3",
            id="most below least",
        ),
        pytest.param(
            (EAST, replace(WEB, bounds={"east": Range(-3)})),
            1,
            r"bounds\[east\].least: -3: must be between",
            id="negative least",
        ),
        pytest.param(
            (EAST, replace(WEB, demand=make_demand(cpu=2**62))),
            1,
            r"demand.requests\[cpu\].*more than can be counted",
            id="demand beyond counting",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(parts, moves_most, complaint):
    with pytest.raises(Invalid, match=complaint):
        rebalance(make_problem(*parts), Goal.COST, moves_most)


@pytest.mark.parametrize("goal", Goal)
@both_solvers
@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(Problem((), ()), id="nothing at all"),
        pytest.param(Problem((EAST,), ()), id="nothing placed"),
        pytest.param(
            Problem((), (replace(WEB, replicas={}, feasible=frozenset()),)), id="no clusters"
        ),
        pytest.param(make_problem(replace(WEB, replicas={})), id="no replicas"),
    ],
)
def test_where_there_is_nothing_to_move_the_proposal_is_empty(problem, goal, solver):
    proposal = rebalance(problem, goal, 5, solver=solver)
    assert proposal.moves == ()
    assert proposal.before == proposal.after
