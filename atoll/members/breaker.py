"""When to ask a member that does not answer: not at once, and not all together.

A state, a moment and what happened come in; the next state goes out. Closed, all may pass. After a
few failures in a row it is open: nobody passes for a while, then one does, on trial. If that gets
an answer it is closed; if not, the next while is longer, and so it is for one that soon fails
again. Nothing here waits, draws or knows a network.
"""

from dataclasses import dataclass, replace

FAILURES = 3
SLOW_S = 20.0
CALM_S = 60.0
FIRST_S = 1.0
LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """`until` is None while it is closed. `rounds`: how often it was opened without a calm time."""

    failures: int = 0
    rounds: int = 0
    until: float | None = None
    on_trial: bool = False
    why: str = ""
    closed_at: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.until is not None

    def wait_s(self, now: float) -> float:
        """How long nobody may pass, as far as is known; nothing once someone may."""
        return 0.0 if self.until is None else max(0.0, self.until - now)

    def asked(self, now: float) -> "Breaker | None":
        """The state with one more on the way; None if it may not pass."""
        if self.until is None:
            return self
        if self.on_trial or now < self.until:
            return None
        return replace(self, on_trial=True)

    def answered(self, now: float, took_s: float, draw: float) -> "Breaker":
        """There was an answer. One that took very long is good for now, but not as a habit."""
        if took_s >= SLOW_S:
            why = f"answers take {took_s:.0f} s"
            if self.until is None:
                return self.failed(now, why, draw)
            return Breaker(FAILURES - 1, self.rounds, why=why, closed_at=now)
        if self.until is not None:
            return Breaker(rounds=self.rounds, closed_at=now)
        is_calm = now - self.closed_at >= CALM_S
        return replace(self, failures=0, rounds=0 if is_calm else self.rounds)

    def failed(self, now: float, why: str, draw: float) -> "Breaker":
        """There was no answer, or a slow one too many; `draw` is between 0 and 1."""
        failures = self.failures + 1
        if self.until is not None and now < self.until:
            return replace(self, why=why)  # it was on the way since before
        if self.until is None and failures < FAILURES:
            return replace(self, failures=failures, why=why)
        pause_s = min(FIRST_S * 2.0**self.rounds, LONGEST_S) * (0.5 + draw / 2)
        return Breaker(failures, self.rounds + 1, now + pause_s, why=why)

    def given_up(self) -> "Breaker":
        """Whoever was on trial went away without having heard anything."""
        return replace(self, on_trial=False)
