"""What is not told yet since it will soon be another: since when there has been something to tell.

Plans come in by key. One that puts off what there is to tell says when to look again; until there
is one that does not, the time is counted from the first. The more keys have something to tell, the
longer each may be put off.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from atoll.model.action import Plan
from atoll.planning.working import settle_s

K = TypeVar("K", bound=Hashable)


class Settling(Generic[K]):
    """How long keys have had something to tell."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: dict[K, float] = {}

    def left_s(self, key: K) -> float:
        """For how long what there is to tell of a key may still be put off; none if it may not."""
        now = self._now()
        return max(0.0, self._since.get(key, now) + settle_s(len(self._since)) - now)

    def planned(self, key: K, plan: Plan) -> Plan:
        """The plan, after it was noted whether it tells all there is to tell."""
        if plan.again_in is None:
            self.forget(key)
        else:
            self._since.setdefault(key, self._now())
        return plan

    def forget(self, key: K) -> None:
        """There is nothing to tell of a key any more."""
        self._since.pop(key, None)
