"""Who gives way to whom: what is decided, what is written, and the laws of being interrupted."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placing_world import DIVIDED, DUPLICATED, NOW, WEIGHTED, make_binding, make_cluster, make_fleet

from atoll.control.explanations.decide.telling import note
from atoll.control.preemption import decide as giving_way
from atoll.control.scheduler.decide.ledger import ASSUMED_MOST, Ledger
from atoll.control.scheduler.decide.plan import Placing, SeenBinding, plan
from atoll.control.scheduler.decide.preempting.making_room import Others
from atoll.control.scheduler.decide.preempting.room import less, more, needed, reported
from atoll.dialects import json
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.dialects.karmada.preemption_notes import (
    GAVE_WAY,
    GIVEN_AWAY,
    PREEMPTS,
    Part,
    given_away,
    noted,
    parts,
    written,
)
from atoll.model.action import NOTHING, Plan, Ref, Tell, Update
from atoll.model.amount import Amount
from atoll.model.assumed import Assumed
from atoll.model.cluster import Free
from atoll.model.demand import Component, Demand
from atoll.scheduling.decision import Decision
from atoll.scheduling.features import PLANE_USUAL
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting
from atoll.scheduling.trigger import Trigger
from atoll.wire import Object

GATED = Setting(features=replace(PLANE_USUAL, PriorityBasedScheduling=True))
TAKES = {"preemption": {"mayPreempt": True}}
FULL = make_cluster("a", 0)


def work(name: str, priority: int, replicas: int, runs: Any = None, **facts: Any) -> dict[str, Any]:
    """A binding of this priority that runs so many replicas in each of these clusters."""
    facts |= {"schedulePriority": {"priority": priority}}
    if runs:
        facts["clusters"] = [{"name": each, "replicas": n} for each, n in runs.items()]
    return make_binding(replicas, name=name, **facts)


class Plane:
    """Bindings in a store, clusters that do not change, and the two loops that matter here."""

    def __init__(self, *bindings: dict[str, Any], clusters: Any = (FULL,), **facts: Any) -> None:
        self.bindings: dict[str, Object] = {each["metadata"]["uid"]: each for each in bindings}
        self.fleet = make_fleet(*clusters)
        self.setting: Setting = facts.pop("setting", GATED)
        self.assumed: tuple[Assumed, ...] = facts.pop("assumed", ())
        self.in_doubt: frozenset[str] = facts.pop("in_doubt", frozenset())
        self.told: list[Tell] = []

    def look(self, name: str) -> Placing:
        """The scheduler's turn."""
        wire = self[name]
        around = Surroundings(assumed=self.assumed, estimates=given_away(wire))
        seen = SeenBinding(
            binding=decode(wire), fleet=self.fleet, setting=self.setting, surroundings=around
        )
        placed = plan(seen, NOW)
        if not placed.wants_preemption:
            return placed
        others = Others(tuple(map(decode, self.bindings.values())), self.in_doubt)
        return plan(replace(seen, others=others), NOW)

    def give(self, name: str) -> Plan:
        """The turn of the loop of those who give way."""
        wire = self[name]
        named = [*parts(wire, PREEMPTS), *parts(wire, GAVE_WAY)]
        there = [each.uid for each in named if each.uid in self.bindings]
        others = {uid: decode(self.bindings[uid]) for uid in there}
        return giving_way.plan(giving_way.SeenParties(binding=decode(wire), others=others))

    def perform(self, todo: Plan, most: int | None = None) -> None:
        """Carry out the beginning of a plan."""
        for action in todo.actions[:most]:
            if isinstance(action, Update):
                self._write(action)
            elif isinstance(action, Tell):
                self.told.append(action)

    def settle(self) -> None:
        """Let every loop look at everything until nothing is left to do."""
        for _ in range(20):
            quiet = True
            for name in [each["spec"]["resource"]["name"] for each in self.bindings.values()]:
                self.perform(placed := self.look(name).plan)
                self.perform(given := self.give(name))
                quiet = quiet and not placed.actions and not given.actions
            if quiet:
                return
        raise AssertionError("never settles")

    def targets(self, name: str) -> dict[str, int]:
        clusters = self[name]["spec"].get("clusters", [])
        return {each["name"]: each["replicas"] for each in clusters}

    def healthy(self, name: str, *clusters: str) -> None:
        told = [{"clusterName": each, "health": "Healthy"} for each in clusters]
        status = {**self[name].get("status", {}), "aggregatedStatus": told}
        self._write(Update({**self[name], "status": status}, subresource="status"))

    def __getitem__(self, name: str) -> Object:
        return self.bindings[f"uid-{name}"]

    def _write(self, update: Update) -> None:
        new = update.object
        before = self.bindings[new["metadata"]["uid"]]
        version = before["metadata"]["resourceVersion"]
        assert new["metadata"]["resourceVersion"] == version, "refused"
        kept = before if update.subresource else new
        metadata = {**kept["metadata"], "resourceVersion": str(int(version) + 1)}
        told = new if update.subresource else before
        self.bindings[metadata["uid"]] = {
            **kept,
            "metadata": metadata,
            "status": told.get("status", {}),
        }


