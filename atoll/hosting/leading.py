"""Who leads, by a Lease that candidates write in turn: what one of them should do next.

Comes in: the Lease as it was seen, what we hold of it, and our own clock that only goes on; goes
out: a write of the Lease, a wait, or to step down. Nobody's wall clock is believed: a Lease counts
as held for its duration from the moment this side first saw it as it is. Times of day are written
for people. How the Lease is read and written, and what a leader does, is not known here.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from atoll.model.action import Ref
from atoll.wire import Object

_MOMENT = "%Y-%m-%dT%H:%M:%S.%fZ"
_RELEASED_S = 1
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """How long a Lease is held and how it is kept, in seconds; Kubernetes' own values.

    What is between deadline and duration is for requests that are under way, and for clocks that
    do not run alike.
    """

    duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0

    def fault(self) -> str:
        """What is wrong with these times, in one sentence; empty if nothing is."""
        if self.retry_s <= 0:
            return "the retry period of a leader must be greater than zero"
        if self.renew_deadline_s <= self.retry_s:
            return "the renew deadline of a leader must be greater than its retry period"
        if self.duration_s <= self.renew_deadline_s:
            return "the lease duration of a leader must be greater than its renew deadline"
        return ""


USUAL_LEASE_TIMES = LeaseTimes()


@dataclass(frozen=True, slots=True)
class Sight:
    """The Lease as it was last seen, and the moment of our clock from which it may be taken."""

    lease: Object | None = None
    free_at: float = 0.0


UNSEEN = Sight()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One who leads or would like to, by the Lease of a name.

    `sent`: when the write was sent by which it leads; others count from later, never from earlier.
    """

    me: str
    seat: Ref
    sight: Sight = UNSEEN
    sent: float | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """Write this Lease, to acquire or to renew it; one without a resourceVersion is made."""

    lease: Object


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long, unless another Lease is seen before."""

    for_s: float


@dataclass(frozen=True, slots=True)
class StepDown:
    """Lead no more, for the reason given."""

    why: str


Move = Take | Wait | StepDown


def see(before: Sight, lease: Object | None, now: float, times: LeaseTimes) -> Sight:
    """What is known once the Lease is seen like this.

    One that is gone although it was held is waited for like one that is there: who held it may not
    know yet.
    """
    if _record(before.lease) == _record(lease):
        # Somebody's label makes it no younger, but a write must name the version it is now.
        return Sight(lease, before.free_at)
    return Sight(lease, now + _held_for(before.lease if lease is None else lease, times))


def plan(candidate: Candidate, now: float, stamp: datetime, times: LeaseTimes) -> Move:
    """The next thing to do; `stamp` is the time of day that is written into the Lease."""
    sight, me, sent = candidate.sight, candidate.me, candidate.sent
    holder = holder_of(sight.lease)
    if sent is not None:
        if sight.lease is not None and holder != me:
            return StepDown(f"{holder or 'nobody'} holds the Lease now")
        if now >= believed_until(sent, times):
            return StepDown(f"it could not be renewed for {times.renew_deadline_s:g} s")
        due = now if sight.lease is None else sent + times.retry_s
        return Wait(due - now) if now < due else Take(_taken(candidate, stamp, times))
    if holder == me or now >= sight.free_at:
        return Take(_taken(candidate, stamp, times))
    return Wait(sight.free_at - now)


def believed_until(sent: float, times: LeaseTimes) -> float:
    """How long one leads by a write that was sent then."""
    return sent + times.renew_deadline_s


def released(lease: Object, stamp: datetime) -> Object:
    """The Lease, given up by its holder, so that the next one need not wait."""
    written = _written(stamp, lease)
    spec = {
        **_spec(lease),
        "holderIdentity": "",
        "leaseDurationSeconds": _RELEASED_S,
        "acquireTime": written,
        "renewTime": written,
    }
    return {**lease, "spec": spec}


def holder_of(lease: Object | None) -> str:
    """Who holds a Lease; empty if nobody does."""
    return str(_spec(lease).get("holderIdentity") or "")


def _taken(candidate: Candidate, stamp: datetime, times: LeaseTimes) -> Object:
    """The Lease as this candidate's: its number of holders grows when it was another's."""
    lease = candidate.sight.lease or _fresh(candidate.seat)
    before, written = _spec(lease), _written(stamp, lease)
    is_ours = holder_of(lease) == candidate.me
    count = before.get("leaseTransitions")
    count = count if isinstance(count, int) else 0
    spec = {
        **before,
        "holderIdentity": candidate.me,
        "leaseDurationSeconds": ceil(times.duration_s),
        "acquireTime": (before.get("acquireTime") if is_ours else None) or written,
        "renewTime": written,
        "leaseTransitions": count if is_ours or not before else count + 1,
    }
    return {**lease, "spec": spec}


def _fresh(seat: Ref) -> Object:
    return {
        "apiVersion": seat.api_version,
        "kind": seat.kind,
        "metadata": {"namespace": seat.namespace, "name": seat.name},
    }


def _record(lease: Object | None) -> Any:
    """What makes two sights of a Lease the same."""
    return None if lease is None else (lease["metadata"].get("uid"), _spec(lease))


def _held_for(lease: Object | None, times: LeaseTimes) -> float:
    if not holder_of(lease):
        return 0.0
    written = _spec(lease).get("leaseDurationSeconds")
    return written if isinstance(written, int) and written > 0 else times.duration_s


def _written(stamp: datetime, lease: Object) -> str:
    """A time of day as a Lease has it; another one than the last, so that a renewal is seen."""
    last = _spec(lease).get("renewTime")
    return next(
        written
        for written in (each.strftime(_MOMENT) for each in (stamp, stamp + _TICK))
        if written != last
    )


def _spec(lease: Object | None) -> dict[str, Any]:
    return (lease or {}).get("spec") or {}
