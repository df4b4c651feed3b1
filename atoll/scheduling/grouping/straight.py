"""The selection that comes of taking one cluster after the other, without looking ahead.

Upper bounds alone are looked at on the way. If what was taken then holds the lower bounds too, it
is a selection; with one rule, or with disjoint quotas, no other comes before it. With several,
groups are also kept from growing apart on the way. If the bounds do not hold in the end, that says
nothing, and `search` has to find out.
"""

from collections import Counter

from atoll.model.intent import Pick
from atoll.scheduling.grouping.ground import Ground


def is_best(pick: Pick, ground: Ground) -> bool:
    """Whether what is found straight on is the preferred selection."""
    if pick.quotas:
        return not pick.groups and all(len(each) <= 1 for each in _matched(ground))
    return len(pick.groups) <= 1


def straight(pick: Pick, ground: Ground) -> list[int] | None:
    """The places of a selection, if one is found like this."""
    walk = _Walk(pick, ground)
    if not all(walk.take(place) for place in range(ground.held)):
        return None
    others = range(ground.held, len(ground))
    for rule in range(len(pick.groups)):
        for place in others:
            if walk.codes[rule][place] not in walk.counts[rule]:
                walk.take(place)
    taken = -1
    while taken < len(walk.taken):  # what had to wait for other groups to grow may have its turn
        taken = len(walk.taken)
        for place in others:
            walk.take(place)
    return sorted(walk.taken) if walk.holds() else None


class _Walk:
    """What is taken so far: clusters, by rule how many of each group, by quota how many."""

    def __init__(self, pick: Pick, ground: Ground) -> None:
        self.pick, self.taken = pick, set[int]()
        self.codes = [each.tolist() for each in ground.groups]
        self.counts = [Counter[int]() for _ in pick.groups]
        self.matched = _matched(ground)
        self.quotas = [0] * len(pick.quotas)
        self.most = len(ground) if pick.most is None else pick.most
        self.evenly = not is_best(pick, ground)

    def take(self, place: int) -> bool:
        """Take one more, if no upper bound is in the way."""
        if len(self.taken) >= self.most or place in self.taken:
            return False
        for rule, codes, counts in zip(self.pick.groups, self.codes, self.counts, strict=True):
            count = counts[codes[place]]
            if self.evenly and rule.skew is not None:
                sizes = {**counts, codes[place]: count + 1}.values()
                if max(sizes) - min(sizes) > rule.skew:
                    return False
            if rule.each_most is not None and count >= rule.each_most:
                return False
            if not count and rule.most is not None and len(counts) >= rule.most:
                return False
        if self.quotas:
            free = (i for i in self.matched[place] if self.quotas[i] < self.pick.quotas[i].count)
            quota = next(free, None)
            if quota is None:
                return False
            self.quotas[quota] += 1
        self.taken.add(place)
        for codes, counts in zip(self.codes, self.counts, strict=True):
            counts[codes[place]] += 1
        return True

    def holds(self) -> bool:
        """Whether the lower bounds hold, and the groups do not differ too much."""
        if len(self.taken) < max(self.pick.least, 1):
            return False
        for rule, counts in zip(self.pick.groups, self.counts, strict=True):
            sizes = counts.values()
            if len(sizes) < rule.least or min(sizes) < rule.each_least:
                return False
            if rule.skew is not None and max(sizes) - min(sizes) > rule.skew:
                return False
        leasts = (each.count if each.least is None else each.least for each in self.pick.quotas)
        return all(number >= least for number, least in zip(self.quotas, leasts, strict=True))


def _matched(ground: Ground) -> list[list[int]]:
    """By place, the quotas it matches."""
    columns = [each.tolist() for each in ground.quotas]
    places = range(len(ground))
    return [[i for i, column in enumerate(columns) if column[place]] for place in places]
