"""The selection that comes of taking one cluster after the other, where that is the best one.

With at most one rule or disjoint quotas, as most policies have, upper bounds alone are looked at
on the way. If what was taken then holds the lower bounds too, no other selection comes before it;
if it does not, that says nothing, and `search` has to find out.
"""

from collections import Counter

import numpy as np

from atoll.model.intent import Group, Pick
from atoll.scheduling.grouping.ground import Ground

_ANY = Group("")


def straight(pick: Pick, ground: Ground) -> list[int] | None:
    """The places of the best selection, if it is found like this."""
    codes = _codes(pick, ground)
    if codes is None:
        return None
    rule = pick.groups[0] if pick.groups else _ANY
    tops = [each.count for each in pick.quotas] or None
    taken, counts = list[int](), Counter[int]()
    most = len(ground) if pick.most is None else pick.most

    def take(place: int) -> bool:
        code = codes[place]
        top = tops[code] if tops else rule.each_most
        full = top is not None and counts[code] >= top
        opens = not counts[code] and rule.most is not None and len(counts) >= rule.most
        if full or opens or len(taken) >= most:
            return False
        taken.append(place)
        counts[code] += 1
        return True

    if not all(take(place) for place in range(ground.held)):
        return None
    others = range(ground.held, len(ground))
    opening = {
        place for place in others if pick.groups and codes[place] not in counts and take(place)
    }
    for place in others:
        if len(taken) >= most:
            break
        if place not in opening:
            take(place)
    return sorted(taken) if _holds(pick, rule, counts) else None


def _codes(pick: Pick, ground: Ground) -> list[int] | None:
    """What bounds each place: its group, its quota, or nothing; None where it is not one thing."""
    if len(pick.groups) + bool(pick.quotas) > 1:
        return None
    if pick.groups:
        return list(map(int, ground.groups[0]))
    if not pick.quotas:
        return [0] * len(ground)
    matched = np.array(ground.quotas)
    return None if (matched.sum(axis=0) > 1).any() else list(map(int, matched.argmax(axis=0)))


def _holds(pick: Pick, rule: Group, counts: Counter[int]) -> bool:
    """Whether the lower bounds hold, and the groups do not differ too much."""
    sizes = counts.values()
    if sum(sizes) < max(pick.least, 1):
        return False
    quotas = enumerate(pick.quotas)
    if any(counts[i] < (q.count if q.least is None else q.least) for i, q in quotas):
        return False
    if not pick.groups:
        return True
    even = rule.skew is None or max(sizes) - min(sizes) <= rule.skew
    return len(counts) >= rule.least and min(sizes) >= rule.each_least and even
