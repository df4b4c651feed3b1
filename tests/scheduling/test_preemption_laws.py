"""What holds of every plan, however little was searched, and that no plan of all is better."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preemption_worlds import (
    Left,
    Question,
    World,
    best_of_all,
    by_priority,
    departures,
    fits,
    may_leave,
    questions,
    splits,
)

from atoll.model.binding import Binding
from atoll.model.intent import Intent, Preemption
from atoll.scheduling.preemption import (
    Cost,
    Each,
    Holding,
    Limits,
    Plan,
    Proof,
    Refusal,
    Spread,
    Victim,
    preempt,
)


@settings(max_examples=250, deadline=None)
@given(questions())
def test_no_plan_of_all_is_better(question: Question) -> None:
    answer = preempt(*question)
    best = best_of_all(question)
    assert answer == best if best else isinstance(answer, Refusal)


LIMITS = [
    pytest.param(Limits(), id="as usual"),
    pytest.param(Limits(cover=0), id="no fronts"),
    pytest.param(Limits(steps=0), id="no combining"),
    pytest.param(Limits(steps=8), id="hardly any combining"),
    pytest.param(Limits(ties=0), id="no ties"),
    pytest.param(Limits(cover=1, steps=0, ties=1), id="nothing"),
]


def placed(need: Spread | Each) -> int:
    return need.missing if isinstance(need, Spread) else sum(need.clusters.values())


def victims_of(question: Question, plan: Plan) -> Left:
    """The holdings that leave, and how many of each; all of them run where the plan says."""
    held = {(h.binding.key, h.cluster): h for h in question[3]}
    sums: dict[tuple[tuple[str, str], str], int] = {}
    for each in plan.victims:
        place = (each.binding, each.cluster)
        assert each.replicas > 0
        assert each.priority == held[place].binding.priority
        assert each.to is None or each.to in held[place].elsewhere
        sums[place] = sums.get(place, 0) + each.replicas
    assert all(n <= held[place].replicas for place, n in sums.items())
    return [(held[place], n) for place, n in sums.items()]


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=50, deadline=None)
@given(question=questions(most=4))
def test_a_plan_is_sound_however_little_was_searched(question: Question, limits: Limits) -> None:
    preemptor, need, free, _ = question
    plan = preempt(*question, limits)
    if isinstance(plan, Refusal):
        assert not departures(question)
        return
    left = victims_of(question, plan)
    assert all(may_leave(preemptor, holding) for holding, _ in left)
    takes = dict(plan.takes)
    assert sum(takes.values()) == placed(need)
    assert takes in [{name: n for name, n in split.items() if n} for split in splits(need)]
    assert fits(question, takes, left)
    world = World(free)
    for name, n in takes.items():
        world.change(name, preemptor, -n)
    for each in plan.victims:
        world.change(each.cluster, held_by(question, each), each.replicas)
        if each.to is not None:
            world.change(each.to, held_by(question, each), -each.replicas)
    assert all(world.holds(e.to, held_by(question, e)) for e in plan.victims if e.to is not None)
    stopped = sum(each.replicas for each in plan.victims if each.to is None)
    assert plan.cost == Cost(by_priority(left), stopped, len({e.binding for e in plan.victims}))


def held_by(question: Question, victim: Victim) -> Binding:
    return next(h.binding for h in question[3] if h.binding.key == victim.binding)


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=50, deadline=None)
@given(question=questions(most=4))
def test_no_victim_can_be_dropped(question: Question, limits: Limits) -> None:
    plan = preempt(*question, limits)
    left = victims_of(question, plan) if isinstance(plan, Plan) else []
    for holding, n in left:
        rest = [each for each in left if each[0] is not holding] + [(holding, n - 1)]
        assert not any(fits(question, takes, rest) for takes in splits(question[1]))


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=30, deadline=None)
@given(question=questions(most=4))
def test_a_plan_is_not_called_better_than_it_is(question: Question, limits: Limits) -> None:
    plan, best = preempt(*question, limits), best_of_all(question)
    if isinstance(plan, Plan) and best is not None:
        assert plan.cost >= best.cost
        assert plan.proof is not Proof.BEST or plan == best
        assert plan.proof is Proof.GREEDY or plan.cost.by_priority == best.cost.by_priority


@settings(max_examples=100, deadline=None)
@given(questions(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(question: Question, chance: Random) -> None:
    preemptor, need, free, holdings = question
    shuffled = [
        Holding(
            h.binding, h.cluster, h.replicas, tuple(chance.sample(h.elsewhere, len(h.elsewhere)))
        )
        for h in chance.sample(holdings, len(holdings))
    ]
    clusters = dict(chance.sample(list(need.clusters.items()), len(need.clusters)))
    frees = dict(chance.sample(list(free.items()), len(free)))
    again = preempt(preemptor, replace(need, clusters=clusters), frees, shuffled)
    assert again == preempt(*question)


@settings(max_examples=60, deadline=None)
@given(questions())
def test_work_that_may_not_preempt_is_refused(question: Question) -> None:
    preemptor, need, free, holdings = question
    shy = replace(preemptor, intent=Intent(preemption=Preemption(may_preempt=False)))
    answer = preempt(shy, need, free, holdings)
    assert isinstance(answer, Refusal) if placed(need) else answer == Plan()
