"""What is not told yet since it will soon be another: since when there has been something to tell.

Plans come in by key. One that puts off what there is to tell says when to look again; until there
is one that does not, the time is counted from the first.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from atoll.control.patience import Waited
from atoll.model.action import Plan

K = TypeVar("K", bound=Hashable)


class Settling(Generic[K]):
    """How long keys have had something to tell."""

    def __init__(self, now: Callable[[], float], backlog: Callable[[], int]) -> None:
        """`backlog`: how much waits for its turn."""
        self._now = now
        self._backlog = backlog
        self._since: dict[K, float] = {}

    def has(self, key: K) -> bool:
        return key in self._since

    def waited(self, key: K) -> Waited:
        """For how long there has been something to tell of a key, and how much waits."""
        now = self._now()
        return Waited(max(0.0, now - self._since.get(key, now)), self._backlog())

    def planned(self, key: K, plan: Plan) -> Plan:
        """The plan, after it was noted whether it tells all there is to tell."""
        if plan.again_in is None:
            self.forget(key)
        else:
            self.begin(key)
        return plan

    def begin(self, key: K) -> None:
        """There is something to tell of a key from now on, unless there was before."""
        self._since.setdefault(key, self._now())

    def forget(self, key: K) -> None:
        """There is nothing to tell of a key any more."""
        self._since.pop(key, None)
