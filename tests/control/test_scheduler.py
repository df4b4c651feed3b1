"""The scheduler as a value: what it is told, and what it wants done about that."""

from dataclasses import replace
from typing import Any

import pytest
from placing_world import make_binding
from scheduling_world import NO_NODES, Plane, kinds, ref

from atoll.control.levels import Level
from atoll.control.scheduler.decide import events
from atoll.control.scheduler.decide.events import Why
from atoll.control.scheduler.decide.inquiring import Answer
from atoll.control.scheduler.decide.ledger import SETTLE
from atoll.control.scheduler.decide.scheduler import ON_WRITE_WITHIN_S, PREEMPTION_BACK_OFF
from atoll.dialects import json
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.dialects.karmada.standing import MARK
from atoll.model.action import Update
from atoll.model.assumed import Sums
from atoll.model.price import Price
from atoll.scheduling.features import PLANE_USUAL
from atoll.scheduling.setting import Setting

WEB = ref("web")
PRIORITIES = Setting(replace(PLANE_USUAL, PriorityBasedScheduling=True))
TOGETHER = Setting(replace(PLANE_USUAL, WorkloadAffinity=True))
TAKES = {"preemption": {"mayPreempt": True}}
ELSEWHERE = {"clusterAffinity": {"clusterNames": ["b"]}}
CHEAPEST = {"select": {"order": "Cheapest"}}
REVIEWED = events.GiveTurn(WEB, Why.REVIEW, Level.REPORT)
MATTERS = events.GiveTurn(WEB, Why.CLUSTER_CHANGED, Level.SUM)


def plane(*names: str, cpu: int = 100, **more: Any) -> Plane:
    """A plane with clusters, and nothing to place yet."""
    it = Plane(**more)
    for name in names or ("a",):
        it.cluster(name, cpu)
    return it


def placed(*names: str, **facts: Any) -> Plane:
    """A plane on which one binding is placed, and everybody knows."""
    it = plane(*names)
    it.create("web", **facts)
    it.settle()
    assert it.says("web") == ("True", "Success")
    return it


def test_a_decision_is_written_then_reported_and_then_there_is_nothing_to_do() -> None:
    it = plane()
    assert kinds(it.create("web")) == ["Queued", "QueueChanged"]
    assert it.scheduler.wake_at(it.now) <= it.now
    assert kinds(it.turn()) == ["Decided", "Write"]
    assert it.assumed() == {"a": 2}
    found = it.finish(WEB)
    assert kinds(found) == ["Scheduled", "GiveTurn"]
    assert it.targets("web") == {"a": 2}
    assert found[1] == events.GiveTurn(WEB, Why.REPORT, Level.REPORT, 1.0)
    it.settle()
    assert it.says("web") == ("True", "Success")
    assert [key for key, _ in it.reported] == [WEB]
    assert len(it.scheduled) == 1
    assert it.scheduler.wake_at(it.now) > it.now


CHANGES = [
    pytest.param({"replicas": 3}, ["Queued", "QueueChanged"], id="something to decide"),
    pytest.param({"clusters": [{"name": "a", "replicas": 1}]}, [REVIEWED], id="targets moved"),
]


@pytest.mark.parametrize(("spec", "wanted"), CHANGES)
def test_what_others_change_has_its_turn(spec: dict[str, Any], wanted: list[Any]) -> None:
    found = placed().edit("web", **spec)
    assert found == wanted or kinds(found) == wanted


def test_a_status_is_nothing_to_decide() -> None:
    assert placed().healthy("web", "a") == []


