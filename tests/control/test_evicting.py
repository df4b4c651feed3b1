"""Work leaves clusters that order it to, when its time is over, and never for nothing."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placing_world import (
    DIVIDED,
    DUPLICATED,
    EVEN,
    NOW,
    World,
    make_binding,
    make_cluster,
    make_fleet,
    updates,
)

from atoll.control.eviction.decide.plan import SeenEviction, plan
from atoll.control.eviction.decide.tasks import Replacement
from atoll.control.eviction.decide.tolerating import Order, order
from atoll.dialects.karmada.objects import resource_bindings
from atoll.dialects.wire import written_time
from atoll.model.action import NOTHING, Tell
from atoll.model.amount import Amount
from atoll.model.assumed import Assumed
from atoll.model.demand import Component, Demand
from atoll.model.taint import Effect, Taint, Toleration
from atoll.scheduling.features import USUAL
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import USUAL_SETTING, Setting
from atoll.scheduling.trigger import Trigger

NO_EXECUTE, NO_SCHEDULE = Effect.NO_EXECUTE, Effect.NO_SCHEDULE
A, B = Taint("a", NO_EXECUTE, added=100.0), Taint("b", NO_EXECUTE, added=1000.0)
FOR_EVER = Toleration(any_value=True)


def tolerating(key="", seconds=None, **more):
    return Toleration(key=key, any_value=True, seconds=seconds, **more)


@pytest.mark.parametrize(
    ("taints", "tolerations", "found"),
    [
        pytest.param([], [], None, id="no taint"),
        pytest.param([Taint("a", NO_SCHEDULE)], [], None, id="none that evicts"),
        pytest.param([A], [], Order(A, -inf), id="not tolerated"),
        pytest.param([A, B], [tolerating("a")], Order(B, -inf), id="one of two not tolerated"),
        pytest.param([A], [tolerating("a", effect=NO_SCHEDULE)], Order(A), id="another effect"),
        pytest.param([A], [Toleration("a", "x")], Order(A), id="another value"),
        pytest.param([A, B], [FOR_EVER], None, id="for ever"),
        pytest.param([A], [tolerating("a", 60)], Order(A, 160.0), id="for a while"),
        pytest.param([A], [tolerating("a", -60)], Order(A, 40.0), id="for less than no time"),
        pytest.param([A], [FOR_EVER, tolerating("a", 60)], None, id="the first that fits counts"),
        pytest.param(
            [A, B], [tolerating("a", 2000), tolerating("b", 60)], Order(B, 1060.0), id="least"
        ),
        pytest.param([B, A], [tolerating(seconds=60)], Order(A, 160.0), id="one for both"),
        pytest.param(
            [Taint("a", NO_EXECUTE)], [tolerating("a", 60)], None, id="since nobody knows when"
        ),
    ],
)
def test_what_is_not_tolerated_or_no_longer_is_an_order(taints, tolerations, found):
    assert order(taints, tuple(tolerations)) == found


READY = [{"type": "Ready", "status": "True"}]
GONE = {"key": "gone", "effect": "NoExecute"}
TIMEOUT = 600.0


class Stage(World):
    """A binding among clusters a, b and c, with a scheduler and evictions."""

    def __init__(self, replicas=2, *, only=("a", "b", "c"), cpu=100, **facts):
        placement = {"clusterAffinity": {"clusterNames": [*only]}, **facts.pop("placement", {})}
        super().__init__(make_binding(replicas, placement=placement, **facts))
        self.cpu = cpu
        self.taints = {"a": [], "b": [], "c": []}
        self.replacement = Replacement.NONE
        self.turns = {}
        self.setting = USUAL_SETTING
        self.furnish()

    def furnish(self):
        clusters = [make_cluster(name, self.cpu, taints=each) for name, each in self.taints.items()]
        for each in clusters:
            each["status"]["conditions"] = READY
        self.fleet = make_fleet(*clusters)

    def taint(self, name, *taints):
        added = {"timeAdded": written_time(self.now)}
        self.taints[name] = [{**each, **added} for each in taints]
        self.furnish()

    def evict(self):
        """Plan for what is to leave, and do it; a second look finds nothing more to write."""
        planned = self.planned()
        assert len(updates(planned)) <= 1
        self.perform(planned)
        assert not updates(self.planned())
        return planned

    def planned(self):
        seen = SeenEviction(
            binding=resource_bindings.decode(self.binding),
            fleet=self.fleet,
            setting=self.setting,
            replacement=self.replacement,
            turns=self.turns,
            timeout_s=TIMEOUT,
            surroundings=self.surroundings,
        )
        return plan(seen, self.now)

    @property
    def tasks(self):
        return self.binding["spec"].get("gracefulEvictionTasks", [])

    @property
    def leaving(self):
        return [each["fromCluster"] for each in self.tasks]

    def events(self, reason):
        return [each.message for each in self.told if each.reason == reason]


def placed(replicas=2, **facts):
    """A binding that was placed, and where."""
    stage = Stage(replicas, **facts)
    stage.settle()
    return stage, min(stage.targets)


def test_a_target_that_must_be_left_becomes_a_task_in_one_write_and_is_placed_elsewhere():
    stage, first = placed(3)
    stage.taint(first, {**GONE, "value": "long"})
    before = stage.writes
    assert len(updates(stage.evict())) == 1
    assert stage.writes == before + 1
    assert stage.tasks == [
        {
            "fromCluster": first,
            "purgeMode": "Gracefully",
            "replicas": 3,
            "reason": "TaintUntolerated",
            "message": "the taint gone=long:NoExecute is not tolerated",
            "producer": "TaintManager",
            "creationTimestamp": written_time(NOW),
        }
    ]
    assert "clusters" not in stage.binding["spec"]
    told = stage.events("EvictWorkloadFromClusterStarted")
    assert told == [
        f"Evict from cluster {first}: the taint gone=long:NoExecute is not tolerated."
    ] * len(("binding", "template"))
    assert stage.settle().trigger is Trigger.EVICTED
    assert sum(stage.targets.values()) == 3
    assert first not in stage.targets


def test_only_the_part_that_must_leave_is_moved():
    stage, first = placed(6, dividing=EVEN)
    before = stage.targets
    assert len(before) == 3
    stage.taint(first, GONE)
    stage.evict()
    assert stage.targets == {name: each for name, each in before.items() if name != first}
    stage.settle()
    assert sum(stage.targets.values()) == 6
    assert all(stage.targets[name] >= before[name] for name in stage.targets)


def test_what_is_tolerated_for_a_while_leaves_when_that_is_over_and_not_if_the_taint_goes_first():
    tolerations = [{"key": "gone", "operator": "Exists", "tolerationSeconds": 300}]
    stage, first = placed(placement={"clusterTolerations": tolerations})
    stage.taint(first, GONE)
    stage.now += 100
    planned = stage.evict()
    assert (planned.actions, planned.again_in) == ((), 200.0)
    left = stage.fleet
    stage.taint(first)
    stage.now += 1000
    assert stage.evict() == NOTHING
    stage.fleet = left
    stage.evict()
    assert stage.leaving == [first]
    until = written_time(NOW + 300)
    assert stage.tasks[0]["message"].endswith(f"is not tolerated any longer than until {until}")


def test_whoever_has_to_wait_for_a_turn_leaves_then():
    stage, first = placed()
    stage.taint(first, GONE)
    stage.turns = {first: NOW + 2.5}
    assert stage.evict().again_in == 2.5
    assert stage.targets
    stage.now += 2.5
    stage.evict()
    assert stage.leaving == [first]


@pytest.mark.parametrize(
    ("failover", "mode"),
    [
        pytest.param(None, "Gracefully", id="nothing said"),
        pytest.param({"cluster": {}}, "Gracefully", id="no mode"),
        pytest.param({"cluster": {"purgeMode": "Directly"}}, "Directly", id="at once"),
        pytest.param(
            {"application": {"purgeMode": "Directly"}}, "Gracefully", id="for another reason"
        ),
    ],
)
def test_the_policy_says_how_a_copy_goes(failover, mode):
    stage, first = placed(**({} if failover is None else {"failover": failover}))
    stage.taint(first, GONE)
    stage.evict()
    assert stage.tasks[0]["purgeMode"] == mode


def test_a_target_that_is_being_left_already_gets_no_second_task():
    stage, first = placed()
    mine = {"fromCluster": first, "producer": "someone", "creationTimestamp": written_time(NOW)}
    stage.edit(gracefulEvictionTasks=[mine])
    stage.taint(first, GONE)
    stage.evict()
    assert (stage.tasks, stage.targets) == ([mine], {})


def test_nothing_is_evicted_where_the_gate_is_closed():
    stage, first = placed()
    stage.taint(first, GONE)
    stage.setting = Setting(features=USUAL)
    assert stage.evict() == NOTHING


@pytest.mark.parametrize("part", ["going", "unreadable"])
def test_what_goes_or_cannot_be_read_is_left_alone(part):
    stage, first = placed()
    stage.taint(first, GONE)
    if part == "going":
        metadata = {**stage.binding["metadata"], "deletionTimestamp": written_time(NOW)}
        stage.binding = {**stage.binding, "metadata": metadata}
    else:
        stage.edit(placement={"clusterTolerations": "all"})
    assert stage.evict() == NOTHING


def evicted(replicas=3, **facts):
    """A binding that has just been placed elsewhere, and the cluster it is leaving."""
    stage, first = placed(replicas, **facts)
    stage.taint(first, GONE)
    stage.evict()
    stage.settle()
    return stage, first


def test_a_copy_is_kept_until_all_that_replaces_it_is_healthy():
    stage, first = evicted()
    planned = stage.evict()
    assert (planned.actions, planned.again_in) == ((), TIMEOUT)
    stage.replacement = Replacement.SENT
    stage.now += 10
    assert stage.evict().again_in == TIMEOUT - 10
    stage.replacement = Replacement.HEALTHY
    stage.evict()
    assert not stage.tasks
    told = stage.events("EvictWorkloadFromClusterSucceed")
    assert {*told} == {f"Evict from cluster {first} succeed."}


def test_health_from_before_the_last_decision_counts_for_nothing():
    stage, first = evicted(6, dividing=EVEN)
    stage.replacement = Replacement.HEALTHY
    stage.edit(replicas=9)
    assert not updates(stage.evict())
    assert stage.leaving == [first]
    stage.settle()
    stage.evict()
    assert not stage.tasks


def test_when_its_time_is_over_a_copy_goes_if_another_is_there_however_that_runs():
    stage, first = evicted()
    stage.now += TIMEOUT
    stage.evict()
    assert stage.leaving == [first]
    assert {*stage.events("EvictWorkloadFromClusterFailed")} == {
        f"Evict from cluster {first} failed: nothing took its place, so it stays."
    }
    stage.replacement = Replacement.SENT
    stage.evict()
    assert not stage.tasks


def test_where_nothing_fits_the_copy_stays_and_the_binding_says_so():
    stage, _ = placed(only=["b"])
    stage.taint("b", GONE)
    stage.evict()
    stage.settle()
    assert (stage.targets, stage.leaving) == ({}, ["b"])
    assert stage.condition == (
        "False",
        "NoClusterFit",
        "0/3 clusters are available: 1 cluster(s) had untolerated taint {gone:NoExecute},"
        " 2 cluster(s) did not match the placement cluster affinity constraint."
        " What is to leave b stays there until it has a place.",
    )
    stage.replacement = Replacement.HEALTHY  # of nothing: all of no targets are healthy
    stage.now += 10 * TIMEOUT
    stage.evict()
    assert stage.leaving == ["b"]
    # Another place is allowed: it is taken, and the copy goes when that one runs.
    stage.edit(placement={**stage.binding["spec"]["placement"], "clusterAffinity": {}})
    stage.settle()
    assert sum(stage.targets.values()) == 2
    stage.evict()
    assert not stage.tasks


def test_a_cluster_that_is_fit_again_before_anything_took_its_place_keeps_what_it_has():
    stage, _ = placed(only=["b"])
    before = stage.binding["spec"]["clusters"]
    stage.taint("b", GONE)
    stage.evict()
    stage.settle()
    stage.taint("b")
    stage.evict()
    assert (stage.binding["spec"]["clusters"], stage.tasks) == (before, [])
    assert {*stage.events("EvictWorkloadFromClusterCancelled")} == {
        "Cluster b keeps it: it is fit again, and nothing took its place."
    }
    stage.settle()
    assert stage.binding["spec"]["clusters"] == before
    assert stage.condition[0] == "True"


def test_what_its_users_want_elsewhere_by_now_does_not_return():
    stage, _ = placed(only=["b"])
    stage.taint("b", GONE)
    stage.evict()
    elsewhere = {"clusterAffinity": {"clusterNames": ["d"]}}
    stage.edit(placement={**stage.binding["spec"]["placement"], **elsewhere})
    stage.settle()
    stage.taint("b")
    stage.evict()
    assert (stage.targets, stage.leaving) == ({}, ["b"])


@pytest.mark.parametrize(
    ("on_its_way", "left"),
    [pytest.param(97, [], id="room for the rest"), pytest.param(98, ["b"], id="none for it")],
)
def test_what_grew_meanwhile_returns_only_where_others_have_left_room(on_its_way, left):
    stage, _ = placed(only=["b"])
    stage.taint("b", GONE)
    stage.evict()
    stage.edit(replicas=5)
    stage.settle()
    stage.taint("b")
    of_others = Component("", on_its_way, Demand(requests=(("cpu", Amount(1000)),)))
    stage.surroundings = Surroundings(assumed=(Assumed("b", (of_others,)),))
    stage.evict()
    assert stage.leaving == left


def test_what_has_moved_does_not_return():
    stage, first = evicted()
    moved = stage.targets
    stage.taint(first)
    stage.evict()
    stage.settle()
    assert (stage.targets, stage.leaving) == (moved, [first])
    stage.edit(replicas=5)  # not even while a place is looked for
    stage.evict()
    assert (stage.targets, stage.leaving) == (moved, [first])


TASKS_OF_OTHERS = {
    "suppressed": ({"suppressDeletion": True}, Replacement.HEALTHY, 10 * TIMEOUT, True),
    "confirmed": ({"suppressDeletion": False}, Replacement.NONE, 0.0, False),
    "with a grace of its own": ({"gracePeriodSeconds": 30}, Replacement.SENT, 30.0, False),
    "within that grace": ({"gracePeriodSeconds": 30}, Replacement.SENT, 29.0, True),
    "longer than usual": ({"gracePeriodSeconds": 3600}, Replacement.SENT, TIMEOUT, True),
    "purged and never replaced": ({"purgeMode": "Directly"}, Replacement.NONE, TIMEOUT, False),
    "purged, and not yet replaced": ({"purgeMode": "Immediately"}, Replacement.NONE, 9.0, True),
}


@pytest.mark.parametrize(
    ("task", "replacement", "after", "stays"), TASKS_OF_OTHERS.values(), ids=TASKS_OF_OTHERS
)
def test_tasks_of_others_are_stamped_and_end_as_they_say(task, replacement, after, stays):
    stage, _ = placed()
    stage.edit(gracefulEvictionTasks=[{"fromCluster": "c", "producer": "other", **task}])
    if "suppressDeletion" not in task:
        stage.evict()
        assert stage.tasks[0]["creationTimestamp"] == written_time(NOW)
    stage.settle()
    stage.replacement = replacement
    stage.now += after
    stage.evict()
    assert bool(stage.tasks) is stays


CLUSTERS = ("a", "b", "c")
STEP = st.one_of(
    st.tuples(st.just("taint"), st.sampled_from(CLUSTERS)),
    st.tuples(st.just("heal"), st.sampled_from(CLUSTERS)),
    st.tuples(st.just("schedule"), st.integers(0, 2)),
    st.tuples(st.just("evict"), st.integers(0, 1)),
    st.tuples(st.just("report"), st.sampled_from(list(Replacement))),
    st.tuples(st.just("wait"), st.sampled_from([1.0, TIMEOUT])),
    st.tuples(st.just("scale"), st.integers(1, 6)),
)


def advance(stage, step):
    kind, given = step
    match kind:
        case "taint":
            stage.taint(given, GONE)
        case "heal":
            stage.taint(given)
        case "schedule":
            stage.perform(stage.look().plan, given)
            stage.replacement = Replacement.NONE
        case "evict":
            stage.perform(stage.planned(), given)
        case "report":
            scheduled = stage.status.get("schedulerObservedGeneration")
            if scheduled == stage.binding["metadata"]["generation"] and stage.targets:
                stage.replacement = given
        case "wait":
            stage.now += given
        case "scale":
            stage.edit(replicas=given)
            stage.replacement = Replacement.NONE


@given(
    st.sampled_from([DIVIDED, EVEN, DUPLICATED]),
    st.sampled_from([("a", "b", "c"), ("a", "b"), ("a",)]),
    st.lists(STEP, max_size=25),
)
def test_a_copy_is_given_up_only_for_others_that_are_there(dividing, only, steps):
    stage, _ = placed(3, dividing=dividing, only=only)
    for step in steps:
        before, was = {*stage.targets, *stage.leaving}, stage.replacement
        runs = stage.tasks
        advance(stage, step)
        gone = before - {*stage.targets, *stage.leaving}
        if step[0] == "evict" and gone:
            assert was is not Replacement.NONE
            assert stage.targets
            assert gone <= {each["fromCluster"] for each in runs}
        elif step[0] != "schedule":
            assert not gone


@given(
    st.sampled_from([DIVIDED, EVEN, DUPLICATED]),
    st.lists(STEP, max_size=20),
    st.sets(st.sampled_from(CLUSTERS), max_size=2),
)
def test_whatever_happened_in_whatever_order_all_ends_where_it_may_stay(dividing, steps, tainted):
    stage, _ = placed(3, dividing=dividing)
    for step in steps:
        advance(stage, step)
    for name in CLUSTERS:
        stage.taint(name, *([GONE] if name in tainted else []))
    for _ in range(6):
        stage.evict()
        stage.settle()
        stage.replacement = Replacement.HEALTHY
    assert not stage.tasks
    assert stage.targets
    assert not tainted & stage.targets.keys()
    wanted = stage.binding["spec"]["replicas"]
    total = sum(stage.targets.values())
    assert total == (wanted * len(stage.targets) if dividing is DUPLICATED else wanted)
    assert not updates(stage.planned())
    assert not [each for each in stage.planned().actions if isinstance(each, Tell)]
