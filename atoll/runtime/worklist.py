"""What is still to be looked at: keys, each at most once, in the order in which they came.

Whoever notices a change adds a key; a worker takes keys and brings each a step closer to where it
should be. Several may work on one list; no key is ever with two of them. A key that fails comes
back after a pause, longer each time; one that is added while it is being worked on is worked on
again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from atoll.runtime.children import report_failure

K = TypeVar("K", bound=Hashable)

log = logging.getLogger("atoll.runtime")

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 30.0


class Worklist(Generic[K]):
    """Keys that wait, and those that wait for a second chance."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: dict[K, None] = {}
        self._busy: set[K] = set()
        self._failures: dict[K, int] = {}
        self._more = asyncio.Event()

    def add(self, key: K) -> None:
        self._waiting[key] = None
        self._more.set()

    def add_later(self, key: K, pause_s: float) -> None:
        """Add a key after a pause."""
        asyncio.get_running_loop().call_later(pause_s, self.add, key)

    def __len__(self) -> int:
        return len(self._waiting)

    async def run(self, work: Callable[[K], Awaitable[None]]) -> None:
        """Work on every key that is added, one at a time, for ever."""
        while True:
            key = await self._next()
            try:
                await work(key)
            except Exception as error:  # noqa: BLE001 - one bad key must not stop the others
                self._retry(key, error)
            else:
                self._failures.pop(key, None)
                await asyncio.sleep(0)
            finally:
                self._busy.discard(key)
                if key in self._waiting:
                    self._more.set()

    async def _next(self) -> K:
        """The first key that is with nobody; from now on it is with the caller."""
        while True:
            await self._more.wait()
            for key in self._waiting:
                if key not in self._busy:
                    del self._waiting[key]
                    self._busy.add(key)
                    return key
            self._more.clear()

    def _retry(self, key: K, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause_s = min(_FIRST_PAUSE_S * 2 ** (failures - 1), _LONGEST_PAUSE_S)
        report_failure(f"{self._name}: {key} (again in {pause_s:g} s)", error)
        self.add_later(key, pause_s)