@pytest.mark.parametrize(
    ("before", "after", "facts", "wanted"),
    [
        pytest.param({}, {"labels": {"x": "y"}}, {}, [MATTERS], id="labels"),
        pytest.param({"cpu": 4}, {"cpu": 5}, {}, [], id="room that nobody waits for"),
        pytest.param({}, {"labels": {"x": "y"}}, {"placement": ELSEWHERE}, [], id="another one"),
    ],
)
def test_whom_a_cluster_gives_a_turn(
    before: dict[str, Any], after: dict[str, Any], facts: dict[str, Any], wanted: list[Any]
) -> None:
    it = placed("a", "b", **facts)
    it.cluster("a", **before)
    it.settle()
    found = it.cluster("a", **after)
    assert [each for each in found if isinstance(each, events.GiveTurn)] == wanted


def test_a_price_matters_to_those_who_choose_by_it() -> None:
    it = placed("a", "b", atoll=CHEAPEST)
    found = it.tell(events.PricesChanged({"b": Price(cpu=1), "gone": None}))
    assert MATTERS in found
    assert it.scheduler.fleet.clusters[it.scheduler.fleet.rows["b"]].price == Price(cpu=1)
    plain = placed("a", "b")
    assert MATTERS not in plain.tell(events.PricesChanged({"b": Price(cpu=1)}))


def test_what_finds_no_room_is_looked_at_again_once_there_is_some() -> None:
    it = plane("a", cpu=1)
    it.create("web")
    it.settle()
    assert it.says("web") == ("False", "Unschedulable")
    it.cluster("a", 2)
    it.settle()
    assert it.targets("web") == {"a": 2}


def test_what_fits_nowhere_waits_for_another_cluster_and_not_for_time() -> None:
    it = plane("a")
    it.create("web", placement=ELSEWHERE)
    it.settle(600.0)
    assert it.says("web") == ("False", "NoClusterFit")
    assert len(it.scheduled) == 1
    it.cluster("b")
    it.settle()
    assert it.targets("web") == {"b": 2}


def test_of_equal_work_that_differs_in_priority_the_highest_is_first() -> None:
    it = plane("a", setting=PRIORITIES)
    it.create("low", schedulePriority={"priority": 1})
    it.create("high", schedulePriority={"priority": 2})
    it.turn()
    assert [*it.writes] == [ref("high")]


def test_room_that_was_given_away_counts_before_it_is_written() -> None:
    it = plane("a", cpu=3)
    it.create("web")
    it.create("late")
    it.turn()
    it.turn()
    assert it.assumed() == {"a": 2}
    it.settle()
    assert (it.targets("web"), it.targets("late")) == ({"a": 2}, {})


def test_a_refused_write_gives_its_room_back_and_comes_again() -> None:
    it = plane("a", cpu=3)
    it.create("web")
    it.turn()
    found = it.finish(WEB, stores=False)
    assert it.assumed() == {}
    assert kinds(found) == ["Scheduled", "QueueChanged"]
    (scheduled, _) = found
    assert isinstance(scheduled, events.Scheduled)
    assert not scheduled.written
    assert it.scheduler.wake_at(it.now) == it.now + 1.0
    it.create("late")
    it.settle()
    assert (it.targets("web"), it.targets("late")) == ({}, {"a": 2})


def test_a_refused_write_gives_back_what_it_took_and_no_more() -> None:
    it = placed("a", "b")
    it.edit("web", replicas=5)
    it.turn()
    assert sum(it.assumed().values()) == 5
    it.finish(WEB, stores=False)
    assert it.assumed() == {"a": 2}


def test_what_is_refused_for_a_binding_that_went_holds_nothing() -> None:
    it = plane()
    it.create("web")
    it.turn()
    assert kinds(it.delete("web")) == ["Forget"]
    assert it.assumed() == {}
    it.finish(WEB)
    assert it.assumed() == {}
    assert it.scheduler.wake_at(it.now) > it.now
    known = placed()
    known.edit("web", replicas=5)
    known.turn()
    known.delete("web")
    known.finish(WEB)
    assert known.assumed() == {}


