"""What is told of a decision by whoever writes the binding's status next."""

from typing import Any

import pytest
from placing_world import (
    DIVIDED,
    DUPLICATED,
    EVEN,
    World,
    make_binding,
    make_cluster,
    make_fleet,
)

from atoll.control.scheduler.decide.plan import report
from atoll.model.action import NOTHING

A, B = make_cluster("a"), make_cluster("b")
ELSEWHERE = {"clusterAffinity": {"clusterNames": ["b"]}}
SUCCESS = ("True", "Success", "Binding has been scheduled successfully.")


@pytest.mark.parametrize("dividing", [DIVIDED, EVEN, DUPLICATED])
def test_whoever_writes_the_status_next_may_tell_of_the_decision(dividing: Any) -> None:
    world = World(make_binding(2, dividing=dividing), A, B)
    world.perform(world.look().plan)
    told = report(world.seen, world.now)
    assert told == world.look().plan
    world.perform(told)
    assert world.condition == SUCCESS
    assert report(world.seen, world.now) == NOTHING
    assert world.look().plan.actions == ()


@pytest.mark.parametrize("dividing", [DIVIDED, EVEN, DUPLICATED])
@pytest.mark.parametrize("edit", [{"replicas": 5}, {"placement": ELSEWHERE}])
def test_nothing_is_told_of_a_decision_that_is_out_of_date(dividing: Any, edit: Any) -> None:
    world = World(make_binding(2, dividing=dividing), A, B)
    world.perform(world.look().plan)
    world.edit(**edit)
    assert report(world.seen, world.now) == NOTHING


@pytest.mark.parametrize("dividing", [DIVIDED, EVEN, DUPLICATED])
def test_whoever_writes_the_status_next_may_tell_of_a_move(dividing: Any) -> None:
    world = World(make_binding(2, dividing=dividing), A, B)
    world.settle()
    world.now += 10
    world.edit(placement={**(world.binding["spec"]["placement"]), **ELSEWHERE})
    world.perform(world.look().plan)
    assert world.targets == {"b": 2}
    world.perform(report(world.seen, world.now))
    assert world.condition == SUCCESS
    assert world.look().plan.actions == ()


def test_a_move_is_not_told_of_when_the_scheduler_has_refused_since() -> None:
    world = World(make_binding(2, dividing=DUPLICATED), A, B)
    world.settle()
    world.now += 10
    world.edit(placement={**(world.binding["spec"]["placement"]), **ELSEWHERE})
    world.perform(world.look().plan)
    world.fleet = make_fleet(A, make_cluster("b", deleting=True))
    world.settle()
    assert world.condition[0] == "False"
    assert report(world.seen, world.now) == NOTHING


def test_nobody_contradicts_the_scheduler_when_it_has_refused_duplicated_work() -> None:
    world = World(make_binding(2, dividing=DUPLICATED, placement=ELSEWHERE), B)
    world.settle()
    world.fleet = make_fleet(make_cluster("b", deleting=True))
    world.edit(gracefulEvictionTasks=[])  # others write on the binding while its cluster leaves
    world.settle()
    assert world.condition[0] == "False"
    assert report(world.seen, world.now) == NOTHING
