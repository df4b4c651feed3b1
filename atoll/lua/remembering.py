"""Answers of scripts, remembered by content; and scripts that keep being stopped, left alone.

Planning asks the same again and again. A script that asks for the time or for chance is run every
time. One that was stopped three times in a row costs a second each time, so from then on only
every hundredth call is made, until one goes well: everything else must go on.
"""

import hashlib
import re
from collections import OrderedDict
from typing import Any

import orjson

from atoll.interpreting.customizing import Answer, Run

BYTES_MAX = 16 << 20
SCRIPTS_MAX = 1024
STRIKES = 3
LEFT_ALONE = 100
_CHANGING = re.compile(r"\b(os|random)\b")


class Remembering:
    """A `Run` that asks another one only for what is not known yet."""

    def __init__(self, run: Run, *, bytes_max: int = BYTES_MAX) -> None:
        self._run = run
        self._bytes_max = bytes_max
        self._bytes = 0
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._stopped: OrderedDict[str, int] = OrderedDict()

    def __call__(self, script: str, function: str, args: tuple[Any, ...]) -> Answer:
        """What the function gives, or gave when it was last asked the same."""
        if _CHANGING.search(script):
            return self._watched(script, function, args)
        asked = orjson.dumps((script, function, args), option=orjson.OPT_SORT_KEYS)
        key = hashlib.blake2b(asked, digest_size=16).digest()
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            values, error = orjson.loads(known)
            return Answer(tuple(values), error)
        answer = self._watched(script, function, args)
        if not answer.stopped:
            self._remember(key, orjson.dumps((answer.values, answer.error)))
        return answer

    def _remember(self, key: bytes, answer: bytes) -> None:
        self._known[key] = answer
        self._bytes += len(key) + len(answer)
        while self._bytes > self._bytes_max:
            oldest, dropped = self._known.popitem(last=False)
            self._bytes -= len(oldest) + len(dropped)

    def _watched(self, script: str, function: str, args: tuple[Any, ...]) -> Answer:
        strikes = self._stopped.get(script, 0)
        if strikes >= STRIKES and (strikes - STRIKES) % LEFT_ALONE != LEFT_ALONE - 1:
            self._stopped[script] = strikes + 1
            problem = f"was stopped {STRIKES} times in a row and is seldom tried; correct it"
            return Answer(error=problem, stopped=True)
        answer = self._run(script, function, args)
        if not answer.stopped:
            self._stopped.pop(script, None)
            return answer
        self._stopped[script] = strikes + 1
        if len(self._stopped) > SCRIPTS_MAX:
            self._stopped.popitem(last=False)
        return answer
