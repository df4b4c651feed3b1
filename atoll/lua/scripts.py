"""Users' scripts for code that may not wait: their answers, once somebody has waited for them.

A script that asks for the time or for chance is run anew for everyone who asks. One that keeps
being stopped is seldom tried, and answers meanwhile that it was stopped.
"""

import asyncio
import re
from typing import Any

import orjson

from atoll.interpreting.customizing import Answer
from atoll.lua.pool import Pool
from atoll.runtime.asking import Asking, Question, Reply

_CHANGING = re.compile(r"\b(os|random)\b")


class Scripts:
    """Scripts and what they answered; run one at a time each, so that none keeps all workers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._asking = Asking(at_once=1)

    def run(self, script: str, function: str, args: tuple[Any, ...]) -> Answer:
        """What the function gives; raises Unanswered while that is not known."""
        return self._answer(script, function, args)

    def problem(self, script: str, function: str) -> str:
        """Why a script has no such function; empty if it has. Raises Unanswered as `run` does."""
        return self._answer(script, function, None).error

    def _answer(self, script: str, function: str, args: tuple[Any, ...] | None) -> Answer:
        content = orjson.dumps((function, args), option=orjson.OPT_SORT_KEYS)

        async def ask() -> Reply:
            answer = await self._pool.ask(script, function, args)
            return Reply(orjson.dumps((answer.values, answer.error)), failed=answer.stopped)

        lasting = not _CHANGING.search(script)
        found = self._asking.answer(Question(script, content, ask, lasting))
        values, error = orjson.loads(found)
        return Answer(tuple(values), error)

    async def keep(self) -> None:
        """Keep the workers that are started, until this is cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            self._pool.close()
