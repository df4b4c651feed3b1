"""Notices when the event loop is stuck: something runs in it for long and lets nobody else go on.

The loop beats; a thread of its own looks whether it does, because a loop that is stuck can tell
nobody. What it was doing then is logged, once for each time, and whoever asks is told. How late
the beats come is kept as well: that is how long anybody waits for a turn. Shorter stalls are
counted by those who watch the steps of tasks: see `stalls`. Nothing is ended here.
"""

import asyncio
import logging
import sys
import threading
import traceback

from atoll.effects import stopwatch
from atoll.instruments.families import Family
from atoll.runtime.stalls import Stalls

log = logging.getLogger("atoll.runtime")

BEAT_S = 1.0
STUCK_S = 10.0


class Watchdog:
    """Watches the loop in which it runs. Any thread may ask."""

    def __init__(self, *, beat_s: float = BEAT_S, stuck_s: float = STUCK_S) -> None:
        self._beat_s = beat_s
        self._stuck_s = stuck_s
        self._beaten_at: float | None = None  # none while nothing is watched
        self._ended = threading.Event()
        self.stalls = Stalls()
        self.lag_s = 0.0
        """By how much the last beat was late."""

    async def run(self) -> None:
        """Watch, for ever."""
        self._ended.clear()
        self._beaten_at = stopwatch()
        of = threading.get_ident()
        thread = threading.Thread(target=self._look, args=(of,), name="watchdog", daemon=True)
        thread.start()
        try:
            while True:
                begun = stopwatch()
                await asyncio.sleep(self._beat_s)
                self._beaten_at = stopwatch()
                self.lag_s = max(0.0, self._beaten_at - begun - self._beat_s)
        finally:
            self._beaten_at = None
            self._ended.set()

    def stuck(self) -> str:
        """What is wrong with the loop; nothing if nothing is."""
        silent_s = self._silent_s()
        if silent_s < self._stuck_s:
            return ""
        return f"the event loop has not turned for {silent_s:.1f} s"

    def numbers(self) -> list[Family]:
        """How late the loop is, and what held it up."""
        told = "By how much the last beat of the event loop was late."
        lag: Family = ("atoll_event_loop_lag_seconds", "gauge", told, [("", (), self.lag_s)])
        return [lag, *self.stalls.numbers()]

    def _silent_s(self) -> float:
        """For how long a beat is due."""
        beaten_at = self._beaten_at
        return 0.0 if beaten_at is None else stopwatch() - beaten_at - self._beat_s

    def _look(self, of: int) -> None:
        is_told = False
        while not self._ended.wait(self._beat_s):
            wrong = self.stuck()
            if wrong and not is_told:
                log.error("The event loop is stuck at %(where)s", {"where": _place(of)})
            elif is_told and not wrong:
                log.warning("The event loop turns again")
            is_told = bool(wrong)


def _place(thread: int) -> str:
    """What a thread is doing, from the outside in, in one line."""
    frame = sys._current_frames().get(thread)
    frames = traceback.extract_stack(frame)[-5:] if frame is not None else []
    return " > ".join(f"{each.filename}:{each.lineno} {each.name}" for each in frames)
