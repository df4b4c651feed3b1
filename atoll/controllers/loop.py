"""The only reconcile loop. A controller is a value: what it observes, and how it plans.

Nothing is remembered between rounds. Cancelled at any await, the next round sees what was done and
plans the rest, so a crash needs no clean-up.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from atoll.client.api import Refused, Wire
from atoll.client.transport import Unreachable
from atoll.controllers.levels import Level
from atoll.controllers.performing import LookAgain, Performer
from atoll.model.action import Action, Plan, Tell
from atoll.runtime.worklist import Turns, Worklist

K = TypeVar("K", bound=Hashable)

_AGAIN_S = 0.02
_AGAIN_AT_MOST_S = 1.0


def _is_no_news(action: Action, refusal: Refused) -> bool:
    return False


def _need_not_know(action: Action, stored: Wire | None) -> None:
    return


@dataclass(frozen=True, slots=True)
class Controller(Generic[K]):
    """`observe` gathers what is known of a key from the mirrors; `plan` is pure.

    A plan for what is not there any more is nothing: `observe` then returns None. `refused` is told
    what an API server refused, and says whether that is news worth planning for at once; `done` is
    told what was done, and what was stored.
    """

    name: str
    observe: Callable[[K], Any | None]
    plan: Callable[[Any], Plan]
    refused: Callable[[Action, Refused], bool] = _is_no_news
    done: Callable[[Action, Wire | None], None] = _need_not_know


class Loop(Generic[K]):
    """Brings every key that is woken a step closer to what its owner asked for."""

    def __init__(
        self, controller: Controller[K], performer: Performer, turns: Turns | None = None
    ) -> None:
        self._controller = controller
        self._performer = performer
        self._keys: Worklist[K] = Worklist(controller.name, turns)
        self._late: dict[K, float] = {}
        self._unsure: dict[K, Action] = {}

    @property
    def name(self) -> str:
        return self._controller.name

    def wake(self, key: K, level: Level = Level.ARRIVE) -> None:
        self._keys.add(key, level)

    async def run(self) -> None:
        """Work on what is woken, for ever; several may do so at once."""
        await self._keys.run(self._reconcile)

    async def _reconcile(self, key: K) -> None:
        if key in self._unsure:
            await self._performer.look(self._unsure[key])
            del self._unsure[key]
        seen = self._controller.observe(key)
        if seen is None:
            return
        plan = self._controller.plan(seen)
        for action in plan.actions:
            if isinstance(action, Tell):
                self._performer.tell_later(action)
                continue
            try:
                self._controller.done(action, await self._performer.perform(action))
            except LookAgain:
                # The mirror will tell; should it have told already, a moment later is soon enough.
                # While it lags, every try is in vain: they become fewer.
                pause_s = self._late.get(key, _AGAIN_S)
                self._late[key] = min(2 * pause_s, _AGAIN_AT_MOST_S)
                self._keys.add_later(key, pause_s)
                return
            except Unreachable:
                # It may have happened: what is planned next must know.
                self._unsure[key] = action
                raise
            except Refused as refusal:
                if not self._controller.refused(action, refusal):
                    raise
                self._keys.add(key)
                return
        self._late.pop(key, None)
        if plan.again_in is not None:
            self._keys.add_later(key, plan.again_in)
