"""Deciding again with changed inputs, so often and no more.

A decision and parts of a change come in; what they lead to goes out. Every effect that is told was
decided, with the same algorithm that decides everything else.
"""

from collections.abc import Callable
from dataclasses import dataclass

from atoll.model.binding import Target
from atoll.model.decision import Verdict
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.whatif.parts import Inputs, Part, applied

_SHOWN = 4
Parts = tuple[Part, ...]
Holds = Callable[[Decision], bool]
Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Effect:
    """How the decision comes out after a change."""

    verdict: Verdict
    targets: tuple[Target, ...]
    moved: int
    """How many replicas, or clusters where there are none, are placed otherwise."""
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """What would have to change, all parts of it together, and to what effect."""

    parts: Parts
    effect: Effect

    @property
    def size(self) -> Size:
        """The smaller, the nearer."""
        return size(self.parts)

    def __str__(self) -> str:
        return f"{self.effect.text}, if you {' and '.join(map(str, self.parts))}"


class Trials:
    """Decisions that are made anew; `left` is how many more may be."""

    def __init__(self, decision: Decision, most: int) -> None:
        self.decision = decision
        self.inputs = Inputs.of(decision)
        self.left = most
        self._made: dict[Parts, Decision] = {}

    def decide(self, parts: Parts) -> Decision | None:
        """The decision after these changes; None if no more may be made."""
        made = self._made.get(parts)
        if made is None and self.left > 0:
            self.left -= 1
            made = self._made[parts] = reconsider(self.decision, parts)
        return made

    def change(self, parts: Parts) -> Change | None:
        """These parts as a change, if they lead to anything else."""
        after = self.decide(parts)
        if after is None or _told_apart(after) == _told_apart(self.decision):
            return None
        return Change(parts, _effect(self.decision, after))

    def least(
        self, make: Callable[[int], Parts | None], bounds: tuple[int, int], holds: Holds
    ) -> list[Parts]:
        """The parts for the smallest number in bounds after which it holds; none if none does.

        Looks close by first. What holds for a number is taken to hold for larger ones.
        """
        (low, high), step, found = bounds, 1, list[Parts]()
        while low <= high and self.left > 0:
            number = (low + high) // 2 if found else min(low + step - 1, high)
            parts = make(number)
            after = self.decide(parts) if parts else None
            if parts is not None and after is not None and holds(after):
                found, high = [parts], number - 1
            else:
                low, step = number + 1, step * 2
        return found


def size(parts: Parts) -> Size:
    """How large these changes are together: edits, how far they reach, how much."""
    edits, reach, amount = zip(*(each.size for each in parts), strict=True)
    return sum(edits), max(reach), max(amount)


def reconsider(decision: Decision, parts: Parts) -> Decision:
    """The decision that is made after these changes."""
    binding, fleet, surroundings = applied(parts, Inputs.of(decision))
    return decide(binding, fleet, decision.setting, surroundings)


def _told_apart(decision: Decision) -> tuple[str, dict[str, int]]:
    return decision.message, dict(decision.targets)


def _effect(before: Decision, after: Decision) -> Effect:
    was, now = dict(before.targets), dict(after.targets)
    moves = [name for name in sorted({*was, *now}) if was.get(name) != now.get(name)]
    gains = (max(0, now.get(name, 0) - was.get(name, 0)) for name in moves)
    moved = sum(gains) or len(moves)
    return Effect(after.verdict, after.targets, moved, _told(before, after, moves))


def _told(before: Decision, after: Decision, moves: list[str]) -> str:
    if not after.ok:
        return f"{after.verdict}: {after.message}"
    was, now = dict(before.targets), dict(after.targets)
    # What is new first: that is what was asked about.
    moves = sorted(moves, key=lambda name: (name in was, name))
    told = [_move(name, was.get(name), now.get(name)) for name in moves]
    more = len(told) - _SHOWN
    text = ", ".join(told[:_SHOWN]) + (f" and {more} more change" if more > 0 else "")
    return text if before.ok else f"it can be placed: {text}"


def _move(name: str, was: int | None, now: int | None) -> str:
    if now is None:
        return f"{name} is left"
    if was is None:
        return f"{name} takes {now}" if now else f"{name} is chosen"
    return f"{name} goes from {was} to {now}"
