"""When a member may be asked: at a rate with a burst; and if it does not answer, seldom."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

_TOO_MANY, _OVERLOADED = 429, 503
_LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Bucket:
    """So many tokens were left at a moment; less than none where some were taken in advance."""

    rate: float
    burst: float
    left: float
    at: float

    @classmethod
    def full(cls, rate: float, burst: float, now: float) -> "Bucket":
        return cls(rate, burst, burst, now)

    def taken(self, now: float) -> tuple["Bucket", float]:
        """The bucket without one token, and how long to wait until that one is there."""
        left = self._at(now) - 1.0
        return replace(self, left=left, at=max(self.at, now)), max(0.0, -left / self.rate)

    def held(self, now: float, pause_s: float) -> "Bucket":
        """The bucket of one who was asked to pause: the next token comes after that."""
        least = 1.0 - pause_s * self.rate
        return replace(self, left=min(self._at(now), least), at=max(self.at, now))

    def _at(self, now: float) -> float:
        return min(self.burst, self.left + max(0.0, now - self.at) * self.rate)


def asked_to_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """The seconds after which a server wants to be asked again; None if it did answer.

    Too many requests, and an overload for which a time is given, mean that nothing was done.
    """
    written = headers.get("retry-after", "").strip()
    told = float(written) if written.isascii() and written.isdigit() else None
    if status == _TOO_MANY:
        return min(1.0 if told is None else told, _LONGEST_S)
    if status == _OVERLOADED and told is not None:
        return min(told, _LONGEST_S)
    return None


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
