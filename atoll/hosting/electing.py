"""Being the one who leads, or waiting for it: a Lease is kept, and work is run while it is held.

Comes in: an API server with Leases, and the work of a leader, which runs while we lead. Its `Term`
lets no write pass from the moment on at which another might soon lead, also in a process that was
frozen and does not know yet. Going in good order gives the Lease up: the next one need not wait.
Who is to lead when is decided in `leading`.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from atoll.client.api import ApiClient, Refused, Stale, Taken
from atoll.client.collection import Collection
from atoll.client.mirror import Mirror
from atoll.client.transport import Transport, Unreachable
from atoll.control.insisting import insist
from atoll.effects import Effects
from atoll.errors import AtollError
from atoll.exchange import Request, Response
from atoll.hosting.leading import (
    Candidate,
    LeaseTimes,
    Move,
    StepDown,
    Take,
    Wait,
    believed_until,
    holder_of,
    plan,
    released,
    see,
)
from atoll.members.ways import Reach
from atoll.model.action import Ref
from atoll.runtime.children import Children
from atoll.wire import Object, Wire

log = logging.getLogger("atoll.hosting")

SEAT = Ref("coordination.k8s.io/v1", "Lease", "atoll-system", "atoll-controllers")
_READS = ("GET", "HEAD")
_ATTEMPTS = 4
_STOP_S = 20.0


class StillWorking(AtollError):
    """The work of a leader did not stop in time; only the end of the process stops it now."""


class Term:
    """The time for which somebody leads; it grows with every renewal, and ends by itself."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self.until = 0.0
        """The moment of the event loop's clock at which it ends."""

    def last_until(self, moment: float) -> None:
        """Let it last until then."""
        self.until = moment

    def end(self) -> None:
        """Let it be over now."""
        self.until = 0.0

    @property
    def left_s(self) -> float:
        """How much of it is left."""
        return max(0.0, self.until - self._clock())

    def guard(self, way: Transport) -> Transport:
        """The same way to a server; only while we lead does it let writes pass."""
        return _Guarded(way, self)

    def guard_reach(self, reach: Reach) -> Reach:
        """The same ways to members; only while we lead do they let writes pass."""

        def guarded(cluster: Object, secret: Object | None) -> Transport:
            return self.guard(reach(cluster, secret))

        return guarded


