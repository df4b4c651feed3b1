"""The scheduler against a simple model: whatever happens, in whatever order, to whichever writes.

Bindings and clusters come, change and go; writes of the scheduler and of others succeed, are
refused, or nobody hears what became of them. Checked all along: what the clusters are said to have
given away is what written decisions gave away; nobody who needs a decision is forgotten; nothing is
kept of what is gone; a decision is reported once.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from placing_world import DIVIDED, DUPLICATED, EVEN
from recordings import Kept, differing, steps, taped
from scheduling_world import NO_NODES, Plane, healthy, ref

from atoll.control.scheduler.decide import events
from atoll.control.scheduler.decide.inquiring import Answer
from atoll.control.scheduler.decide.ledger import ASSUMED_MOST, Ledger
from atoll.control.scheduler.decide.plan import SeenBinding, plan
from atoll.control.scheduler.decide.queue import WAIT_MOST
from atoll.control.scheduler.decide.scheduler import ON_WRITE_WITHIN_S
from atoll.dialects.karmada.standing import is_told
from atoll.model.action import Ref, Update
from atoll.model.assumed import Sums
from atoll.scheduling.features import PLANE_USUAL
from atoll.scheduling.setting import Setting
from atoll.wire import Object

NAMES = ("x", "y")
CLUSTERS = ("a", "b")
names, clusters = st.sampled_from(NAMES), st.sampled_from(CLUSTERS)
replicas = st.integers(1, 5)
ANYWHERE: dict[str, Any] = {}
ONLY_B = {"clusterAffinity": {"clusterNames": ["b"]}}


class Scheduling(RuleBasedStateMachine):
    """A plane on which anything may happen."""

    @initialize(asks=st.booleans())
    def begin(self, asks: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        self.recording = Kept()
        self.it = taped(Plane(Setting(PLANE_USUAL), asks_estimators=asks), self.recording)
        self.coming: dict[Ref, Object] = {}
        """What somebody else is about to write with targets."""
        self.begun: dict[Ref, float] = {}
        """When the decisions were made that are being written, and those that others write."""
        self.together: dict[Ref, float] = {}
        self.lost: dict[Ref, float] = {}
        """Of what nobody will ever hear, and since when."""
        self.wanted: Ledger[Ref] = Ledger()
        for name in CLUSTERS:
            self.it.cluster(name, 6)

    # What happens to bindings

    @rule(
        name=names,
        count=replicas,
        dividing=st.sampled_from([DIVIDED, DUPLICATED, EVEN]),
        place=st.sampled_from([ANYWHERE, ONLY_B]),
    )
    def ask(self, name: str, count: int, dividing: Any, place: Any) -> None:
        """A user creates a binding, or changes it."""
        if ref(name) in self.it.stored:
            placement = {"replicaScheduling": dividing, **place}
            self.it.edit(name, replicas=count, placement=placement)
            self.learn()
        elif ref(name) not in self.coming:
            self.it.create(name, count, dividing=dividing, placement=place)

    @rule(name=names, where=st.sets(clusters))
    def get_well(self, name: str, where: set[str]) -> None:
        if ref(name) in self.it.stored:
            self.it.healthy(name, *sorted(where))
            self.learn()
            self.wanted.seen_healthy(ref(name), healthy(self.it.stored[ref(name)]), self.it.now)

    @rule(name=names)
    def delete(self, name: str) -> None:
        if ref(name) in self.it.stored:
            self.it.delete(name)
            self.wanted.release(ref(name))

    # What happens to clusters

    @precondition(lambda self: not self.under_way)
    @rule(name=clusters, cpu=st.integers(0, 12), label=st.sampled_from("uv"))
    def report(self, name: str, cpu: int, label: str) -> None:
        fleet = self.it.scheduler.fleet
        before = fleet.clusters[fleet.rows[name]] if name in fleet.rows else None
        self.it.cluster(name, cpu, labels={"l": label})
        fleet = self.it.scheduler.fleet
        if before is None or before.free != fleet.clusters[fleet.rows[name]].free:
            self.wanted.reported(name, self.it.now)

    @precondition(lambda self: not self.under_way)
    @rule(name=clusters)
    def lose(self, name: str) -> None:
        self.it.tell(events.ClusterChanged(name, None))
        self.wanted.reported(name, self.it.now)

    # Turns and writes

    @rule()
    def turn(self) -> None:
        if self.it.scheduler.wake_at(self.it.now) <= self.it.now:
            self.note(self.it.turn())

    @precondition(lambda self: self.it.later)
    @rule(data=st.data())
    def turn_later(self, data: st.DataObject) -> None:
        self.note(self.it.turn_later(data.draw(st.sampled_from(self.it.later))))

    @precondition(lambda self: self.it.writes)
    @rule(data=st.data(), fate=st.sampled_from(["stored", "refused", "lost", "unheard"]))
    def finish(self, data: st.DataObject, fate: str) -> None:
        key = data.draw(st.sampled_from([*self.it.writes]))
        before, write = self.it.stored.get(key), self.it.writes[key]
        placing = self.it.scheduler._in_flight[key].placing
        began = self.begun.pop(key)
        self.it.finish(
            key, stores=fate in ("stored", "unheard"), hears=fate in ("stored", "refused")
        )
        after = self.it.stored.get(key)
        is_stored = before is not None and after is not before
        decided = placing.decision is not None and _writes_spec(write)
        if is_stored and decided:
            self.wanted.assume(key, placing.decision, healthy(before), began)
        elif fate == "lost" and decided:
            self.lost[key] = began  # as far as anybody knows, it may still be stored
        self.learn()

    @precondition(lambda self: self.it.asks)
    @rule(room=st.integers(-1, 6))
    def answer(self, room: int) -> None:
        ask = self.it.asks.pop(0)
        found = {name: Answer(room, Sums(), self.it.now) for name in ask.inquiry.clusters[1:]}
        self.it.answer(ask, found)

    @rule(name=names, count=replicas)
    def write_together(self, name: str, count: int) -> None:
        key = ref(name)
        if key in self.it.writes:
            return
        self.coming.pop(key, None)  # it was refused, and is tried again
        wire = self.it.schedule_on_write(name, count)
        self.lost.pop(key, None)
        if wire is not None:
            self.coming[key] = wire
            self.together[key] = self.it.now

    @precondition(lambda self: self.coming)
    @rule(data=st.data(), fate=st.sampled_from(["stored", "lost"]))
    def end_together(self, data: st.DataObject, fate: str) -> None:
        key = data.draw(st.sampled_from([*self.coming]))
        wire = self.coming.pop(key)
        before = self.it.stored.get(key)
        # A version that is made up stands for a binding that is to be created.
        known = "1" if before is None else before.meta.version
        is_fresh = wire["metadata"]["resourceVersion"] == known
        flight = self.it.scheduler._on_write.get(key)
        if fate == "lost" or not is_fresh:
            self.lost[key] = self.together[key]
            return
        healthy_then = healthy(before) if before is not None else frozenset[str]()
        if flight is not None and flight.placing.decision is not None:
            self.wanted.assume(key, flight.placing.decision, healthy_then, self.together[key])
        self.it.store(wire)
        self.learn()

    @rule(seconds=st.sampled_from([0.5, 2.0, 8.0, 40.0, 400.0]))
    def pass_time(self, seconds: float) -> None:
        if self.under_way and seconds > 8.0:
            return
        self.it.pass_time(seconds)
        self.wanted.expire(self.it.now)
        since = self.it.now - ON_WRITE_WITHIN_S
        self.lost = {k: at for k, at in self.lost.items() if at > since or k in self.it.writes}

    # What must be true

    @property
    def under_way(self) -> bool:
        return bool(self.it.writes or self.coming or self.lost)

    def note(self, found: list[Any]) -> None:
        for each in found:
            if isinstance(each, events.Write):
                self.begun[each.key] = self.it.now

    def learn(self) -> None:
        """What is stored says where it runs well."""
        for key, binding in self.it.stored.items():
            self.wanted.seen_healthy(key, healthy(binding), self.it.now)

    @invariant()
    def room_is_what_written_decisions_gave_away(self) -> None:
        if hasattr(self, "it") and not self.under_way:
            found = {
                each.cluster: sum(one.replicas for one in each.components)
                for each in self.wanted.assumed()
            }
            assert self.it.assumed() == found

    @invariant()
    def nothing_is_kept_of_what_is_gone(self) -> None:
        if hasattr(self, "it"):
            known = {*self.it.stored, *self.coming, *self.lost, *self.it.writes}
            known |= {each.key for each in self.it.asks}
            assert kept(self.it.scheduler) <= known

    @invariant()
    def a_decision_is_reported_once(self) -> None:
        if hasattr(self, "it"):
            assert len({*self.it.reported}) == len(self.it.reported)

    def teardown(self) -> None:
        """Nobody is forgotten: let all that is under way end well, and everybody is placed as it
        should be, and says so. Then nothing is held by anyone.
        """
        if not hasattr(self, "it"):
            return
        it = self.it
        it.settle(2 * WAIT_MOST)
        for key, binding in it.stored.items():
            seen = SeenBinding(
                binding=binding,
                fleet=it.scheduler.fleet,
                setting=Setting(PLANE_USUAL),
                surroundings=it.scheduler.surroundings(binding, NO_NODES),
            )
            placing = plan(seen, it.now)
            if it.says(key.name.removesuffix("-deployment"))[0] == "False":
                assert placing.decision is not None, key
                assert not placing.decision.ok, key
            else:
                assert placing.plan.actions == (), key
                assert is_told(binding.wire), key
        assert held(it.scheduler, "_in_flight", "_unreported", "_asked_since") == set()
        it.settle(2 * ASSUMED_MOST)
        assert it.assumed() == {}
        assert held(it.scheduler, "_on_write") == set()
        # Whatever happened, who is told of it once more decides the same.
        assert differing(steps(self.recording.lines)) == []


def _writes_spec(write: events.Write) -> bool:
    return any(isinstance(each, Update) and not each.subresource for each in write.actions)


def held(scheduler: Any, *names: str) -> set[Ref]:
    return {key for name in names for key in getattr(scheduler, name)}


def kept(scheduler: Any) -> set[Ref]:
    """Everybody of whom anything is held, wherever that is; nothing is left out."""
    maps = [*vars(scheduler).values()]
    queue, ledger = scheduler._queue, scheduler._ledger
    maps += [getattr(each, name) for each in (queue, ledger) for name in each.__slots__]
    return {key for each in maps if isinstance(each, dict) for key in each if isinstance(key, Ref)}


def test_the_walk_over_what_is_held_sees_it() -> None:
    it = Plane()
    it.cluster("a")
    it.create("x")
    it.turn()
    assert kept(it.scheduler) == {ref("x")}
    it.finish(ref("x"))
    it.delete("x")
    assert kept(it.scheduler) == set()


Scheduling.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestScheduling = Scheduling.TestCase
