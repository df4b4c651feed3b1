"""What happened, as a running hash and, if asked, as readable lines.

Steps (time and whose callback ran) and notes (what a scenario saw) come in; a short digest goes
out. Two runs with equal digests did the same things in the same order. Addresses never enter: a
callback is known by its owner's birth or by its qualified name.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

from simulation.birth import SimFuture, SimTask

Write = Callable[[str], None]


class Trace:
    """A hash over everything that happened so far.

    `write` gets one line per note, and with `each_step` one per callback as well.
    """

    def __init__(self, write: Write | None = None, *, each_step: bool = False) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self._write = write
        self._each_step = each_step and write is not None
        self.step_count = 0

    def step(self, now_ns: int, label: str) -> None:
        """Record that the callback of this label runs now."""
        self.step_count += 1
        self._hash.update(f"{now_ns} {label}\n".encode())
        if self._each_step and self._write is not None:
            self._write(f"{now_ns / 1e9:14.6f}  {label}")

    def note(self, now_ns: int, who: str, what: str) -> None:
        """Record something a reader of the trace should see."""
        self._hash.update(f"{now_ns} {who}: {what}\n".encode())
        if self._write is not None:
            self._write(f"{now_ns / 1e9:14.6f}  {who:<20}  {what}")

    def digest(self) -> str:
        return self._hash.hexdigest()


def label_of(callback: Callable[..., Any]) -> str:
    """Name a callback without its address: the task it belongs to, or its qualified name."""
    while isinstance(callback, partial):
        callback = callback.func
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, SimTask):
        return f"{owner.get_name()}#{owner.birth}"
    name = getattr(callback, "__qualname__", type(callback).__qualname__)
    if isinstance(owner, SimFuture):
        return f"{name}#{owner.birth}"
    return str(name)
