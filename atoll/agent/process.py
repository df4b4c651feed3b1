"""The life of an agent's process: it announces its cluster, and looks after it until it is stopped.

A plane or a member that does not answer is waited for; what only a person can mend ends it, with
one line. A cluster that was removed from the plane has no use for an agent, so that ends it too.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from atoll.agent.announcing import Announcement, announce
from atoll.agent.attending import attending
from atoll.agent.renewing import CHECK_S, LEFT, Kept, Renewal, Way, check_certificate
from atoll.client.api import Missing, Refused
from atoll.client.endpoint import Endpoint
from atoll.client.https import Https
from atoll.client.plain import PlainClient
from atoll.client.transport import Unreachable
from atoll.config import NO_TRACING, USUAL_TIMES, Times, TracingChoice
from atoll.control.hub import Hub
from atoll.control.states import families
from atoll.control.wakes import CLUSTER
from atoll.effects import Effects
from atoll.errors import UsageError
from atoll.instruments.families import Family
from atoll.members.objects import CLUSTERS
from atoll.runtime.supervisor import Restart, Supervisor
from atoll.runtime.watchdog import Watchdog
from atoll.scheduling.features import PLANE_USUAL, Features
from atoll.tracing.opening import tracing
from atoll.wire import Wire

log = logging.getLogger("atoll.agent")

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What an agent is to do: which cluster, by which ways, and how soon it believes what."""

    announcement: Announcement
    kept: Kept
    member: Endpoint
    features: Features = PLANE_USUAL
    times: Times = USUAL_TIMES
    check_s: float = CHECK_S
    left: float = LEFT
    show_at: tuple[str, int] | None = None
    """Where health and numbers are to be had; None: nowhere."""
    tracing: TracingChoice = NO_TRACING


def run(errand: Errand, effects: Effects, pause: Callable[[float], None]) -> None:
    """Be the agent until a signal says stop; UsageError if it cannot be one."""
    # Until the loop runs there is nothing to bring to an end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    plane = errand.kept.endpoint()
    check_certificate(plane, effects.now())
    _announce(plane, errand, pause)
    if asyncio.run(_attend(plane, errand, effects)):
        name = errand.announcement.name
        raise UsageError(
            f'cluster "{name}" was removed from the plane, so its agent ends; '
            "to have it back: atoll register"
        )
    log.info("Stopped in good order")


def _announce(plane: Endpoint, errand: Errand, pause: Callable[[float], None]) -> None:
    """Tell the plane of the cluster, however long it takes until both answer."""
    clients = PlainClient(plane), PlainClient(errand.member)
    pause_s = _FIRST_PAUSE_S
    try:
        while True:
            try:
                for note in announce(*clients, errand.announcement):
                    log.warning("%(note)s", {"note": note})
                return
            except (Unreachable, Refused) as problem:
                if isinstance(problem, Refused) and not problem.may_pass:
                    raise
                said = {"err": problem, "again_s": pause_s}
                log.warning("%(err)s (again in %(again_s)g s)", said)
            pause(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    finally:
        for client in clients:
            client.close()


@dataclass(slots=True)
class _State:
    """What can be told of an agent while it runs."""

    watchdog: Watchdog = field(default_factory=Watchdog)
    hub: Hub | None = None

    def not_yet(self) -> str:
        """What is wrong until all that the plane has for the cluster is known."""
        return "" if self.hub is not None else "not yet"

    def numbers(self) -> Iterator[Family]:
        yield from self.watchdog.numbers()
        if self.hub is not None:
            yield from families(self.hub)


async def _attend(plane: Endpoint, errand: Errand, effects: Effects) -> bool:
    """Look after the cluster until stopped, or until it is removed, which is told."""
    removed, state = asyncio.Event(), _State()
    async with AsyncExitStack() as stack:
        stack.enter_context(state.watchdog.stalls.watching())
        if errand.show_at is not None:
            from atoll.agent.showing import shown  # most agents show nothing
            from atoll.apiserver.health import Health

            health = Health({"event-loop": state.watchdog.stuck}, {"plane": state.not_yet})
            await stack.enter_async_context(shown(errand.show_at, health, state.numbers, effects))
        supervisor = await stack.enter_async_context(Supervisor("agent", effects.chance))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, supervisor.stop)

        async def attend() -> None:
            await _look_after(plane, errand, effects, state)
            removed.set()
            supervisor.stop()

        supervisor.start("watchdog", state.watchdog.run)
        supervisor.start("attending", attend)
        await supervisor.until_stopped()
        log.info("Stopping")
    return removed.is_set()


async def _look_after(plane: Endpoint, errand: Errand, effects: Effects, state: "_State") -> None:
    """Look after the cluster until it is removed from the plane."""
    name, way, member = errand.announcement.name, Way(plane), Https(errand.member)
    renewal = Renewal(name, errand.kept, way, member, effects.now, errand.check_s, errand.left)
    try:
        async with (
            tracing(errand.tracing, effects) as tracer,
            attending(
                *(name, way, member, effects),
                features=errand.features,
                times=errand.times,
                tracer=tracer,
            ) as state.hub,
            Supervisor("certificate", effects.chance) as supervisor,
        ):
            supervisor.start("renewal", renewal.run, restart=Restart())
            said = {"cluster": name, "url": errand.member.server}
            log.info("Attending cluster %(cluster)s at %(url)s", said)
            await _until_removed(state.hub, name)
    finally:
        state.hub = None
        await way.close()
        await member.close()


async def _until_removed(hub: Hub, name: str) -> None:
    """Wait until the plane has this Cluster no more, which it is asked itself."""
    changed = asyncio.Event()

    def heard(_: Wire | None, after: Wire | None) -> None:
        if after is None:
            changed.set()

    hub.hear("process", CLUSTER, heard)
    while True:
        try:
            await hub.plane.api.get(CLUSTERS.path(name=name))
        except Missing:
            return
        except (Refused, Unreachable) as problem:
            # Soon after its Cluster an agent's rights go.
            if getattr(problem, "code", None) == 403 and changed.is_set():
                return
            await asyncio.sleep(_FIRST_PAUSE_S)
        else:
            changed.clear()
            await changed.wait()