def gives(placing: Placing) -> dict[tuple[str, str], int]:
    return {(each.other.name, each.cluster): each.replicas for each in placing.gives}


def test_the_lowest_give_way_and_it_is_noted_in_the_write_that_takes_the_room() -> None:
    low, middle = work("low", 1, 2, {"a": 2}), work("middle", 5, 8, {"a": 8})
    it = Plane(low, middle, work("high", 9, 3, atoll=TAKES))
    placing = it.look("high")
    assert gives(placing) == {("low-deployment", "a"): 2, ("middle-deployment", "a"): 1}
    (update,) = placing.plan.actions
    assert isinstance(update, Update)
    assert update.object["spec"]["clusters"] == [{"name": "a", "replicas": 3}]
    assert parts(update.object, PREEMPTS) == placing.gives
    it.settle()
    assert it.targets("high") == {"a": 3}
    assert it.targets("low") == {}
    assert it.targets("middle") == {"a": 7}


def test_who_runs_a_part_already_takes_only_what_is_missing() -> None:
    it = Plane(work("low", 1, 5, {"a": 5}), work("high", 9, 4, {"a": 3}, atoll=TAKES))
    it.settle()
    assert (it.targets("high"), it.targets("low")) == ({"a": 4}, {"a": 4})


def test_room_that_is_free_is_taken_first() -> None:
    clusters = (make_cluster("a", 2), make_cluster("b", 0))
    low = work("low", 1, 5, {"b": 5})
    it = Plane(low, work("high", 9, 3, atoll=TAKES), clusters=clusters)
    placing = it.look("high")
    assert gives(placing) == {("low-deployment", "b"): 1}
    assert dict(decided(placing).targets) == {"a": 2, "b": 1}


def test_what_the_policy_says_of_clusters_holds_also_where_others_give_way() -> None:
    clusters = (make_cluster("a", 0), make_cluster("b", 0))
    atoll = TAKES | {"divide": {"order": "Best"}, "replicasPerCluster": [{"max": 1}]}
    low = work("low", 1, 8, {"a": 4, "b": 4})
    it = Plane(low, work("high", 9, 2, atoll=atoll), clusters=clusters)
    it.settle()
    assert (it.targets("high"), it.targets("low")) == ({"a": 1, "b": 1}, {"a": 3, "b": 3})


