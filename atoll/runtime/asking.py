"""Answers of others, for code that may not wait: remembered, or a question to be put first.

What always has the same answer is remembered by content. Any other answer is known only to those
who hold it. One who keeps failing is asked again after a pause, longer each time, by one at a time;
meanwhile the last failure is the answer, at once: nobody waits in vain.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from weakref import WeakValueDictionary

from atoll.interpreting.asking import Known, Unanswered

BYTES_MAX = 16 << 20
ASKED_MAX = 1024
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered, as JSON. A failure says more of who was asked than of the question.

    `again_in`: it is worth asking again after so many seconds.
    """

    answer: bytes
    failed: bool = False
    again_in: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Who is asked, by a name, and what. The answer to a lasting question never changes."""

    asked: str
    content: bytes
    ask: Callable[[], Awaitable[Reply]]
    lasting: bool

    @property
    def key(self) -> bytes:
        digest = hashlib.blake2b(self.asked.encode(), digest_size=16)
        digest.update(b"\0" + self.content)
        return digest.digest()


@dataclass(slots=True)
class _Asked:
    """How it went lately with one who is asked."""

    turns: asyncio.Semaphore
    failures: int = 0
    failure: bytes = b""
    due: float = 0.0
    is_tried: bool = False


class Asking:
    """All that was asked, and how it went. Each is asked so many questions at once."""

    def __init__(self, *, at_once: int, bytes_max: int = BYTES_MAX) -> None:
        self._at_once = at_once
        self._bytes_max = bytes_max
        self._bytes = 0
        self._lasting: OrderedDict[bytes, bytes] = OrderedDict()
        self._held: WeakValueDictionary[bytes, Known] = WeakValueDictionary()
        self._asked: OrderedDict[str, _Asked] = OrderedDict()

    def answer(self, question: Question) -> bytes:
        """The answer if it is known; else raises Unanswered."""
        key = question.key
        held = self._held.get(key)
        if held is not None:
            return held.answer
        lasting = self._lasting.get(key)
        if lasting is None:
            raise Unanswered(partial(self._find_out, question, key))
        self._lasting.move_to_end(key)
        return lasting

    async def _find_out(self, question: Question, key: bytes) -> Known:
        found = await self._known(question)
        # Somebody else may have found out meanwhile: all who asked hold the same.
        found = self._held.setdefault(key, found)
        if question.lasting and found.again_in is None:
            self._remember(key, found.answer)
        return found

    async def _known(self, question: Question) -> Known:
        asked, clock = self._about(question.asked), asyncio.get_running_loop().time
        async with asked.turns:
            # Looked at only now: it may have failed others while we waited for our turn.
            if asked.failures and (asked.is_tried or clock() < asked.due):
                return Known(asked.failure, max(asked.due - clock(), FIRST_PAUSE_S))
            asked.is_tried = True
            try:
                reply = await question.ask()
            finally:
                asked.is_tried = False
        if not reply.failed:
            asked.failures = 0
            return Known(reply.answer, reply.again_in)
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(asked.failures, 30), LONGEST_PAUSE_S)
        asked.failures += 1
        asked.failure, asked.due = reply.answer, clock() + pause_s
        return Known(reply.answer, pause_s)

    def _about(self, name: str) -> _Asked:
        asked = self._asked.get(name)
        if asked is None:
            asked = self._asked[name] = _Asked(asyncio.Semaphore(self._at_once))
            if len(self._asked) > ASKED_MAX:
                self._asked.popitem(last=False)
        self._asked.move_to_end(name)
        return asked

    def _remember(self, key: bytes, answer: bytes) -> None:
        if key in self._lasting:
            return
        self._lasting[key] = answer
        self._bytes += len(key) + len(answer)
        while self._bytes > self._bytes_max:
            oldest, dropped = self._lasting.popitem(last=False)
            self._bytes -= len(oldest) + len(dropped)
