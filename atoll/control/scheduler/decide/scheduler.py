"""The scheduler as a value: events come in, what is to be done about them goes out.

Holds the bindings and the fleet as they are known, and what cannot be read from anywhere: who waits
in the queue, room that was given away, decisions in flight, and which of them are yet to be
reported. Every decision is made in one place, whether its turn came or somebody is about to write
the binding anyway. Room is taken when it is decided; a write that is refused gives it back. Knows
no loop, no client and no clock.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from atoll.control.levels import Level
from atoll.control.patience import Waited, left_s
from atoll.control.scheduler.decide import affected, events, surroundings
from atoll.control.scheduler.decide import plan as planning
from atoll.control.scheduler.decide.events import Event, Instruction
from atoll.control.scheduler.decide.flight import InFlight
from atoll.control.scheduler.decide.inquiring import Answers, inquiry
from atoll.control.scheduler.decide.ledger import ASSUMED_MOST, Ledger
from atoll.control.scheduler.decide.plan import Placing, SeenBinding
from atoll.control.scheduler.decide.preempting.making_room import Others
from atoll.control.scheduler.decide.queue import Queue
from atoll.control.scheduler.decide.rehearsal import Rehearsal
from atoll.dialects.karmada.objects import resource_bindings
from atoll.dialects.karmada.standing import ADDITIONS, healthy_in, is_told
from atoll.dialects.wire import instant
from atoll.errors import Invalid
from atoll.model.action import Ref, Update
from atoll.model.decision import Verdict
from atoll.model.named import Named
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.view import NodeView
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import USUAL_SETTING, Setting

LOOK_AT_LEAST_EVERY_S, LOOK_FOR_ROOM_EVERY_S = 60.0, 5.0
ON_WRITE_WITHIN_S = 30.0
"""So long it may take to hear that a decision was stored: longer than any request takes."""
ANSWER_GOOD_S = 2.0
"""So long what an estimator said is good for others who would ask the same."""
PREEMPTION_BACK_OFF = 9.0
"""Nobody else may search for who gives way for so many times as long as the last search took: all
bindings are looked at, and at most a tenth of the time may go there, since whoever has room waits
for it meanwhile."""


class Scheduler:
    """Decides where bindings go."""

    def __init__(self, setting: Setting = USUAL_SETTING, *, asks_estimators: bool = False) -> None:
        self.fleet = Fleet.of([])
        self._setting = setting
        self._asks_estimators = asks_estimators
        self._bindings: dict[Ref, ResourceBinding] = {}
        self._interests = affected.Interests()
        self._grouped: Named[Ref, tuple[str, str]] = Named()
        """By namespace and group, the bindings that may want to be together or apart."""
        self._queue: Queue[Ref] = Queue(by_priority=setting.features.PriorityBasedScheduling)
        self._ledger: Ledger[Ref] = Ledger()
        self._in_flight: dict[Ref, InFlight] = {}
        self._on_write: dict[Ref, InFlight] = {}
        """Decisions that somebody else is about to write, or that may have been written."""
        self._facts = 0
        """How often the facts of clusters have changed, or what they cost."""
        self._unreported: dict[Ref, float] = {}
        """Since when there is a decision that the status may not say yet."""
        self._answers = Answers()
        self._asked_since: dict[Ref, float] = {}
        """Since when estimators are asked for a binding: what they said since is good for it."""
        self._searches_from = 0.0
        """When somebody may search again for who gives way."""

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """What is to be done about an event; of one, there is at most one write."""
        due = self.wake_at(now)
        found = tuple(self._handled(event, now))
        return (*found, events.QueueChanged()) if self.wake_at(now) < due else found

    def _handled(self, event: Event, now: float) -> Iterator[Instruction]:
        match event:
            case events.BindingChanged():
                yield from self._binding_changed(event, now)
            case events.ClusterChanged():
                yield from self._cluster_changed(event, now)
            case events.PricesChanged(prices):
                known = {name: each for name, each in prices.items() if name in self.fleet.rows}
                self.fleet = self.fleet.priced(known)
                self._facts += 1
                clusters = [self.fleet.clusters[self.fleet.rows[name]] for name in known]
                yield from self._wake(self._interests.by_price(clusters), now)
            case events.TimePassed(nodes_changed):
                yield from self._time_passed(now, nodes_changed=nodes_changed)
            case events.Turn():
                yield from self._turn(event, now)
            case events.ScheduleOnWrite():
                yield from self._schedule_on_write(event, now)
            case events.Written(key):
                yield from self._written(key, now)
            case events.NotWritten(key, unsure):
                yield from self._not_written(key, now, unsure=unsure)
            case events.Answered(key, asked, answers):
                self._answers.note(asked, answers, now)
                self._put_back(key, now)
            case events.SearchTook(seconds):
                self._searches_from = now + PREEMPTION_BACK_OFF * seconds

    def wake_at(self, now: float) -> float:
        """When to give the next turn, if nothing changes until then."""
        most_s = LOOK_FOR_ROOM_EVERY_S if self._queue.waits_for_room else LOOK_AT_LEAST_EVERY_S
        due = self._queue.wake(now)
        return now + most_s if due is None else min(due, now + most_s)

    def pending(self, now: float) -> dict[str, int]:
        """How many bindings wait for a decision, back off, and wait for room."""
        return self._queue.counts(now)

    def surroundings(self, binding: ResourceBinding, nodes: NodeView) -> Surroundings:
        """What is around a binding that is decided now."""
        others = map(self._as_written, self._grouped.naming(*surroundings.groups(binding)))
        return surroundings.surroundings(binding, others, self._ledger.assumed(), nodes)

    def surroundings_anew(self, binding: ResourceBinding, nodes: NodeView) -> Surroundings:
        """What would be around it if it had been given nothing yet."""
        around = self.surroundings(binding, nodes)
        own = self._ledger.held(binding.ref)
        return replace(around, assumed=surroundings.of_others(around.assumed, own))

    def rehearsal(self, nodes: NodeView, now: float) -> Rehearsal:
        """What is known now, to try out what would come of placing something anew."""
        groups = {surroundings.groups(each) for each in self._bindings.values()}
        return Rehearsal(
            now=now,
            fleet=self.fleet,
            setting=self._setting,
            bindings={key: self._as_written(key) for key in self._bindings},
            grouped={each: tuple(self._grouped.naming(*each)) for each in groups},
            ledger=self._ledger.copy(),
            nodes=nodes,
            asks_estimators=self._asks_estimators,
        )

    def _binding_changed(self, event: events.BindingChanged, now: float) -> Iterator[Instruction]:
        before, after = event.before, event.after
        known = after or before
        if known is None:
            return
        key = known.ref
        is_near = after is not None and self._setting.features.WorkloadAffinity
        self._grouped.put(key, surroundings.groups(known) if is_near else ())
        if after is None:
            yield from self._gone(key)
            return
        self._bindings[key] = after
        self._interests.learn(after)
        is_own_write = self._is_own_write(key, after)
        if is_own_write:
            flight = self._on_write.pop(key)
            yield events.Scheduled(key, flight.placing, flight.began)
            yield from self._report_later(key, now, event.backlog)
            if flight.facts != self._facts:
                # Whom a change of clusters concerns is asked of bindings as they were heard of.
                self._add(key, now, event.cause)
        elif before is None:
            self._recover(key, after, now)
        self._ledger.seen_healthy(key, healthy_in(after.wire), now)
        if _scheduling_inputs_changed(before, after):
            yield events.Queued("BindingAdd" if before is None else "BindingUpdate")
            if not is_own_write:
                self._add(key, now, event.cause)
        elif event.spec_changed and key not in self._in_flight:
            yield events.GiveTurn(key, events.Why.REVIEW, Level.REPORT)

    def _gone(self, key: Ref) -> Iterator[Instruction]:
        """A binding is no more; what is under way for it is heard of once more."""
        for each in (self._bindings, self._on_write, self._asked_since, self._unreported):
            each.pop(key, None)
        self._interests.forget(key)
        self._ledger.release(key)
        self._queue.forget(key)
        yield events.Forget(key)

    def _is_own_write(self, key: Ref, binding: ResourceBinding) -> bool:
        """Whether a binding came with the targets that it was to be written with."""
        flight = self._on_write.get(key)
        return flight is not None and flight.is_of(binding)

    def _recover(self, key: Ref, binding: ResourceBinding, now: float) -> None:
        """After a restart: hold again what was decided a moment before and may not run yet."""
        found = binding.standing()
        if isinstance(found, Invalid) or not found.last:
            return
        with suppress(Invalid):
            at = (instant({"last": found.last}, "last", "") or 0) / 1e9
            if now - at < ASSUMED_MOST:
                self._ledger.recover(key, found.binding, healthy_in(binding.wire), at)

    def _cluster_changed(self, event: events.ClusterChanged, now: float) -> Iterator[Instruction]:
        fleet, name, after = self.fleet, event.name, event.after
        before = fleet.clusters[fleet.rows[name]] if name in fleet.rows else None
        self.fleet = fleet.without(name) if after is None else fleet.with_cluster(after)
        reports = before is None or after is None or before.free != after.free
        let_go = reports and self._ledger.reported(name, now)
        match affected.change(before, after):
            case affected.Change.FACTS:
                self._facts += 1
                yield from self._wake(self._interests.affected(before, after), now, event.cause)
            case change if let_go or change is affected.Change.ROOM:
                # Where more was assumed than the report counts, there is room now as well.
                yield from self._wake(self._queue.wants_room(), now, event.cause)

    def _time_passed(self, now: float, *, nodes_changed: bool) -> Iterator[Instruction]:
        for key, flight in [*self._on_write.items()]:
            if flight.since + ON_WRITE_WITHIN_S <= now and key not in self._in_flight:
                self._give_back(key, self._on_write.pop(key), now)
        if self._ledger.expire(now) or nodes_changed:
            # No report of a cluster says that what was only assumed is free, or that a node is
            # open again.
            yield from self._wake(self._queue.wants_room(), now)

    def _wake(self, keys: Iterable[Ref], now: float, cause: str = "") -> Iterator[Instruction]:
        """Look again at these: at once at who waits for a place, at others when there is time.

        What is placed can wait: clusters that come and go must not hold up what is new.
        """
        keys = [*keys]
        waiting = {key: None for key in keys if key in self._queue}
        for key in waiting:
            self._queue.cluster_changed(key, self._priority(key), now, cause or key.namespace)
        for key in keys:
            yield events.Queued("ClusterChanged")
            if key not in waiting:
                yield events.GiveTurn(key, events.Why.CLUSTER_CHANGED, Level.SUM)

    def _turn(self, turn: events.Turn, now: float) -> Iterator[Instruction]:
        key = turn.key
        if key is None:
            key = self._queue.next(now)
            if key is not None:
                yield from self._guarded(key, self._schedule(key, turn, now), now)
        elif turn.why is events.Why.REVIEW:
            self._add(key, now, turn.cause)
        elif turn.why is events.Why.REPORT:
            yield from self._report(key, turn, now)
        else:
            lane = turn.cause or key.namespace
            self._queue.cluster_changed(key, self._priority(key), now, lane)
            if self._queue.take(key, now):
                yield from self._guarded(key, self._schedule(key, turn, now), now)

    def _guarded(self, key: Ref, turn: Iterator[Instruction], now: float) -> Iterator[Instruction]:
        """The turn of a key that was taken: one bad binding must not stop the others."""
        try:
            yield from turn
        except Exception as error:  # noqa: BLE001 - whatever it was, the key comes again
            self._queue.failed(key, Verdict.SCHEDULER_ERROR, now)
            yield events.Failed(key, error)

    def _schedule(self, key: Ref, turn: events.Turn, now: float) -> Iterator[Instruction]:
        binding = self._bindings.get(key)
        if binding is None:
            self._queue.succeeded(key, now)
            return
        seen = self._seen(binding, turn.nodes)
        placing = planning.plan(seen, now)
        if placing.decision is not None:
            yield events.Decided()
        if self._asks_estimators:
            found = self._estimated(key, seen, placing, now)
            if isinstance(found, events.Ask):
                yield found
                return
            seen, placing = found
        if placing.wants_preemption and now < self._searches_from:
            yield events.GiveTurn(key, events.Why.REVIEW, Level.ARRIVE, self._searches_from - now)
        elif placing.wants_preemption:
            everyone = tuple(map(self._as_written, self._bindings))
            others = Others(everyone, self._ledger.doubtful())
            placing = planning.plan(replace(seen, others=others), now)
            yield events.Searched()
        yield from self._carry_out(self._begun(binding, placing, turn.began, now), now)

    def _seen(self, binding: ResourceBinding, nodes: NodeView) -> SeenBinding:
        around = self.surroundings(binding, nodes)
        return SeenBinding(
            binding=binding, fleet=self.fleet, setting=self._setting, surroundings=around
        )

    def _as_written(self, key: Ref) -> ResourceBinding:
        """A binding as it is being written, so that nobody is counted on twice at once."""
        known, flight = self._bindings[key], self._in_flight.get(key)
        return known if flight is None else resource_bindings.decode(flight.wire, known)

    def _estimated(
        self, key: Ref, seen: SeenBinding, placing: Placing, now: float
    ) -> events.Ask | tuple[SeenBinding, Placing]:
        """The plan by what estimators say of all clusters that it is about, or what to ask them
        first: then the binding comes again, and others have their turns meanwhile.
        """
        around, answers = seen.surroundings, dict[str, int]()
        while (asked := inquiry(placing.decision, answers)) is not None:
            since = min(now - ANSWER_GOOD_S, self._asked_since.get(key, now))
            if self._answers.missing(asked, since).clusters:
                since = self._asked_since.setdefault(key, now)
                return events.Ask(key, self._answers.missing(asked, since), around.assumed)
            answers |= self._answers.known(asked, around.assumed)
            seen = replace(seen, surroundings=surroundings.with_estimates(around, answers))
            placing = planning.plan(seen, now)
        self._asked_since.pop(key, None)
        return seen, placing

    def _schedule_on_write(
        self, event: events.ScheduleOnWrite, now: float
    ) -> Iterator[Instruction]:
        """Decide together with the write, unless others are to have their turn first: it or some of
        a priority wait, others have to give way or are its neighbours, or estimators are asked.
        """
        binding, key = event.binding, event.binding.ref
        if key in self._in_flight:
            return
        if key in self._on_write:
            self._give_back(key, self._on_write.pop(key), now)  # it was not written
        is_late = self._queue.by_priority and self._queue.wake(now) == now
        waits = is_late or key in self._queue
        if waits or self._asks_estimators or binding.spec.groups:
            return
        placing = planning.plan(self._seen(binding, event.nodes), now)
        wire = placing.binding
        if wire is not None:
            yield events.Decided()
            self._on_write[key] = self._begun(binding, placing, event.began, now)
            yield events.WriteWith(wire)

    def _carry_out(self, flight: InFlight, now: float) -> Iterator[Instruction]:
        """Have what came of a turn written, if that is anything."""
        key, actions = Ref.of(flight.wire), flight.placing.plan.actions
        if actions:
            self._in_flight[key] = flight
            yield events.Write(key, actions, self._queue.lane(key))
        else:
            yield from self._settled(key, flight.placing, now)

    def _begun(
        self, binding: ResourceBinding, placing: Placing, began: float, now: float
    ) -> InFlight:
        """What came of a turn, with its room taken."""
        key = binding.ref
        held, early = self._ledger.held(key), self._on_write.get(key)
        if early is not None and placing.plan.actions:
            self._ledger.restore(key, early.held)  # only one of the two can be written
        if placing.decision is not None:
            self._ledger.assume(key, placing.decision, healthy_in(binding.wire), now)
        writes = (each.object for each in placing.plan.actions if isinstance(each, Update))
        return InFlight(placing, next(writes, binding.wire), held, now, began, self._facts)

    def _give_back(self, key: Ref, flight: InFlight, now: float) -> None:
        """Let a binding hold what it held before a turn whose outcome is not written."""
        binding = self._bindings.get(key)
        if binding is None:
            self._ledger.release(key)
        else:
            self._ledger.restore(key, flight.held)
            self._ledger.seen_healthy(key, healthy_in(binding.wire), now)

    def _written(self, key: Ref, now: float) -> Iterator[Instruction]:
        flight = self._in_flight.pop(key)
        # Whoever was about to write an older version is refused.
        self._on_write.pop(key, None)
        if flight.placing.decision is not None:
            yield events.Scheduled(key, flight.placing, flight.began)
        yield from self._settled(key, flight.placing, now)

    def _not_written(self, key: Ref, now: float, *, unsure: bool) -> Iterator[Instruction]:
        flight, binding = self._in_flight[key], self._bindings.get(key)
        has_targets = flight.placing.binding is not None
        if unsure and has_targets and binding is not None:
            if flight.is_of(binding):
                yield from self._written(key, now)
                return
            self._on_write[key] = flight  # it may be stored yet
        else:
            self._give_back(key, flight, now)
        del self._in_flight[key]
        if flight.placing.decision is not None:
            yield events.Scheduled(key, flight.placing, flight.began, written=False)
        is_report = flight.placing.verdict is None
        if is_report or binding is None:
            self._put_back(key, now)
        else:
            self._queue.failed(key, Verdict.SCHEDULER_ERROR, now)

    def _put_back(self, key: Ref, now: float) -> None:
        """Give a binding that was taken another turn at once, unless it is no more."""
        if key in self._bindings:
            self._queue.put_back(key, now)
        else:
            self._queue.succeeded(key, now)

    def _settled(self, key: Ref, placing: Placing, now: float) -> Iterator[Instruction]:
        """A turn is over, and all that came of it is written."""
        is_there, again_in = key in self._bindings, placing.plan.again_in
        if is_there and placing.retry and placing.verdict is not None:
            self._queue.failed(key, placing.verdict, now)
        else:
            self._queue.succeeded(key, now)
        if is_there and again_in == 0.0:
            yield from self._report_later(key, now)
        elif is_there and again_in is not None:
            self._queue.add_later(key, self._priority(key), now + again_in, now, key.namespace)

    def _report_later(self, key: Ref, now: float, backlog: int = 0) -> Iterator[Instruction]:
        """Have a decision reported in a moment, unless somebody has done so by then."""
        if key not in self._unreported:
            self._unreported[key] = now
            yield self._report_in(key, now, backlog)

    def _report(self, key: Ref, turn: events.Turn, now: float) -> Iterator[Instruction]:
        """Report a decision, if it is to be and still stands; else it is to be made anew."""
        binding = self._bindings.get(key)
        if binding is None or key not in self._unreported:
            return
        is_simple = not _has_additions(binding)
        if is_simple and is_told(binding.wire):
            del self._unreported[key]
            return
        later = self._report_in(key, now, turn.backlog)
        if later.after_s:
            yield later
            return
        del self._unreported[key]
        waits = key in self._queue or key in self._in_flight
        self._queue.add(key, self._priority(key), now, turn.cause or key.namespace)
        if is_simple and not waits and self._queue.take(key, now):
            yield from self._guarded(key, self._reported(binding, turn, now), now)

    def _reported(
        self, binding: ResourceBinding, turn: events.Turn, now: float
    ) -> Iterator[Instruction]:
        seen = SeenBinding(binding=binding, fleet=self.fleet, setting=self._setting)
        told = planning.report(seen, now)
        if told.actions:
            yield from self._carry_out(self._begun(binding, Placing(told), turn.began, now), now)
        else:
            yield from self._schedule(binding.ref, turn, now)

    def _report_in(self, key: Ref, now: float, backlog: int = 0) -> events.GiveTurn:
        waited = Waited(max(0.0, now - self._unreported[key]), backlog)
        # What a binding asks for beyond Karmada may want more than a report.
        presses = _has_additions(self._bindings[key])
        return events.GiveTurn(
            key, events.Why.REPORT, Level.REPORT, left_s(waited, presses=presses)
        )

    def _add(self, key: Ref, now: float, cause: str) -> None:
        self._queue.add(key, self._priority(key), now, cause or key.namespace)

    def _priority(self, key: Ref) -> int:
        binding = self._bindings.get(key)
        return 0 if binding is None else binding.spec.priority


def _has_additions(binding: ResourceBinding) -> bool:
    """Whether a policy asks for more than Karmada knows."""
    return bool((binding.wire.get("spec") or {}).get(ADDITIONS))


def _scheduling_inputs_changed(before: ResourceBinding | None, after: ResourceBinding) -> bool:
    """Whether there is something new to decide, rather than a decision to report."""
    if before is None:
        return True
    asked = [{**(each.wire.get("spec") or {}), "clusters": None} for each in (before, after)]
    return asked[0] != asked[1]