@pytest.mark.parametrize(
    ("priority", "facts"),
    [
        pytest.param(1, {"atoll": {"preemption": {"mayBePreempted": False}}}, id="refuses"),
        pytest.param(9, {}, id="has an equal priority"),
        pytest.param(10, {}, id="has a higher priority"),
        pytest.param(1, {"dividing": WEIGHTED}, id="is divided by weights"),
        pytest.param(1, {"dividing": DUPLICATED}, id="runs everywhere"),
        pytest.param(1, {"atoll": {"replicasPerCluster": [{"min": 1}]}}, id="needs some there"),
        pytest.param(1, {"suspension": {"scheduling": True}}, id="is not to be placed"),
        pytest.param(1, {"schedulerName": "other"}, id="is placed by others"),
        pytest.param(1, {"replicaRequirements": {"nodeClaim": 1}}, id="cannot be read"),
    ],
)
def test_nobody_gives_way_who(priority: int, facts: dict[str, Any]) -> None:
    it = Plane(work("other", priority, 5, {"a": 5}, **facts), work("high", 9, 1, atoll=TAKES))
    placing = it.look("high")
    assert placing.decision is not None
    assert not placing.gives
    assert "Nobody gives way: 0 of 1 missing replicas can be made" in placing.decision.message
    it.perform(placing.plan)
    assert it.targets("high") == {}


@pytest.mark.parametrize(
    ("atoll", "setting"),
    [
        pytest.param({}, GATED, id="nobody asked"),
        pytest.param({"preemption": {"mayBePreempted": True}}, GATED, id="only the other way"),
        pytest.param(TAKES, Setting(features=PLANE_USUAL), id="priorities do not count"),
    ],
)
def test_nobody_is_even_looked_at_where(atoll: dict[str, Any], setting: Setting) -> None:
    it = Plane(work("low", 1, 5, {"a": 5}), work("high", 9, 1, atoll=atoll), setting=setting)
    seen = SeenBinding(binding=decode(it["high"]), fleet=it.fleet, setting=setting)
    assert not plan(seen, NOW).wants_preemption


def test_what_gives_way_to_one_is_not_given_to_another() -> None:
    rival = work("rival", 9, 3, atoll=TAKES)
    it = Plane(work("low", 1, 5, {"a": 5}), rival, work("high", 9, 3, atoll=TAKES))
    it.perform(it.look("rival").plan)
    placing = it.look("high")
    assert placing.decision is not None
    assert "Nobody gives way: 2 of 3" in placing.decision.message


def test_more_is_taken_only_after_all_have_given_what_they_are_to_give() -> None:
    it = Plane(work("low", 1, 9, {"a": 9}), work("high", 9, 3, atoll=TAKES))
    it.perform(it.look("high").plan)
    grown = {**it["high"], "spec": {**it["high"]["spec"], "replicas": 5}}
    it.perform(Plan((Update(grown),)))
    assert not it.look("high").gives
    it.settle()
    assert (it.targets("high"), it.targets("low")) == ({"a": 5}, {"a": 4})
    (given,) = parts(it["low"], GAVE_WAY)
    assert given.replicas == 5


def test_nobody_gives_way_where_the_other_does_not_go_any_more() -> None:
    it = Plane(work("low", 1, 9, {"a": 9}), work("high", 9, 3, atoll=TAKES))
    it.perform(it.look("high").plan)
    spec = {**it["high"]["spec"], "clusters": [{"name": "b", "replicas": 3}]}
    it.perform(Plan((Update({**it["high"], "spec": spec}),)))
    it.perform(it.give("high"))
    assert it.targets("low") == {"a": 9}
    assert parts(it["high"], PREEMPTS) == ()


def test_nobody_gives_way_for_work_that_may_be_counted_twice() -> None:
    taken = Assumed("a", (Component("", 4, Demand((("cpu", Amount(1000)),))),))
    low, high = work("low", 1, 4, {"a": 4}), work("high", 9, 3, atoll=TAKES)
    clusters = (make_cluster("a", 4),)
    sure = Plane(low, high, clusters=clusters, assumed=(taken,))
    assert gives(sure.look("high")) == {("low-deployment", "a"): 3}
    doubt = Plane(low, high, clusters=clusters, assumed=(taken,), in_doubt=frozenset("a"))
    decision = doubt.look("high").decision
    assert decision is not None
    assert decision.message.endswith("clusters have yet to report whether there is room.")


