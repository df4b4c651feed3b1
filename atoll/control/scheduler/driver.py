"""Drives the scheduler: what happens is told to it, what it says is carried out.

Workers give turns to whoever waits in the queue; what presses less has its turns when nothing else
does. What changes without anybody saying so is looked at before each turn.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from atoll.client.api import Refused
from atoll.client.transport import Unreachable
from atoll.control.explanations.wiring import Explanations
from atoll.control.hub import Hub
from atoll.control.levels import Level
from atoll.control.performing import LookAgain
from atoll.control.scheduler.decide import events
from atoll.control.scheduler.decide.inquiring import Answer
from atoll.control.scheduler.decide.scheduler import Scheduler
from atoll.effects import stopwatch
from atoll.model.action import Ref, Tell
from atoll.model.decision import Verdict
from atoll.runtime.causes import cause, caused_by
from atoll.runtime.children import report_failure
from atoll.runtime.worklist import Worklist
from atoll.scheduling.nodes.view import NodeView
from atoll.scheduling.trigger import Trigger

if TYPE_CHECKING:
    from atoll.control.scheduler.estimation import Estimation

log = logging.getLogger("atoll.scheduler")

Handle = Callable[[events.Event, float], tuple[events.Instruction, ...]]
_Later = tuple[Ref, events.Why]


class Driver:
    """Carries out what the scheduler wants done."""

    name = "scheduler"

    def __init__(self, hub: Hub, estimation: "Estimation | None") -> None:
        self._hub = hub
        self._estimation = estimation
        self.scheduler = Scheduler(hub.setting, asks_estimators=estimation is not None)
        self.handle: Handle = self.scheduler.handle
        self._later: Worklist[_Later] = Worklist(
            self.name, hub.turns, lane=lambda later: later[0].namespace
        )
        self._more = asyncio.Event()
        self.explanations = Explanations(hub)

    def wake(self) -> None:
        """Have whoever gives turns look again at what there is."""
        self._more.set()

    async def run(self, look_around: Callable[[], float | None]) -> None:
        """Give turns to who waits in the queue, for ever; several may do so at once.

        `look_around` is called before each, and says when it is to be called again at the latest.
        """
        while True:
            self._more.clear()
            look_at = look_around()
            now = self._hub.now
            due = self.scheduler.wake_at(now)
            if due <= now:
                with self._hub.turns.holding(Level.ARRIVE):
                    await self._write(self.tell(self._turn()))
                await asyncio.sleep(0)
                continue
            until = min(due, look_at or due)
            try:
                async with asyncio.timeout(max(0.0, until - now)):
                    await self._more.wait()
            except TimeoutError:
                continue

    async def run_later(self) -> None:
        """Give turns to who may wait until nothing presses more, for ever."""

        async def work(later: _Later) -> None:
            await self._write(self.tell(self._turn(*later)))

        await self._later.run(work)

    def tell(self, event: events.Event) -> events.Write | events.WriteWith | None:
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
        hub.fleet = self.scheduler.fleet
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
            self.tell(events.NotWritten(key, unsure=isinstance(late, Unreachable)))
        except Exception as error:  # noqa: BLE001 - one bad binding must not stop the others
            report_failure(f"{self.name}: {key}", error)
            self.tell(events.NotWritten(key, unsure=True))
        else:
            self.tell(events.Written(key))

    async def _ask(self, ask: events.Ask) -> None:
        answers: dict[str, Answer] = {}
        try:
            answers = await self.find_out(ask)
        finally:
            self.tell(events.Answered(ask.key, ask.inquiry, answers))

    async def find_out(self, ask: events.Ask) -> dict[str, Answer]:
        """What estimators answer, by cluster; nothing where none are asked."""
        if self._estimation is None:
            return {}
        return await self._estimation.find_out(ask.inquiry, ask.assumed)

    def nodes(self) -> NodeView:
        """Nodes as they are at this moment."""
        return self._hub.nodes.view(self._hub.fleet, self._hub.now)

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
        return events.Turn(self.nodes(), stopwatch(), key, why, cause(), backlog)
