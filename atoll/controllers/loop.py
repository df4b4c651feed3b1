"""The only reconcile loop. A controller is a value: what it observes, and how it plans.

Nothing is remembered between rounds. Cancelled at any await, the next round sees what was done and
plans the rest, so a crash needs no clean-up.
"""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from atoll.controllers.performing import LookAgain, Performer
from atoll.model.action import Plan
from atoll.runtime.worklist import Worklist

K = TypeVar("K", bound=Hashable)

_AGAIN_S = 0.02


@dataclass(frozen=True, slots=True)
class Controller(Generic[K]):
    """`observe` gathers what is known of a key from the mirrors; `plan` is pure.

    A plan for what is not there any more is nothing: `observe` then returns None.
    """

    name: str
    observe: Callable[[K], Any | None]
    plan: Callable[[Any], Plan]


class Loop(Generic[K]):
    """Brings every key that is woken a step closer to what its owner asked for."""

    def __init__(self, controller: Controller[K], performer: Performer) -> None:
        self._controller = controller
        self._performer = performer
        self._keys: Worklist[K] = Worklist(controller.name)

    def wake(self, key: K) -> None:
        self._keys.add(key)

    @property
    def run(self) -> Callable[[], Awaitable[None]]:
        """What a worker does, for ever."""
        return lambda: self._keys.run(self._reconcile)

    async def _reconcile(self, key: K) -> None:
        seen = self._controller.observe(key)
        if seen is None:
            return
        plan = self._controller.plan(seen)
        try:
            for action in plan.actions:
                await self._performer.perform(action)
        except LookAgain:
            # The mirror will tell; should it have told already, a moment later is soon enough.
            self._keys.add_later(key, _AGAIN_S)
        if plan.again_in is not None:
            self._keys.add_later(key, plan.again_in)