def test_a_report_puts_in_doubt_what_was_assumed_before_it() -> None:
    it = Plane(work("low", 1, 4), clusters=(make_cluster("a", 9), make_cluster("b", 9)))
    ledger: Ledger[str] = Ledger()
    ledger.reported("a", NOW - 5)
    ledger.assume("low", decided(it.look("low")), frozenset(), NOW)
    assert not ledger.doubtful()
    assert not ledger.reported("a", NOW + 5)
    assert ledger.doubtful() == {"a"}
    assert ledger
    assert not ledger.expire(NOW + 10)
    assert ledger.expire(NOW + ASSUMED_MOST + 1), "who waits for room is told"
    assert not ledger
    assert not ledger.doubtful()
    ran = decided(Plane(work("ran", 1, 4, {"b": 4})).look("ran")).binding
    ledger.recover("ran", ran, frozenset(), NOW)
    assert ledger.doubtful() == {"b"}, "after a restart nobody knows what reports count"


def decided(placing: Placing) -> Decision:
    assert placing.decision is not None
    return placing.decision


def test_who_gave_way_takes_nothing_there_until_the_other_runs() -> None:
    it = Plane(work("low", 1, 4, {"a": 4}), work("high", 9, 3, atoll=TAKES))
    it.settle()
    assert given_away(it["low"]) == {GIVEN_AWAY: {"a": 0}}
    it.fleet = make_fleet(make_cluster("a", 100))
    it.settle()
    assert it.targets("low") == {"a": 1}
    it.healthy("high", "a")
    it.settle()
    assert it.targets("low") == {"a": 4}
    assert not given_away(it["low"])


def taker(**facts: Any) -> dict[str, Any]:
    return work("high", 9, 3, facts.pop("runs", {"a": 3}), **facts)


def after(victim: dict[str, Any], other: Object | None) -> Plan:
    others = {} if other is None else {other["metadata"]["uid"]: decode(other)}
    return giving_way.plan(giving_way.SeenParties(binding=decode(victim), others=others))


def gave(to: str = "high") -> dict[str, Any]:
    other = Ref.of(work(to, 9, 3))
    return noted(work("low", 1, 4), GAVE_WAY, [Part(other, f"uid-{to}", "a", 3, "1")])


@pytest.mark.parametrize(
    ("other", "ends"),
    [
        pytest.param(None, True, id="who took the room is gone"),
        pytest.param(taker(runs={"b": 3}), True, id="it went elsewhere"),
        pytest.param(taker(), False, id="it does not run yet"),
        pytest.param(
            {
                **taker(),
                "status": {"aggregatedStatus": [{"clusterName": "a", "health": "Healthy"}]},
            },
            True,
            id="it runs",
        ),
    ],
)
def test_a_note_of_giving_way_ends_if(other: Object | None, *, ends: bool) -> None:
    todo = after(gave(), other)
    if not ends:
        assert todo == NOTHING
        return
    (update,) = todo.actions
    assert isinstance(update, Update)
    assert GAVE_WAY not in update.object["metadata"]["annotations"]


def test_it_is_not_over_while_others_still_have_to_give_way() -> None:
    pending = noted(taker(runs={"b": 3}), PREEMPTS, [Part(Ref.of(gave()), "uid-x", "a", 1, "1")])
    assert after(gave(), pending) == NOTHING


def test_events_name_other_bindings_only_within_their_namespace() -> None:
    it = Plane(work("low", 1, 4, {"a": 4}), work("high", 9, 3, atoll=TAKES))
    it.settle()
    told = {(each.about["kind"], each.reason): each.message for each in it.told}
    assert told["Deployment", "Preempted"] == told["ResourceBinding", "Preempted"]
    assert told["ResourceBinding", "Preempted"] == (
        "Gave up replicas: 3 in a, to ResourceBinding high-deployment of priority 9, which found"
        " no room. This has priority 1."
    )
    assert told["ResourceBinding", "Preempting"] == (
        "Found no room, so replicas of lower priority than 9 gave way: "
        "ResourceBinding low-deployment 3 in a."
    )
    stranger = Ref("work.karmada.io/v1alpha2", "ResourceBinding", "secret", "web-deployment")
    said = giving_way.named(Ref.of(it["high"]), stranger, "lower")
    assert said == "another binding of lower priority"