def test_what_gets_well_while_its_write_is_refused_is_known_to_be_well() -> None:
    it = plane()
    it.create("web")
    it.turn()
    it.finish(WEB)
    it.edit("web", replicas=3)
    it.turn()
    it.healthy("web", "a")
    it.finish(WEB)
    assert it.targets("web") == {"a": 2}
    assert it.assumed() == {"a": 2}
    it.cluster("a", 98)
    assert it.assumed() == {}


def test_a_write_of_which_nobody_knows_is_looked_at_again_and_done_once() -> None:
    it = plane()
    it.create("web")
    it.turn()
    it.finish(WEB, hears=False)
    assert it.targets("web") == {"a": 2}
    assert it.assumed() == {"a": 2}
    it.settle()
    assert it.says("web") == ("True", "Success")
    assert len(it.reported) == 1
    assert len(it.scheduled) == 1


def test_a_write_that_comes_late_is_known_for_our_own() -> None:
    it = plane()
    it.create("web")
    it.turn()
    write = it.writes[WEB]
    it.finish(WEB, stores=False, hears=False)
    assert it.assumed() == {"a": 2}
    (update,) = write.actions
    assert isinstance(update, Update)
    assert kinds(it.store(update.object)) == ["Scheduled", "GiveTurn", "GiveTurn"]
    assert it.assumed() == {"a": 2}


def test_a_write_that_never_comes_gives_its_room_back_in_time() -> None:
    it = plane(cpu=3)
    it.create("web")
    it.turn()
    it.finish(WEB, stores=False, hears=False)
    it.edit("web", placement=ELSEWHERE)
    it.settle()
    assert it.targets("web") == {}
    assert it.assumed() == {}


def test_a_binding_is_scheduled_with_the_write_that_asks_for_it() -> None:
    it = plane("a", "b")
    wire = it.schedule_on_write("web", 3)
    assert wire is not None
    assert it.assumed() == {"a": 3}
    assert it.scheduled == []
    found = it.store(wire)
    assert kinds(found) == ["Scheduled", "GiveTurn", "Queued"]
    assert it.scheduler.wake_at(it.now) > it.now
    it.settle()
    assert it.says("web") == ("True", "Success")
    again = it.schedule_on_write("web", 5)
    assert again is not None
    assert it.assumed() == {"a": 5}


def test_a_cluster_that_changes_during_the_write_is_thought_of_once_that_is_heard_of() -> None:
    it = plane("a")
    wire = it.schedule_on_write("web", 3, dividing={"replicaSchedulingType": "Duplicated"})
    it.cluster("b")
    assert wire is not None
    it.store(wire)
    it.settle()
    assert it.targets("web") == {"a": 3, "b": 3}


def test_whoever_writes_it_otherwise_is_no_confirmation() -> None:
    it = plane("a", "b")
    assert it.schedule_on_write("web", 3) is not None
    assert kinds(it.create("web", 3)) == ["Queued", "QueueChanged"]
    assert it.scheduled == []


@pytest.mark.parametrize("facts", [{"workloadAffinityGroups": {"affinityGroup": "g"}}, {}])
def test_who_has_to_wait_for_others_is_not_scheduled_with_the_write(facts: dict[str, Any]) -> None:
    it = plane(setting=PRIORITIES, asks_estimators=not facts)
    assert it.schedule_on_write("web", **facts) is None
    it = plane(setting=PRIORITIES)
    it.create("first")
    assert it.schedule_on_write("web") is None
    assert it.assumed() == {}


def test_what_waits_already_or_is_being_written_has_its_own_turn() -> None:
    it = plane()
    it.create("web")
    assert it.schedule_on_write("web", 3) is None
    it.turn()
    assert it.schedule_on_write("web", 3) is None
    assert it.assumed() == {"a": 2}


def test_a_write_that_was_refused_to_others_gives_room_back_at_the_next_try() -> None:
    it = plane(cpu=5)
    assert it.schedule_on_write("web", 4) is not None
    wire = it.schedule_on_write("web", 5)
    assert wire is not None
    assert wire["spec"]["clusters"] == [{"name": "a", "replicas": 5}]
    assert it.assumed() == {"a": 5}


