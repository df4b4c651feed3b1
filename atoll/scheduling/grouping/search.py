"""The best selection that fits a frame: exact, by one pass over the lots.

What matters of the lots passed is how many clusters were taken in all and for each quota, how many
groups are open, and how many clusters each group has that further lots belong to. Of all ways to
get there only the best is remembered. With one rule, or rules that nest (region and zone), few
groups are unfinished at a time and the work is small; with several rules that cross it may grow
fast, and stops at a limit.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

from atoll.scheduling.grouping.aims import Aim, V
from atoll.scheduling.grouping.frames import Frame, Span
from atoll.scheduling.grouping.ground import Lot

STEPS_MOST = 200_000
"""Beyond so many steps a search is given up: a matter of a second."""

_Group = tuple[int, int]  # the place of a rule, and a group of it


class _State(NamedTuple):
    """Clusters taken, groups open by rule, clusters taken of unfinished groups, and by quota."""

    total: int
    groups: tuple[int, ...]
    unfinished: tuple[tuple[_Group, int], ...]
    quotas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Stop(Generic[V]):
    """A lot on the way, what taking from it is worth, and where it is in its groups."""

    lot: Lot
    values: Sequence[V | None]
    first: tuple[bool, ...]
    last: tuple[bool, ...]

    def counts(self, frame: Frame) -> Sequence[int]:
        """How many might be taken."""
        every = len(self.lot.places)
        tops = [frame.total.most, *(span.most for span in frame.each)]
        bounds = [top for top in tops if top is not None]
        if not bounds and not frame.quotas:
            return (0, every)  # what is not bounded above is better with all of them
        whole = [i for i, first in enumerate(self.first) if first and self.last[i]]
        start = max((frame.each[rule].least for rule in whole), default=1)
        return (0, *range(start, min([every, *bounds]) + 1))


class TooManyWays(Exception):
    """The rules cross in so many ways that looking at all would take too long."""


def search(
    lots: Sequence[Lot], frames: Iterable[Frame], aim: Aim[V], steps_most: int = STEPS_MOST
) -> V | None:
    """The best value of a selection that fits one of the frames; None if none does."""
    best: V | None = None
    stops, steps = _stops(lots, aim), 0
    for frame in frames:
        blank = (0,) * len(frame.groups), (), (0,) * len(frame.quotas)
        table = {_State(0, *blank): aim.nothing}
        for stop in stops:
            steps += len(table) * len(stop.counts(frame))
            if steps > steps_most:
                raise TooManyWays
            table = _passed(table, stop, frame, aim)
        for state, value in table.items():
            if _complete(state, frame):
                best = value if best is None else aim.better(best, value)
    return best


def _stops(lots: Sequence[Lot], aim: Aim[V]) -> list[_Stop[V]]:
    first, last = dict[_Group, int](), dict[_Group, int]()
    for place, lot in enumerate(lots):
        for group in enumerate(lot.groups):
            first.setdefault(group, place)
            last[group] = place
    return [
        _Stop(
            lot,
            aim.of(lot),
            tuple(first[group] == place for group in enumerate(lot.groups)),
            tuple(last[group] == place for group in enumerate(lot.groups)),
        )
        for place, lot in enumerate(lots)
    ]


def _passed(table: dict[_State, V], stop: _Stop[V], frame: Frame, aim: Aim[V]) -> dict[_State, V]:
    """The best ways to every state after one more lot."""
    after: dict[_State, V] = {}
    counts = [count for count in stop.counts(frame) if stop.values[count] is not None]
    for state, value in table.items():
        for count in counts:
            gain = stop.values[count]
            assert gain is not None, "only counts that have a value are tried"
            for onward, opened in _onward(state, stop, count, frame):
                total = aim.plus(value, gain)
                for rule in opened:
                    total = aim.plus(total, aim.opened(rule))
                known = after.get(onward)
                after[onward] = total if known is None else aim.better(known, total)
    return after


def _onward(
    state: _State, stop: _Stop[V], count: int, frame: Frame
) -> Iterator[tuple[_State, list[int]]]:
    """The states after taking so many of a lot, and the rules of which a group was opened."""
    total = frame.total.counted(state.total + count)
    if total is None:
        return
    unfinished, groups, opened = dict(state.unfinished), list(state.groups), list[int]()
    for rule, group in enumerate(stop.lot.groups):
        before = unfinished.pop((rule, group), 0)
        here = frame.each[rule].counted(before + count)
        if here is None:
            return
        if here and not before:
            number = frame.groups[rule].counted(groups[rule] + 1)
            if number is None:
                return
            groups[rule] = number
            opened.append(rule)
        if here and not stop.last[rule]:
            unfinished[rule, group] = here
        elif here and here < frame.each[rule].least:
            return
    rest = tuple(groups), tuple(sorted(unfinished.items()))
    for quotas in _quotas(state.quotas, stop.lot.quotas, count, frame.quotas):
        yield _State(total, *rest, quotas), opened


def _quotas(
    filled: tuple[int, ...], matched: tuple[int, ...], count: int, spans: tuple[Span, ...]
) -> Iterator[tuple[int, ...]]:
    """All ways to count so many clusters towards the quotas they match, one quota each."""
    if not spans or not count:
        yield filled
        return
    if not matched:
        return
    quota, rest = matched[0], matched[1:]
    space = (spans[quota].most or 0) - filled[quota]
    fewest = 0 if rest else count
    for here in range(fewest, min(count, space) + 1):
        onward = (*filled[:quota], filled[quota] + here, *filled[quota + 1 :])
        yield from _quotas(onward, rest, count - here, spans)


def _complete(state: _State, frame: Frame) -> bool:
    numbers = (state.total, *state.groups, *state.quotas)
    spans = (frame.total, *frame.groups, *frame.quotas)
    return all(number >= span.least for number, span in zip(numbers, spans, strict=True))