def test_an_explanation_names_who_gives_way_among_the_others() -> None:
    it = Plane(work("low", 1, 4, {"a": 4}), work("high", 9, 3, atoll=TAKES))
    placing = it.look("high")
    kept = note(decided(placing), Trigger.PLACEMENT_CHANGED, NOW, placing.gives)
    assert kept.others == [
        {
            "kind": "ResourceBinding",
            "namespace": "shop",
            "name": "low-deployment",
            "because": "it has a lower priority and gives up 3 replica(s)",
            "clusters": ["a"],
        }
    ]


@pytest.mark.parametrize(
    "junk", ["", "{", "7", "{}", "[7]", '[{"name":"x"}]', '[{"replicas":"many"}]']
)
def test_a_note_that_someone_wrote_into_is_taken_off_and_nobody_gives_way(junk: str) -> None:
    for name in (PREEMPTS, GAVE_WAY):
        wire = taker()
        wire["metadata"]["annotations"] = {name: junk}
        assert parts(wire, name) == ()
        (update,) = after(wire, None).actions
        assert isinstance(update, Update)
        assert update.object["metadata"]["annotations"] == {}


def test_room_is_counted_in_whole_and_never_below_none() -> None:
    one = Demand((("cpu", Amount(1500)), ("memory", Amount(2000))))
    free = Free({"cpu": Amount(4000), "memory": Amount(9000)}, 10)
    left = less(free, [needed(one, 2), needed(None, 9)])
    assert left == Free({"cpu": Amount(1000), "memory": Amount(5000)}, 0)
    assert more(left, needed(one, 2)) == Free({"cpu": Amount(4000), "memory": Amount(9000)}, 2)
    assert reported(free, one, 2) == free
    capped = Free({"cpu": Amount(1500), "memory": Amount(2000)}, 1)
    assert reported(free, one, 1) == capped, "who knows nodes knows better than the sums"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["low-a", "low-b", "rival", "high"]),
        st.booleans(),
        st.integers(0, 6),
    ),
    max_size=25,
)


@settings(max_examples=40)
@given(STEPS)
def test_interrupted_anywhere_and_begun_again_it_comes_to_the_same_end(
    steps: list[tuple[str, bool, int]],
) -> None:
    def fresh() -> Plane:
        return Plane(
            work("low-a", 1, 4, {"a": 4}),
            work("low-b", 1, 6, {"a": 4, "b": 2}),
            work("high", 9, 5, atoll=TAKES, dividing=DIVIDED),
            work("rival", 9, 3, atoll=TAKES, dividing=DIVIDED),
            clusters=(make_cluster("a", 0), make_cluster("b", 0)),
        )

    it = fresh()
    for name, schedules, most in steps:
        it.perform(it.look(name).plan if schedules else it.give(name), most)
    it.settle()
    taken = sum(sum(it.targets(name).values()) for name in ("high", "rival"))
    left = sum(sum(it.targets(name).values()) for name in ("low-a", "low-b"))
    assert (taken, left) == (8, 2), "nobody gave way twice, or for nothing"
    assert not any(parts(each, PREEMPTS) for each in it.bindings.values())
    for name in ("high", "rival"):
        it.healthy(name, *it.targets(name))
    it.settle()
    assert not any(parts(each, GAVE_WAY) for each in it.bindings.values())
    assert sum(sum(it.targets(name).values()) for name in ("low-a", "low-b")) == left


def test_a_note_reads_as_it_was_written() -> None:
    part = Part(Ref.of(work("low", 1, 2)), "uid-low", "a", 2, "7")
    note_written = written(PREEMPTS, [part])
    assert json.read(note_written[PREEMPTS]) == [
        {
            "cluster": "a",
            "decision": "7",
            "kind": "ResourceBinding",
            "name": "low-deployment",
            "namespace": "shop",
            "replicas": 2,
            "uid": "uid-low",
        }
    ]
    wire = {"metadata": {"annotations": note_written}}
    assert parts(wire, PREEMPTS) == (part,)
    assert written(PREEMPTS, ()) == {}
