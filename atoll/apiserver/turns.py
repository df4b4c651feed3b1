"""Whose turn it is: how many requests are served at once, and of whom, when there are too many.

In: who asks, and whether to read or to write. Out: a place to be given back, at once, after others
had theirs, or never. Users take turns, however many requests each of them has: nobody waits for
more than a few requests of any other. What is not answered at once is held here, so many of each
user and no longer than `WAIT_S`; beyond that one is told to come again. What is asked is not known.
"""

import asyncio
from collections import deque

from atoll.apiserver.status import too_many_requests
from atoll.config import USUAL_REQUESTS, RequestLimits

WAIT_S = 15.0  # for a place, a quarter of what kube-apiserver gives a whole request
# Requests of one user that may wait. Writers are held with their bodies; readers, such as programs
# that open hundreds of watches as they start, with next to nothing.
READERS_WAITING_MAX, WRITERS_WAITING_MAX = 2048, 256
SHARE = 4  # one user may have this part of all places: they may all wait for a slow webhook
AT_ONCE = 16  # requests of one user that are begun before the others are looked at again


class Turns:
    """The places of a server, apart for readers and writers."""

    def __init__(self, limits: RequestLimits = USUAL_REQUESTS) -> None:
        readers, writers = limits.max_requests_inflight, limits.max_mutating_requests_inflight
        self.reading = Places(readers, READERS_WAITING_MAX)
        self.writing = Places(writers, WRITERS_WAITING_MAX)


class Places:
    """Places of one sort, who has them and who waits; all of it changes in plain functions.

    Whoever has taken a place, at once (`take`) or in time (`wait_for`), has to give it back.
    """

    def __init__(self, count: int, waiting_max: int) -> None:
        self._count = count
        self._waiting_max = waiting_max
        self._share = max(1, count // SHARE)
        self._taken = 0
        self._taken_by: dict[str, int] = {}
        self._begun: dict[str, int] = {}  # since others were last looked at
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the next user first
        self._is_due = False

    def take(self, user: str) -> bool:
        """Take a place if there is one and nobody of this user came before."""
        if user in self._waiting or not self._may_begin(user):
            return False
        self._begin(user)
        return True

    def give_back(self, user: str) -> None:
        self._taken -= 1
        left = self._taken_by[user] - 1
        if left:
            self._taken_by[user] = left
        else:
            del self._taken_by[user]
        if self._waiting:
            self._look_soon()

    async def wait_for(self, user: str) -> None:
        """Take a place when one's turn has come; ApiError 429 if it has not come in time."""
        turn = self._queue(user)
        has_come = False
        try:
            async with asyncio.timeout(WAIT_S):
                await turn
            has_come = True
        except TimeoutError:
            raise too_many_requests() from None
        finally:
            self._unqueue(user, turn)
            if not has_come and turn.done() and not turn.cancelled():
                self.give_back(user)  # it came just when it was no longer waited for

    def _queue(self, user: str) -> asyncio.Future[None]:
        """Wait for a place; it is one's own when this is done."""
        waiting = self._waiting.setdefault(user, deque())
        if len(waiting) >= self._waiting_max:
            raise too_many_requests()
        turn = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        self._look_soon()
        return turn

    def _unqueue(self, user: str, turn: "asyncio.Future[None]") -> None:
        """Wait no longer, be it that one's turn has come or that one has given up."""
        waiting = self._waiting.get(user)
        if waiting is not None and turn in waiting:
            waiting.remove(turn)
            if not waiting:
                del self._waiting[user]

    def _may_begin(self, user: str) -> bool:
        return (
            self._taken < self._count
            and self._taken_by.get(user, 0) < self._share
            and self._begun.get(user, 0) < AT_ONCE
        )

    def _begin(self, user: str) -> None:
        self._taken += 1
        self._taken_by[user] = self._taken_by.get(user, 0) + 1
        self._begun[user] = self._begun.get(user, 0) + 1
        self._look_soon()

    def _look_soon(self) -> None:
        """Look after those who wait once the loop has seen who else has come meanwhile."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._is_due = False
        self._begun.clear()
        going_on = True
        while going_on and self._taken < self._count:
            going_on = False
            for user in [*self._waiting]:
                going_on = self._pass_on(user) or going_on

    def _pass_on(self, user: str) -> bool:
        """Give a place to the first of this user's requests, and the user the last turn."""
        waiting = self._waiting.pop(user)
        while waiting and waiting[0].done():  # given up
            waiting.popleft()
        may_begin = bool(waiting) and self._may_begin(user)
        if may_begin:
            self._begin(user)
            waiting.popleft().set_result(None)
        if waiting:
            self._waiting[user] = waiting
        return may_begin
