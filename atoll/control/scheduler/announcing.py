"""Decisions that were written, told in the statuses of their bindings when nothing presses more.

In: bindings that were placed. Out: their statuses, a moment later, or longer where very many are to
be told of, unless somebody has told of the decision with something else by then: most often that is
what clusters say. What cannot be told as it stands is decided anew: whoever decides is asked to.
"""

import asyncio
from collections.abc import Awaitable, Callable

from atoll.client.api import Refused
from atoll.client.transport import Unreachable
from atoll.control.hub import Hub
from atoll.control.levels import Level
from atoll.control.patience import left_s
from atoll.control.performing import LookAgain
from atoll.control.scheduler.decide import plan as placing
from atoll.control.settling import Settling
from atoll.dialects.karmada.standing import is_told
from atoll.model.action import NOTHING, Object, Plan, Ref
from atoll.runtime.worklist import Worklist


class Announcing:
    """Says where bindings go."""

    def __init__(
        self,
        hub: Hub,
        waits: Callable[[Ref], bool],
        decide: Callable[[Ref], None],
        carry_out: Callable[[Ref, Plan], Awaitable[None]],
    ) -> None:
        """`waits`: whether a binding is being decided, or is to be."""
        self._hub = hub
        self._waits = waits
        self._decide = decide
        self._carry_out = carry_out
        self._placed: Worklist[Ref] = Worklist("placed", hub.turns)
        self._settling: Settling[Ref] = Settling(lambda: hub.now)

    async def run(self) -> None:
        """Say it of what is to be told of, for ever."""
        await self._placed.run(self._say)

    def add_untold(self, key: Ref) -> None:
        """Have a decision told in a moment, unless somebody has done so by then."""
        if not self._settling.has(key):
            self._look(key)

    def _look(self, key: Ref) -> None:
        wire = self._hub.plane.find(key) or {}
        if is_told(wire) and not _wants_more(wire):
            self._settling.forget(key)
        elif pause_s := left_s(self._settling.waited(key), presses=_wants_more(wire)):
            self._settling.begin(key)
            asyncio.get_running_loop().call_later(pause_s, self._look, key)
        else:
            self._settling.forget(key)
            self._placed.add(key, Level.REPORT)

    async def _say(self, key: Ref) -> None:
        hub, wire = self._hub, self._hub.plane.find(key) or {}
        is_plain = not (self._waits(key) or _wants_more(wire))
        told = report(hub, wire, hub.now) if is_plain else NOTHING
        if not told.actions:
            self._decide(key)
            return
        try:
            await self._carry_out(key, told)
        except (LookAgain, Unreachable, Refused):
            self._decide(key)


def report(hub: Hub, binding: Object, now: float) -> Plan:
    """What is yet to be told of the decision that a binding carries, if that stands."""
    seen = placing.SeenBinding(binding=binding, fleet=hub.fleet, setting=hub.setting)
    return placing.report(seen, now)


def _wants_more(binding: Object) -> bool:
    """Whether more may be wanted than to be told of: by what Atoll adds to policies."""
    return bool((binding.get("spec") or {}).get("atoll"))
