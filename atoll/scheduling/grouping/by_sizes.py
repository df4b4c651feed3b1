"""The preferred selection under one rule, by arithmetic on the sizes of its groups.

One cluster after the other is taken, in order, if what is taken can then still be made a selection
that holds the rule. Whether it can follows from how many clusters the groups begun must and can
have, and how large the others are. So the answer is exact, in one pass.
"""

from bisect import bisect_left
from collections import Counter
from itertools import accumulate

from atoll.model.intent import Group, Pick
from atoll.scheduling.grouping.ground import Ground

_ALL_ONE = Group("")


def applies(pick: Pick) -> bool:
    """Whether there is at most one rule, and none about quotas or about differences."""
    plain = all(each.skew is None for each in pick.groups)
    return plain and len(pick.groups) <= 1 and not pick.quotas


def by_sizes(pick: Pick, ground: Ground) -> list[int] | None:
    """The places of the preferred selection; None if no selection holds the rule."""
    rule = pick.groups[0] if pick.groups else _ALL_ONE
    codes = ground.groups[0].tolist() if pick.groups else [0] * len(ground)
    tally = _Tally(codes, pick, rule)
    if tally.groups_at_most() is None:
        return None
    taken = [place for place in range(ground.held) if tally.take(codes[place])]
    tally.least = tally.groups_at_most() or 0
    others = range(ground.held, len(ground))
    return taken + [place for place in others if tally.take(codes[place])]


class _Tally:
    """What is taken so far, and what that leaves possible."""

    def __init__(self, codes: list[int], pick: Pick, rule: Group) -> None:
        self.clusters = max(pick.least, 1), len(codes) if pick.most is None else pick.most
        self.each, sizes = max(rule.each_least, 1), Counter(codes)
        top = len(codes) if rule.each_most is None else rule.each_most
        self.tops = {code: min(size, top) for code, size in sizes.items() if size >= self.each}
        self.least, self.most = rule.least, len(codes) if rule.most is None else rule.most
        self.counts, self.closed = Counter[int](), set[int]()
        self.must = self.can = 0  # clusters that the groups begun need to be whole, and can have
        self._wait(sorted(-each for each in self.tops.values()))

    def _wait(self, waiting: list[int]) -> None:
        """Groups not begun, as negative tops, the largest first; and the sums of the largest."""
        self.waiting, self.sums = waiting, list(accumulate(waiting, initial=0))

    def groups_at_most(self) -> int | None:
        """How many groups a selection that has what is taken can be in; None: there is none."""
        return self._groups(self.must, self.can, len(self.counts))

    def take(self, code: int) -> bool:
        """Take one of a group, if there is a selection with it.

        If there is none, there will be none with more taken either: the group is closed.
        """
        if code in self.closed or code not in self.tops:
            return False
        count, top = self.counts[code], self.tops[code]
        begins = count == 0
        must = self.must + (self.each if begins else count >= self.each)
        can = self.can + (top if begins else 0)
        place = bisect_left(self.waiting, -top) if begins else None
        begun = len(self.counts) + begins
        if count >= top or self._groups(must, can, begun, place) is None:
            self.closed.add(code)
            return False
        self.must, self.can, self.counts[code] = must, can, count + 1
        if place is not None:
            self._wait([*self.waiting[:place], *self.waiting[place + 1 :]])
        return True

    def _groups(self, must: int, can: int, begun: int, leaving: int | None = None) -> int | None:
        least, most = self.clusters
        waiting = len(self.waiting) - (leaving is not None)
        more = min(waiting, self.most - begun, (most - must) // self.each)
        if more < 0 or begun + more < self.least:
            return None
        largest = -self.sums[more]
        if leaving is not None and leaving < more:
            largest = -self.sums[more + 1] + self.waiting[leaving]
        return begun + more if can + largest >= least else None