Work = Callable[[Term], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class _Guarded:
    way: Transport
    term: Term

    async def send(self, request: Request) -> Response:
        if request.method not in _READS and not self.term.left_s:
            raise Unreachable(f"{request.method} {request.path} is left to whoever leads now")
        return await self.way.send(request)

    async def close(self) -> None:
        await self.way.close()


async def lead(
    api: ApiClient, me: str, times: LeaseTimes, work: Work, effects: Effects, *, seat: Ref = SEAT
) -> None:
    """Run `work` whenever we lead, until it returns; when it is cancelled or fails, so does this.

    `me` must be a name that no other process has or had. Raises StillWorking if the work goes on
    although we lead no more: then the process must end.
    """
    async with Children("election") as children:
        election = _Election(api, Candidate(me, seat), times, effects)
        await insist(f"the Lease {seat.name}", election.look)
        children.spawn(election.mirror.run(), "the Lease")
        try:
            while True:
                await election.win()
                if await election.serve(work):
                    return
        finally:
            await election.release()


class _Election:
    """One candidate, and the Lease as it sees it."""

    def __init__(
        self, api: ApiClient, candidate: Candidate, times: LeaseTimes, effects: Effects
    ) -> None:
        seat = candidate.seat
        self._leases = Collection(seat.api_version, seat.kind, "leases", namespaced=True)
        self._api = api
        self._candidate = candidate
        self._times = times
        self._effects = effects
        self._clock = asyncio.get_running_loop().time
        self._changed = asyncio.Event()
        self._crew = Children("election", stop_within_s=_STOP_S)
        self.term = Term()
        self.mirror = Mirror(api, replace(self._leases, within=seat.namespace, named=seat.name))
        self.mirror.listen(self._saw)

    def _saw(self, before: Wire | None, after: Wire | None) -> None:
        known, holder = self._candidate, holder_of(after)
        self._candidate = replace(known, sight=see(known.sight, after, self._clock(), self._times))
        self._changed.set()
        if holder not in (known.me, holder_of(before)):
            log.info("%(leader)s leads", {"leader": holder or "Nobody"})

    def _plan(self) -> Move:
        return plan(self._candidate, self._clock(), self._effects.now(), self._times)

    async def win(self) -> None:
        """Wait until we lead."""
        while self._candidate.sent is None:
            match self._plan():
                case Take(lease):
                    await self._take(lease)
                case Wait(for_s):
                    await self._pause(for_s)

    async def serve(self, work: Work) -> bool:
        """Keep the Lease while the work is done; whether that has come to its end."""
        log.info("%(leader)s leads from now on", {"leader": self._candidate.me})
        task = self._crew.spawn(work(self.term), "a leader's work")
        task.add_done_callback(lambda _: self._changed.set())
        try:
            while not task.done():
                match self._plan():
                    case StepDown(why):
                        said = {"leader": self._candidate.me, "err": why}
                        log.warning("%(leader)s leads no more: %(err)s", said)
                        return False
                    case Take(lease):
                        await self._take(lease)
                    case Wait(for_s):
                        await self._pause(for_s)
            task.result()
            return True
        finally:
            await self._end(task)

    async def _end(self, work: asyncio.Task[None]) -> None:
        """Stop the work, which may take a while, but writes nothing from now on."""
        self.term.end()
        await self._crew.cancel()
        if not work.done():
            raise StillWorking(f"the work of a leader still goes on after {_STOP_S:g} s")
        self.term = Term()
        self._candidate = replace(self._candidate, sent=None)

    async def release(self) -> None:
        """Give the Lease up if it is ours and nothing is done by it any more."""
        with suppress(Refused, Unreachable, TimeoutError):
            async with asyncio.timeout(self._times.retry_s):
                while self._candidate.sent is None:
                    lease = self._candidate.sight.lease
                    if lease is None or holder_of(lease) != self._candidate.me:
                        return
                    try:
                        gone = released(lease, self._effects.now())
                        self.mirror.learn(await self._api.replace(self._leases, gone))
                    except Stale:
                        await self.look()

    async def _take(self, lease: Object) -> None:
        """Write the Lease; if that is told in time, we lead for some more time."""
        sent = self._clock()
        until = believed_until(sent, self._times)
        write = self._api.replace if lease["metadata"].get("uid") else self._api.create
        try:
            async with asyncio.timeout_at(self._patient_until()):
                self.mirror.learn(await write(self._leases, lease))
        except (Stale, Taken):
            await self._look_if_told()
        except (Refused, Unreachable, TimeoutError) as problem:
            why = str(problem) or "no answer in time"
            said = {"lease": self._candidate.seat.name, "err": why}
            log.warning("The Lease %(lease)s was not written: %(err)s", said)
            await self._pause(sent + self._times.retry_s - self._clock())
        else:
            if self._clock() < until:
                self._candidate = replace(self._candidate, sent=sent)
                self.term.last_until(until)

    async def _look_if_told(self) -> None:
        """Learn how the Lease is now, if that is told in time."""
        with suppress(Refused, Unreachable, TimeoutError):
            async with asyncio.timeout_at(self._patient_until()):
                await self.look()

    async def look(self) -> None:
        """Learn how the Lease is now."""
        seat, known = self._candidate.seat, self._candidate.sight.lease
        found = await self._api.find(self._leases.path(seat.namespace, seat.name))
        if found is not None:
            self.mirror.learn(found)
        elif known is not None:
            self.mirror.forget(dict(known))

    def _patient_until(self) -> float:
        """How long to wait for one answer; there must be time to ask again before it is late."""
        sent, patient = self._candidate.sent, self._times.renew_deadline_s / _ATTEMPTS
        until = self._clock() + patient
        return until if sent is None else min(until, believed_until(sent, self._times))

    async def _pause(self, for_s: float) -> None:
        """Let time pass, unless something happens."""
        sent = self._candidate.sent
        if sent is not None:
            for_s = min(for_s, believed_until(sent, self._times) - self._clock())
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(for_s):
                await self._changed.wait()
