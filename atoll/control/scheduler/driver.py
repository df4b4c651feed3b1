"""Bindings and clusters: where each binding goes, and again when the fleet changes.

Room that was just given away is known to the next decision: it is noted with the decision itself,
and only then is the decision written, several at a time. Prices are looked at before each decision.
A binding that is about to be written for its template is decided at once where nobody waits, and
written with its targets.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from atoll.client.api import Refused, Wire
from atoll.client.transport import Unreachable
from atoll.control.explanations.wiring import Explanations
from atoll.control.hub import BINDING, BINDING_KINDS, Hub, meant_otherwise
from atoll.control.levels import Level
from atoll.control.performing import LookAgain
from atoll.control.prices.wiring import Prices
from atoll.control.scheduler.announcing import Announcing
from atoll.control.scheduler.decide import affected
from atoll.control.scheduler.decide import plan as placing
from atoll.control.scheduler.decide.inquiring import Inquiry, inquiry
from atoll.control.scheduler.decide.ledger import ASSUMED_MOST, Holding, Ledger
from atoll.control.scheduler.decide.preempting.making_room import Others
from atoll.control.scheduler.decide.queue import Queue
from atoll.control.scheduler.decide.surroundings import with_estimates
from atoll.control.scheduler.surroundings import AroundBindings
from atoll.dialects.karmada import cluster as clusters
from atoll.dialects.karmada.standing import MARK, healthy_in, standing
from atoll.dialects.wire import instant
from atoll.effects import stopwatch
from atoll.errors import Invalid
from atoll.instruments.families import Family
from atoll.model.action import Object, Plan, Ref, Tell, Update
from atoll.model.assumed import Assumed
from atoll.model.decision import Verdict
from atoll.runtime.children import report_failure
from atoll.runtime.worklist import Worklist
from atoll.scheduling.question import NOWHERE
from atoll.scheduling.trigger import Trigger

if TYPE_CHECKING:
    from atoll.control.scheduler.estimation import Estimation

log = logging.getLogger("atoll.scheduler")

_LOOK_AT_LEAST_EVERY_S = 60.0
_EXPIRE_EVERY_S = 1.0
_LET_GO_EVERY_S = 5.0
_BEGUN_MOST = 1024
_GOOD_S = 2.0
"""So long what an estimator said is good for others who would ask the same."""
_OTHERS_FIRST = 9.0
"""So many times as long as it takes to see who gives way, nobody else may ask for it."""


class _Begun(NamedTuple):
    """A decision that is about to be written with a binding, and when it was begun."""

    placed: placing.Placing
    wire: Object
    held: Holding
    """What the binding held before, in case that it is never written."""
    at: float


class Placement:
    """Decides where bindings go."""

    name = "scheduler"

    def __init__(self, hub: Hub, estimation: "Estimation | None" = None) -> None:
        self._hub = hub
        self._estimation = estimation
        self._asked_since: dict[Ref, float] = {}
        """Since when estimators are asked for a binding: what they said since is good for it."""
        self._ledger: Ledger[Ref] = Ledger()
        self._queue: Queue[Ref] = Queue(by_priority=hub.features.PriorityBasedScheduling)
        self._changed: Worklist[Ref] = Worklist("changed", hub.turns)
        self._woken: Worklist[Ref] = Worklist("woken", hub.turns)
        self._more = asyncio.Event()
        self._expired_at = 0.0
        self._room_at = 0.0
        self._nodes_known = 0
        self._watched: dict[Ref, tuple[Wire, affected.Watching[Ref] | None]] = {}
        self._begun: dict[Ref, _Begun] = {}
        """What was decided for bindings that are about to be written by others."""
        self._deciding: dict[Ref, Object] = {}
        """Bindings as they are being written, for those who look at their neighbours meanwhile."""
        hub.around = AroundBindings(hub, self._ledger, self._deciding)
        self.prices = Prices(hub, self._more.set)
        self.explanations = Explanations(hub)
        self.announcing = Announcing(hub, self._waits, self._add, self._carry_out)
        hub.more_numbers.append(self._pending)
        hub.hear("Cluster", self._cluster_changed)
        for kind in BINDING_KINDS:
            hub.hear(kind, self._binding_changed)

    async def run(self) -> None:
        """Place what waits, for ever."""
        while True:
            self._more.clear()
            self._look_at_prices()
            key = self._queue.next(self._hub.now)
            if key is not None:
                with self._hub.turns.holding(Level.ARRIVE):
                    await self._place_or_tell(key)
                await asyncio.sleep(0)
                continue
            now = self._hub.now
            due = [each for each in (self._queue.wake(now), self.prices.until) if each is not None]
            most_s = _LOOK_AT_LEAST_EVERY_S
            if self._queue.wants_room():
                most_s = _LET_GO_EVERY_S
            pause_s = min([most_s, *(each - now for each in due)])
            try:
                async with asyncio.timeout(max(0.0, pause_s)):
                    await self._more.wait()
            except TimeoutError:
                self._expire(self._hub.now)

    async def _carry_out(self, key: Ref, plan: Plan) -> None:
        """Do what a plan says; meanwhile others see its binding as it is being written."""
        try:
            for action in plan.actions:
                if isinstance(action, Tell):
                    self._hub.performer.tell_later(action)
                    continue
                if isinstance(action, Update):
                    self._deciding[key] = action.object
                await self._hub.performer.perform(action)
        finally:
            self._deciding.pop(key, None)

    async def review(self) -> None:
        """Have what others changed, or was put off, decided when nothing presses more; for ever."""

        async def add(key: Ref) -> None:
            self._add(key)

        await self._changed.run(add)

    async def look_again(self) -> None:
        """Look again at what changed clusters may matter to, when nothing presses more; for ever.

        What is placed already can wait: clusters that come and go must not hold up what is new.
        """

        async def look(key: Ref) -> None:
            now = self._hub.now
            self._queue.cluster_changed({key: self._priority(key)}, now)
            if self._queue.take(key, now):
                await self._place_or_tell(key)
            else:
                self._more.set()  # it backs off, and its time is to be waited for

        await self._woken.run(look)

    async def _place_or_tell(self, key: Ref) -> None:
        try:
            await self._place(key)
        except Exception as error:  # noqa: BLE001 - one bad binding must not stop the others
            report_failure(f"{self.name}: {key}", error)
            self._queue.failed(key, Verdict.SCHEDULER_ERROR, self._hub.now)

    async def _place(self, key: Ref) -> None:
        hub, now, begun = self._hub, self._hub.now, stopwatch()
        if now >= self._expired_at + _EXPIRE_EVERY_S:
            self._expire(now)
        wire = hub.plane.find(key)
        seen = self._seen(wire)
        placed = placing.plan(seen, now)
        if placed.decision is not None:
            hub.numbers.decided.note(stopwatch() - begun, "All")
        if self._estimation is not None:
            asked = self._with_estimates(self._estimation, key, seen, placed)
            if asked is None:
                return
            seen, placed = asked
        if placed.asks:
            placed = self._with_room(seen, placed)
        held = self._ledger.held(key)
        if placed.decision is not None and wire is not None:
            self._ledger.assume(key, placed.decision, healthy_in(wire), now)
        try:
            await self._carry_out(key, placed.plan)
        except (LookAgain, Unreachable, Refused) as late:
            log.info("%(binding)s is looked at again: %(err)s", {"binding": key, "err": late})
            self._ledger.restore(key, held)
            self._queue.failed(key, Verdict.SCHEDULER_ERROR, now)
            self._count(placed, begun, written=False)
            return
        if placed.plan.actions:
            # Whoever was about to write an older version is refused, and what that held is history.
            self._begun.pop(key, None)
        self._note(key, placed, begun)
        if placed.retry and placed.verdict is not None:
            self._queue.failed(key, placed.verdict, now)
        else:
            self._queue.succeeded(key, now)
        if placed.plan.again_in == 0.0:
            self.announcing.add_untold(key)
        elif placed.plan.again_in is not None:
            due = now + placed.plan.again_in
            self._queue.add_later(key, self._priority(key), due, now)

    def _seen(self, wire: Object | None) -> placing.SeenBinding:
        hub = self._hub
        return placing.SeenBinding(
            binding=wire,
            fleet=hub.fleet,
            setting=hub.setting,
            surroundings=hub.around.of(wire) if wire else NOWHERE,
        )

    def at_once(self, wire: Object) -> Object:
        """A binding that is about to be written, with its targets if they can be decided right now.

        Else it gets its turn once it is there: it or others with their priorities wait already,
        have to give way or are its neighbours, or estimators have to be asked.
        """
        hub, now, begun, key = self._hub, self._hub.now, stopwatch(), Ref.of(wire)
        self._look_at_prices()
        if (earlier := self._begun.pop(key, None)) is not None:
            self._ledger.restore(key, earlier.held)  # it was never written
        is_late = self._queue.by_priority and self._queue.wake(now) == now
        is_grouped = bool(wire["spec"].get("workloadAffinityGroups"))
        if self._estimation is not None or is_grouped or is_late or self._waits(key):
            return wire
        placed = placing.plan(self._seen(wire), now)
        if placed.decision is None or not placed.decision.ok or (to := _targets(placed)) is None:
            return wire
        hub.numbers.decided.note(stopwatch() - begun, "All")
        held = self._ledger.held(key)
        self._ledger.assume(key, placed.decision, healthy_in(wire), now)
        self._begun[key] = _Begun(placed, to, held, begun)
        if len(self._begun) > _BEGUN_MOST:
            del self._begun[next(iter(self._begun))]
        return to

    def _waits(self, key: Ref) -> bool:
        """Whether a binding is being decided, or is to be."""
        return key in self._queue or key in self._deciding

    def _is_placed(self, key: Ref, wire: Wire) -> bool:
        """Whether a binding came with the targets that it was about to be written with."""
        begun = self._begun.get(key)
        if begun is None or _decided(wire) != _decided(begun.wire):
            return False
        del self._begun[key]
        self._note(key, begun.placed, begun.at)
        self.announcing.add_untold(key)
        return True

    def _note(self, key: Ref, placed: placing.Placing, begun: float) -> None:
        """Count and explain a decision that was written."""
        self._count(placed, begun, written=True)
        if placed.decision is not None and placed.plan.actions:
            self.explanations.note(key, placed.decision, placed.trigger, placed.gives)
            if self._hub.traces is not None:
                self._hub.traces.placed(key, placed.decision, placed.trigger, begun)

    def _count(self, placed: placing.Placing, begun: float, *, written: bool) -> None:
        """Count a decision, if there was one to make."""
        if placed.decision is None or not placed.plan.actions:
            return
        numbers = self._hub.numbers
        verdict = (placed.verdict if written else None) or Verdict.SCHEDULER_ERROR
        numbers.schedule_took(
            stopwatch() - begun,
            ok=verdict is Verdict.SUCCESS,
            scaled=placed.trigger is Trigger.REPLICAS_CHANGED,
            outcome=verdict,
        )
        if verdict is not Verdict.SUCCESS:
            numbers.incoming.add("ScheduleAttemptFailure")

    def _pending(self) -> list[Family]:
        waiting = self._queue.counts(self._hub.now)
        told = "Bindings that wait for a decision, that back off, and that wait for room."
        samples = [("", (("queue", each),), float(count)) for each, count in waiting.items()]
        return [("scheduler_pending_bindings", "gauge", told, samples)]

    def _with_estimates(
        self, estimation: "Estimation", key: Ref, seen: placing.SeenBinding, placed: placing.Placing
    ) -> tuple[placing.SeenBinding, placing.Placing] | None:
        """The plan by what estimators say of all clusters that it is about; None if they must be
        asked first: then the binding comes again, and others have their turn meanwhile.
        """
        around, now, answers = seen.surroundings, self._hub.now, dict[str, int]()
        while (asked := inquiry(placed.decision, answers)) is not None:
            since = min(now - _GOOD_S, self._asked_since.get(key, now))
            found = estimation.known(asked, around.assumed, since)
            if found is None:
                since = self._asked_since.setdefault(key, now)
                asking = self._ask(estimation, key, asked, around.assumed, since)
                self._hub.children.spawn(asking, f"estimators for {key}")
                return None
            answers |= found
            seen = replace(seen, surroundings=with_estimates(around, answers))
            placed = placing.plan(seen, now)
        self._asked_since.pop(key, None)
        return seen, placed

    async def _ask(
        self,
        estimation: "Estimation",
        key: Ref,
        asked: Inquiry,
        assumed: Sequence[Assumed],
        since: float,
    ) -> None:
        try:
            await estimation.find_out(asked, assumed, since)
        finally:
            self._queue.put_back(key, self._hub.now)
            self._more.set()

    def _expire(self, now: float) -> None:
        self._expired_at = now
        known, self._nodes_known = self._nodes_known, self._hub.nodes.changes()
        if self._ledger.expire(now) or self._nodes_known != known:
            # No report of a cluster says that what was only assumed is free, or that a node is
            # open again.
            self._wake(self._queue.wants_room())

    def _recover(self, key: Ref, wire: Wire) -> None:
        """After a restart: know again what was decided a moment before and may not run yet."""
        with suppress(Invalid):
            found = standing(wire)
            at = instant({"last": found.last}, "last", "") if found.last else None
            if at is not None and self._hub.now - at / 1e9 < ASSUMED_MOST:
                self._ledger.recover(key, found.binding, healthy_in(wire), at / 1e9)

    def _binding_changed(self, before: Wire | None, after: Wire | None) -> None:
        key = Ref.of(after or before or {})
        if after is None:
            self._ledger.release(key)
            self._queue.forget(key)
            self._begun.pop(key, None)
            self._asked_since.pop(key, None)
            self.explanations.forget(key)
            return
        is_placed = self._is_placed(key, after)
        if before is None and not is_placed:
            self._recover(key, after)
        self._ledger.seen_healthy(key, healthy_in(after), self._hub.now)
        if _asks_otherwise(before, after):
            self._hub.numbers.incoming.add("BindingAdd" if before is None else "BindingUpdate")
            if not is_placed:
                self._add(key)
        elif meant_otherwise(before, after) and key not in self._deciding:
            self._changed.add(key, Level.REPORT)

    def _cluster_changed(self, before: Wire | None, after: Wire | None) -> None:
        hub = self._hub
        name = (after or before or {})["metadata"]["name"]
        was = hub.cluster(name)
        try:
            is_now = clusters.decode(after) if after is not None else None
        except Invalid as problem:
            said = {"cluster": name, "err": problem}
            log.warning("Cluster %(cluster)s stays as it was: %(err)s", said)
            return
        self.prices.learn(name, None if is_now is None else is_now.price)
        if is_now is not None:
            is_now = replace(is_now, price=self.prices.of(name))
        hub.fleet = hub.fleet.without(name) if is_now is None else hub.fleet.with_cluster(is_now)
        reports = was is None or is_now is None or was.free != is_now.free
        let_go = reports and self._ledger.reported(name, hub.now)
        match affected.change(was, is_now):
            case affected.Change.FACTS:
                self._wake(affected.affected(self._watching(), was, is_now))
            case change if let_go or change is affected.Change.ROOM:
                # Where more was assumed than the report counts, there is room now as well.
                self._wake(self._queue.wants_room())

    def _look_at_prices(self) -> None:
        """Go by the prices that count now, and look again at whom they matter to."""
        hub = self._hub
        clusters = [each for each in map(hub.cluster, self.prices.settle()) if each is not None]
        if clusters:
            hub.fleet = hub.fleet.priced(
                {each.name: self.prices.of(each.name) for each in clusters}
            )
            self._wake(affected.by_price(self._watching(), clusters))

    def _watching(self) -> list[affected.Watching[Ref]]:
        """All bindings that clusters may matter to; each is read once in every version it has."""
        known, self._watched = self._watched, {}
        for wire in self._bindings():
            key = Ref.of(wire)
            read = known.get(key)
            if read is None or read[0] is not wire:
                read = wire, affected.watched(key, wire)
            self._watched[key] = read
        return [each for _, each in self._watched.values() if each is not None]

    def _with_room(self, seen: placing.SeenBinding, placed: placing.Placing) -> placing.Placing:
        """Plan with others giving way; where that was asked a moment ago, it is put off a little.

        To look at all others takes its time, and whoever has room must not wait for it.
        """
        began = self._hub.now
        if began < self._room_at:
            pause_s = self._room_at - began
            self._changed.add_later(Ref.of(seen.binding or {}), pause_s)
            return placed
        found = placing.plan(replace(seen, others=self._others()), began)
        took_s = self._hub.now - began
        self._room_at = self._hub.now + _OTHERS_FIRST * took_s
        return found

    def _others(self) -> Others:
        """All bindings, as they are or are just being written: nobody gives way twice at once."""
        known = {each["metadata"]["uid"]: each for each in self._bindings()}
        known |= {each["metadata"]["uid"]: each for each in self._deciding.values()}
        return Others(tuple(known.values()), self._ledger.doubtful())

    def _bindings(self) -> list[Wire]:
        return [wire for kind in BINDING_KINDS for wire in self._hub.plane.all(BINDING, kind)]

    def _wake(self, keys: list[Ref]) -> None:
        """Look again at these: at once at who waits for a place, at others when there is time."""
        waiting = {key: self._priority(key) for key in keys if key in self._queue}
        self._queue.cluster_changed(waiting, self._hub.now)
        self._more.set()
        for key in keys:
            self._hub.numbers.incoming.add("ClusterChanged")
            if key not in waiting:
                self._woken.add(key, Level.SUM)

    def _add(self, key: Ref) -> None:
        self._queue.add(key, self._priority(key), self._hub.now)
        self._more.set()

    def _priority(self, key: Ref) -> int:
        spec = (self._hub.plane.find(key) or {}).get("spec") or {}
        return int((spec.get("schedulePriority") or {}).get("priority") or 0)


def _targets(placed: placing.Placing) -> Object | None:
    """The binding as a decision writes it, if it writes more than what is told of it."""
    write = next(iter(placed.plan.actions), None)
    return write.object if isinstance(write, Update) and not write.subresource else None


def _decided(binding: Object) -> tuple[object, object]:
    """Where a binding goes, and the mark of the decision by which it does."""
    annotations = binding["metadata"].get("annotations") or {}
    return binding["spec"].get("clusters"), annotations.get(MARK)


def _asks_otherwise(before: Wire | None, after: Wire) -> bool:
    """Whether there is something new to decide, rather than a decision to report."""
    asked = [{**(each.get("spec") or {}), "clusters": None} for each in (before or {}, after)]
    return before is None or asked[0] != asked[1]