def test_a_write_that_others_never_made_gives_its_room_back_in_time() -> None:
    it = plane()
    assert it.schedule_on_write("web", 4) is not None
    it.pass_time(ON_WRITE_WITHIN_S - 1)
    assert it.assumed() == {"a": 4}
    it.pass_time(1)
    assert it.assumed() == {}


def test_of_two_writes_of_one_binding_only_the_one_that_is_made_holds_room() -> None:
    it = placed("a")
    assert it.schedule_on_write("web", 6) is not None
    assert it.assumed() == {"a": 6}
    it.edit("web", replicas=3)
    it.turn()
    it.finish(WEB, stores=False)
    assert it.assumed() == {"a": 6}
    it.settle()
    assert it.targets("web") == {"a": 3}
    assert it.assumed() == {"a": 3}


def test_a_decision_that_others_reported_is_not_reported_again() -> None:
    it = plane()
    it.create("web")
    it.turn()
    it.finish(WEB)
    known = it.stored[WEB].wire
    mine = placed().stored[WEB].wire["status"]
    reported = {**known, "status": {**mine, "lastScheduledTime": marked_at(known)}}
    it.store(reported, subresource="status")
    it.settle()
    assert it.reported == []


def marked_at(wire: Any) -> str:
    return str(json.read(wire["metadata"]["annotations"][MARK])["at"])


def test_a_report_that_is_refused_is_made_again_at_once() -> None:
    it = plane()
    it.create("web")
    it.turn()
    it.finish(WEB)
    it.pass_time(1.0)
    it.turn_later(it.later[0])
    assert kinds(it.finish(WEB, stores=False)) == ["QueueChanged"]
    assert it.scheduler.wake_at(it.now) <= it.now
    it.settle()
    assert it.says("web") == ("True", "Success")


def test_what_is_decided_meanwhile_is_not_reported_as_it_was() -> None:
    it = plane("a", "b")
    it.create("web")
    it.turn()
    it.finish(WEB)
    it.edit("web", placement=ELSEWHERE)
    it.settle()
    assert it.targets("web") == {"b": 2}
    assert it.says("web") == ("True", "Success")
    assert len(it.reported) == 1


def test_after_a_restart_room_that_was_just_given_away_is_known_again() -> None:
    before = placed("a")
    after = plane("a")
    after.now = before.now
    after.tell(events.BindingChanged(None, before.stored[WEB]))
    assert after.assumed() == {"a": 2}
    late = plane("a")
    late.now = before.now + 301
    late.tell(events.BindingChanged(None, before.stored[WEB]))
    assert late.assumed() == {}


def test_a_report_of_the_cluster_lets_go_of_what_it_counts() -> None:
    it = placed("a")
    it.pass_time(SETTLE)
    assert it.assumed() == {"a": 2}
    it.cluster("a", 98)
    assert it.assumed() == {}


def test_estimators_are_asked_first_and_the_binding_comes_again() -> None:
    it = plane("a", "b", asks_estimators=True)
    it.create("web", 4)
    _, ask = it.turn()
    assert isinstance(ask, events.Ask)
    assert ask.inquiry.clusters == ("a", "b")
    assert it.scheduler.wake_at(it.now) > it.now
    assert it.writes == {}
    it.answer(ask, {"a": Answer(1, Sums(), it.now), "b": Answer(3, Sums(), it.now)})
    it.turn()
    it.finish(WEB)
    assert it.targets("web") == {"a": 1, "b": 3}
    # Others who ask the same of the same have their answer for a moment.
    it.create("again", 1)
    assert "Ask" not in kinds(it.turn())
    it.pass_time(3.0)
    it.create("late", 1)
    assert "Ask" in kinds(it.turn())


