"""Drives the scheduler: what happens is told to it, what it says is carried out.

Workers give turns to whoever waits in the queue; what presses less has its turns when nothing else
does. Prices are looked at before each decision. Whoever writes a binding anyway asks here for its
targets, and everybody who asks about a binding is given what the scheduler knows of the moment.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from atoll.client.api import Refused
from atoll.client.transport import Unreachable
from atoll.control.explanations.wiring import Explanations
from atoll.control.hub import Hub, spec_changed
from atoll.control.levels import Level
from atoll.control.performing import LookAgain
from atoll.control.prices.wiring import Prices
from atoll.control.scheduler.decide import events
from atoll.control.scheduler.decide.inquiring import Answer
from atoll.control.scheduler.decide.proposing import Wish, propose
from atoll.control.scheduler.decide.scheduler import Scheduler
from atoll.control.scheduler.decide.told_moves import Told, told
from atoll.dialects.karmada.cluster import offered
from atoll.dialects.karmada.objects import kinds, resource_bindings
from atoll.effects import stopwatch
from atoll.errors import Invalid
from atoll.instruments.families import Family
from atoll.model.action import Ref, Tell
from atoll.model.decision import Verdict
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.runtime.causes import cause, caused_by
from atoll.runtime.children import report_failure
from atoll.runtime.worklist import Worklist
from atoll.scheduling.nodes.view import NodeView
from atoll.scheduling.question import Surroundings
from atoll.scheduling.trigger import Trigger
from atoll.wire import Object

if TYPE_CHECKING:
    from atoll.control.scheduler.estimation import Estimation

log = logging.getLogger("atoll.scheduler")

_LOOK_AROUND_EVERY_S = 1.0
Handle = Callable[[events.Event, float], tuple[events.Instruction, ...]]
_Later = tuple[Ref, events.Why]


class Scheduling:
    """Decides where bindings go."""

    name = "scheduler"

    def __init__(self, hub: Hub, estimation: "Estimation | None" = None) -> None:
        self._hub = hub
        self._estimation = estimation
        self._scheduler = Scheduler(hub.setting, asks_estimators=estimation is not None)
        self.handle: Handle = self._scheduler.handle
        self._later: Worklist[_Later] = Worklist(
            self.name, hub.turns, lane=lambda later: later[0].namespace
        )
        self._more = asyncio.Event()
        self._looked_at = 0.0
        self._nodes_known = 0
        self.prices = Prices(hub, self._more.set)
        self.explanations = Explanations(hub)
        hub.around = self
        hub.more_numbers.append(self._pending)
        hub.hear_values(self.name, kinds.CLUSTER, self._cluster_changed)
        hub.hear_bindings(self.name, self._binding_changed)

    async def run(self) -> None:
        """Give turns to who waits in the queue, for ever; several may do so at once."""
        while True:
            self._more.clear()
            self._look_around()
            now = self._hub.now
            due = self._scheduler.wake_at(now)
            if due <= now:
                with self._hub.turns.holding(Level.ARRIVE):
                    await self._write(self._tell(self._turn()))
                await asyncio.sleep(0)
                continue
            until = min(due, self.prices.until or due)
            try:
                async with asyncio.timeout(max(0.0, until - now)):
                    await self._more.wait()
            except TimeoutError:
                continue

    async def run_later(self) -> None:
        """Give turns to who may wait until nothing presses more, for ever."""

        async def work(later: _Later) -> None:
            await self._write(self._tell(self._turn(*later)))

        await self._later.run(work)

    def schedule_on_write(self, wire: Object) -> Object:
        """A binding that is about to be written, with its targets if it can be decided now."""
        self._look_at_prices()
        binding = resource_bindings.decode(wire, self._hub.binding(Ref.of(wire)))
        write = self._tell(events.ScheduleOnWrite(binding, self._nodes(), stopwatch()))
        return write.binding if isinstance(write, events.WriteWith) else wire

    def of(self, binding: ResourceBinding) -> Surroundings:
        """What is around a binding that is decided now."""
        return self._scheduler.surroundings(binding, self._nodes())

    def anew(self, binding: ResourceBinding) -> Surroundings:
        """What would be around it if it had been given nothing yet."""
        return self._scheduler.surroundings_anew(binding, self._nodes())

    async def moves(self, words: Mapping[str, str]) -> Told:
        """What is worth placing anew, tried out; one decision at a time, and others in between."""
        self._look_at_prices()
        wish, hub = Wish.of(words), self._hub
        offers = {each.name: offered(each.wire) for each in hub.members}
        turns = propose(self._scheduler.rehearsal(self._nodes(), hub.now), wish, offers)
        answers: Mapping[str, Answer] | None = None
        while True:
            try:
                ask = next(turns) if answers is None else turns.send(answers)
            except StopIteration as end:
                return told(end.value, hub.plane.values(kinds.CLUSTER_PRICE))
            await asyncio.sleep(0)
            answers = {} if ask is None else await self._find_out(ask)

    def _tell(self, event: events.Event) -> events.Write | events.WriteWith | None:
        """Hand on an event, and do what that calls for, but for the write, which is returned."""
        hub, began, now, write = self._hub, stopwatch(), self._hub.now, None
        for each in self.handle(event, now):
            match each:
                case events.Write() | events.WriteWith():
                    write = each
                case events.QueueChanged():
                    self._more.set()
                case events.GiveTurn(key, why, level, after_s) if after_s:
                    self._later.add_later((key, why), after_s, level)
                case events.GiveTurn(key, why, level):
                    self._later.add((key, why), level)
                case events.Ask():
                    hub.children.spawn(self._ask(each), f"estimators for {each.key}")
                case events.Searched():
                    self.handle(events.SearchTook(hub.now - now), hub.now)
                case events.Decided():
                    hub.numbers.decided.note(stopwatch() - began, "All")
                case events.Scheduled():
                    self._record(each)
                case events.Queued(why):
                    hub.numbers.incoming.add(why)
                case events.Failed(key, error):
                    report_failure(f"{self.name}: {key}", error)
                case events.Forget(key):
                    self.explanations.forget(key)
        hub.fleet = self._scheduler.fleet
        return write

    async def _write(self, write: events.Write | events.WriteWith | None) -> None:
        if not isinstance(write, events.Write):
            return
        key, performer = write.key, self._hub.performer
        try:
            with caused_by(write.cause):
                for action in write.actions:
                    if isinstance(action, Tell):
                        performer.tell_later(action)
                    else:
                        await performer.perform(action)
        except (LookAgain, Unreachable, Refused) as late:
            log.info("%(binding)s is scheduled again: %(err)s", {"binding": key, "err": late})
            self._tell(events.NotWritten(key, unsure=isinstance(late, Unreachable)))
        except Exception as error:  # noqa: BLE001 - one bad binding must not stop the others
            report_failure(f"{self.name}: {key}", error)
            self._tell(events.NotWritten(key, unsure=True))
        else:
            self._tell(events.Written(key))

    async def _ask(self, ask: events.Ask) -> None:
        answers: dict[str, Answer] = {}
        try:
            answers = await self._find_out(ask)
        finally:
            self._tell(events.Answered(ask.key, ask.inquiry, answers))

    async def _find_out(self, ask: events.Ask) -> dict[str, Answer]:
        if self._estimation is None:
            return {}
        return await self._estimation.find_out(ask.inquiry, ask.assumed)

    def _record(self, scheduled: events.Scheduled) -> None:
        """Count, explain and trace a decision; one that was not written is only counted."""
        key, placing, hub = scheduled.key, scheduled.placing, self._hub
        decision, verdict = placing.decision, Verdict.SCHEDULER_ERROR
        if scheduled.written and decision is not None:
            verdict = placing.verdict or verdict
            self.explanations.note(key, decision, placing.trigger, placing.gives)
            if hub.traces is not None:
                hub.traces.placed(key, decision, placing.trigger, scheduled.began)
        hub.numbers.schedule_took(
            stopwatch() - scheduled.began,
            ok=verdict is Verdict.SUCCESS,
            scaled=placing.trigger is Trigger.REPLICAS_CHANGED,
            outcome=verdict,
        )
        if verdict is not Verdict.SUCCESS:
            hub.numbers.incoming.add("ScheduleAttemptFailure")

    def _turn(self, key: Ref | None = None, why: events.Why = events.Why.REVIEW) -> events.Turn:
        backlog = self._hub.turns.backlog()
        return events.Turn(self._nodes(), stopwatch(), key, why, cause(), backlog)

    def _nodes(self) -> NodeView:
        return self._hub.nodes.view(self._hub.fleet, self._hub.now)

    def _look_around(self) -> None:
        """See what changes without anybody saying so: prices by the clock, time, nodes."""
        self._look_at_prices()
        if self._hub.now >= self._looked_at + _LOOK_AROUND_EVERY_S:
            self._looked_at = self._hub.now
            known, self._nodes_known = self._nodes_known, self._hub.nodes.changes()
            self._tell(events.TimePassed(nodes_changed=known != self._nodes_known))

    def _look_at_prices(self) -> None:
        if changed := self.prices.settle():
            self._tell(events.PricesChanged({name: self.prices.of(name) for name in changed}))

    def _pending(self) -> list[Family]:
        waiting = self._scheduler.pending(self._hub.now)
        told = "Bindings that wait for a decision, that back off, and that wait for room."
        samples = [("", (("queue", each),), float(count)) for each, count in waiting.items()]
        return [("scheduler_pending_bindings", "gauge", told, samples)]

    def _cluster_changed(self, before: Member | None, after: Member | None) -> None:
        known = after or before
        found = None if after is None else after.cluster()
        if isinstance(found, Invalid):
            said = {"cluster": after and after.name, "err": found}
            log.warning("Cluster %(cluster)s stays as it was: %(err)s", said)
        elif known is not None:
            self.prices.learn(known.name, None if found is None else found.price)
            priced = None if found is None else replace(found, price=self.prices.of(known.name))
            self._tell(events.ClusterChanged(known.name, priced, cause()))

    def _binding_changed(
        self, before: ResourceBinding | None, after: ResourceBinding | None
    ) -> None:
        changed = spec_changed(before, after)
        self._tell(events.BindingChanged(before, after, changed, cause()))
