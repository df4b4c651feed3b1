"""Taints of clusters and nodes, and the tolerations that answer them."""

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What a taint does to work that does not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


REPELLING = frozenset({Effect.NO_SCHEDULE, Effect.NO_EXECUTE})


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark that keeps work away; `added` is when, in seconds since the epoch, where known."""

    key: str
    effect: Effect
    value: str = ""
    added: float | None = None

    @property
    def repels(self) -> bool:
        return self.effect in REPELLING

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class Toleration:
    """Taints that work puts up with: an empty key or effect means any; `seconds` for how long."""

    key: str = ""
    value: str = ""
    effect: Effect | None = None
    any_value: bool = False
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.any_value or self.value == taint.value


def first_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]
) -> Taint | None:
    """The first taint that keeps new work away, if any."""
    for taint in taints:
        if taint.repels and not any(each.tolerates(taint) for each in tolerations):
            return taint
    return None
