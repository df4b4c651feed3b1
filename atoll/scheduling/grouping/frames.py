"""The rules a selection has to hold, as plain numbers: how many clusters, groups, of each quota."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from atoll.model.intent import Group, Pick
from atoll.scheduling.grouping.ground import Ground


@dataclass(frozen=True, slots=True)
class Span:
    """From so many to so many; None: without end."""

    least: int
    most: int | None = None

    def counted(self, number: int) -> int | None:
        """A number as far as it matters: none beyond the most, and no more than the least where
        there is no most."""
        if self.most is None:
            return min(number, self.least)
        return number if number <= self.most else None


@dataclass(frozen=True, slots=True)
class Frame:
    """How many clusters in all; by rule how many groups, and clusters in each; by quota."""

    total: Span
    groups: tuple[Span, ...]
    each: tuple[Span, ...]
    quotas: tuple[Span, ...]


def frames(pick: Pick, ground: Ground) -> Iterator[Frame]:
    """A selection holds the rules if it fits one of these frames.

    A largest difference between groups means that all lie between some number and that much more.
    """
    total = Span(max(pick.least, 1), pick.most)
    groups = tuple(Span(each.least, each.most) for each in pick.groups)
    quotas = tuple(
        Span(each.count if each.least is None else each.least, each.count) for each in pick.quotas
    )
    windows = [_windows(each, pick, ground, rule) for rule, each in enumerate(pick.groups)]
    for each in product(*windows):
        yield Frame(total, groups, each, quotas)


def _windows(group: Group, pick: Pick, ground: Ground, rule: int) -> list[Span]:
    least, most, skew = max(group.each_least, 1), group.each_most, group.skew
    if skew is None:
        return [Span(least, most)]
    tops = [int(ground.sizes(rule).max(initial=0)), most, pick.most]
    highest = min(top for top in tops if top is not None)
    return [
        Span(lower, lower + skew if most is None else min(lower + skew, most))
        for lower in range(least, highest + 1)
    ]


def relaxed(pick: Pick) -> Pick:
    """The same wish without any least: as much as there is."""
    return replace(
        pick,
        least=1,
        groups=tuple(replace(each, least=1, each_least=1) for each in pick.groups),
        quotas=tuple(replace(each, least=0) for each in pick.quotas),
    )