def test_estimators_that_say_nothing_have_no_say() -> None:
    it = plane("a", asks_estimators=True)
    it.create("web")
    it.turn()
    it.answer(it.asks.pop(0), {})
    it.settle()
    assert it.targets("web") == {"a": 2}


def test_who_gives_way_is_searched_for_a_tenth_of_the_time_at_most() -> None:
    it = plane("a", cpu=2, setting=PRIORITIES)
    it.create("low", 2, schedulePriority={"priority": 1})
    it.settle()
    it.cluster("a", 0)
    for name in ("first", "second"):
        it.create(name, 1, schedulePriority={"priority": 5}, atoll=TAKES)
    assert "Searched" in kinds(it.turn())
    it.tell(events.SearchTook(0.2))
    found = it.turn()
    assert "Searched" not in kinds(found)
    (put_off,) = [each for each in found if isinstance(each, events.GiveTurn)]
    assert put_off.after_s == pytest.approx(PREEMPTION_BACK_OFF * 0.2)
    it.pass_time(put_off.after_s)
    it.turn_later(it.later[-1])
    it.finish(ref("second"))
    assert it.scheduler.wake_at(it.now) <= it.now


def test_a_turn_that_fails_is_told_and_comes_again() -> None:
    it = plane(setting=TOGETHER)
    it.create("web", workloadAffinityGroups={"affinityGroup": 7})
    (failed,) = it.scheduler.handle(events.Turn(NO_NODES), it.now)
    assert isinstance(failed, events.Failed)
    assert failed.key == WEB
    assert it.scheduler.wake_at(it.now) == it.now + 1.0


def test_neighbours_are_seen_as_they_are_being_written() -> None:
    it = plane("a", "b", setting=TOGETHER)
    near = {"workloadAffinityGroups": {"affinityGroup": "g"}}
    it.create("web", 1, **near)
    it.turn()
    binding = decode(make_binding(1, name="other", **near))
    (neighbour,) = it.scheduler.surroundings(binding, NO_NODES).neighbours
    assert neighbour.targets == {"a"}
    it.delete("web")
    assert it.scheduler.surroundings(binding, NO_NODES).neighbours == ()


def test_its_neighbours_are_those_of_its_groups_and_no_others() -> None:
    it = plane(setting=TOGETHER)
    for name, groups in {
        "with": {"affinityGroup": "g"},
        "apart": {"antiAffinityGroup": "h"},
        "both": {"affinityGroup": "g", "antiAffinityGroup": "h"},
        "other": {"affinityGroup": "x", "antiAffinityGroup": "y"},
        "gone": {"affinityGroup": "g"},
        "alone": None,
    }.items():
        it.create(name, 1, workloadAffinityGroups=groups)
    it.delete("gone")
    wanted = {"affinityGroup": "g", "antiAffinityGroup": "h"}
    binding = decode(make_binding(1, name="web", workloadAffinityGroups=wanted))
    found = it.scheduler.surroundings(binding, NO_NODES).neighbours
    assert [each.name for each in found] == [
        f"{name}-deployment" for name in ("with", "both", "apart")
    ]


def test_whoever_asks_anew_is_not_held_up_by_what_it_was_given_itself() -> None:
    it = placed("a")
    (around,) = it.scheduler.surroundings(it.stored[WEB], NO_NODES).assumed
    (anew,) = it.scheduler.surroundings_anew(it.stored[WEB], NO_NODES).assumed
    assert sum(each.replicas for each in around.components) == 2
    assert sum(each.replicas for each in anew.components) == 0


def test_a_binding_that_cannot_be_read_says_so_and_holds_nobody_up() -> None:
    it = plane("a")
    it.create("web", workloadAffinityGroups={"affinityGroup": 7})
    assert kinds(it.turn()) == ["Write"]
    it.settle()
    assert it.says("web") == ("False", "SchedulerError")
