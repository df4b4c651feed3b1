"""How fast a member may be asked: tokens that come at a rate and can be saved up to a burst.

Times come in as arguments; nothing here waits. Whoever takes a token that is not there yet is told
how long to wait for it, so that all come in the order in which they asked.
"""

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
