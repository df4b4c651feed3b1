"""Regions with their clusters and scores, and the best combination of them.

Karmada tries every combination of regions in a fixed order, which takes exponential time. A
combination counts as soon as it has enough regions and clusters, and is then not extended. The
best has the highest total score, then the most clusters, then was met first. The same answer comes
from a table over (regions left, regions taken, clusters taken), filled from the end.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import Numbers
from atoll.scheduling.traits import Traits

_PER_REPLICA = 1000  # so that replicas always outweigh the scores of clusters
_State = tuple[int, int]  # regions taken, clusters taken (no more than are needed)
_Gain = tuple[int, int, Any]  # score, clusters, and the path as linked pairs of index and rest


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A region, its score, and the positions of its candidates, best first."""

    name: str
    score: int
    positions: Numbers


def regions_of(
    ranked: Candidates, traits: Traits, replicas: int, least: tuple[int, int] | None
) -> list[Region]:
    """The regions of ranked candidates. `least` is how many clusters and regions a division needs;
    None if every cluster runs all replicas."""
    codes = traits.region.codes[ranked.rows]
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1))
    regions = []
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        positions = order[start:end]
        available, scores = ranked.available[positions], ranked.scores[positions]
        if least is None:
            score = _score_duplicated(available, scores, replicas)
        else:
            score = _score_divided(available, scores, replicas, least)
        name = traits.region.values[codes[positions[0]]]
        regions.append(Region(name, score, positions))
    return regions


def _score_duplicated(available: Numbers, scores: Numbers, replicas: int) -> int:
    fitting = scores[available >= replicas]
    count = len(fitting)
    return count * _PER_REPLICA + int(fitting.sum()) // count if count else 0


def _score_divided(
    available: Numbers, scores: Numbers, replicas: int, least: tuple[int, int]
) -> int:
    """How much of its part a region can take, with the fewest of its clusters that are allowed."""
    clusters_least, regions_least = least
    target = -(-replicas // max(1, regions_least))
    room = np.cumsum(available)
    count = max(clusters_least, regions_least, 1)
    enough = np.flatnonzero(room[count - 1 :] >= target)
    if len(enough):
        count += int(enough[0])
        return target * _PER_REPLICA + int(scores[:count].sum()) // count
    total = int(room[-1])
    part = min(total, target)
    return part * _PER_REPLICA + int(scores.sum()) // len(scores)


def best_combination(
    regions: list[Region], bounds: tuple[int, int], clusters_least: int
) -> list[Region]:
    """The regions to take, best first; none if no combination has enough regions and clusters."""
    ordered = sorted(regions, key=lambda each: (len(each.positions), -each.score, each.name))
    chosen = _best_path(
        tuple((each.score, len(each.positions)) for each in ordered), bounds, clusters_least
    )
    path = sorted((ordered[i] for i in chosen), key=lambda each: (-each.score, each.name))
    place = {each.name: i for i, each in enumerate(ordered)}
    # Of a combination and a shorter one that begins alike, Karmada prefers the shorter.
    for length in range(1, len(path)):
        shorter = sorted(path[:length], key=lambda each: place[each.name])
        sizes = [len(each.positions) for each in shorter]
        if _counts(sizes, bounds, clusters_least):
            return path[:length]
    return path


def _counts(sizes: list[int], bounds: tuple[int, int], clusters_least: int) -> bool:
    """Whether a combination, in the order it is met, counts, and no beginning of it does."""
    least, most = bounds

    def enough(length: int) -> bool:
        return least <= length <= most and sum(sizes[:length]) >= clusters_least

    return enough(len(sizes)) and not any(enough(length) for length in range(1, len(sizes)))


def _best_path(
    groups: tuple[tuple[int, int], ...], bounds: tuple[int, int], clusters_least: int
) -> tuple[int, ...]:
    """The indices of the best combination of groups, each a score and a number of clusters."""
    least, most = bounds
    sizes = [size for _, size in groups]
    if most < 1 or not groups:
        return ()
    if most >= least >= 1 and sum(sizes[:least]) >= clusters_least:
        return _strongest(groups, least)

    def ends(state: _State, size: int) -> bool:
        return state[0] + 1 >= least and state[1] + size >= clusters_least

    def onward(state: _State, size: int) -> _State:
        return state[0] + 1, min(state[1] + size, clusters_least)

    layers: list[set[_State]] = [{(0, 0)}]
    for size in sizes[:-1]:
        taking = {onward(each, size) for each in layers[-1] if not ends(each, size)}
        layers.append(layers[-1] | {each for each in taking if each[0] < most})
    after: dict[_State, _Gain] = {}
    for index in range(len(groups) - 1, -1, -1):
        score, size = groups[index]
        here: dict[_State, _Gain] = {}
        for state in layers[index]:
            skipping = after.get(state)
            rest = (0, 0, None) if ends(state, size) else after.get(onward(state, size))
            taking_it = rest and (score + rest[0], size + rest[1], (index, rest[2]))
            # Of equals Karmada meets the one with the earlier group first.
            if taking_it and (skipping is None or taking_it[:2] >= skipping[:2]):
                here[state] = taking_it
            elif skipping:
                here[state] = skipping
        after = here
    return _unlinked(after.get((0, 0)))


def _unlinked(gain: _Gain | None) -> tuple[int, ...]:
    path, link = [], gain and gain[2]
    while link:
        path.append(link[0])
        link = link[1]
    return tuple(path)


def _strongest(groups: tuple[tuple[int, int], ...], count: int) -> tuple[int, ...]:
    """The best combination where every combination of `count` groups has clusters enough."""
    by_strength = sorted(range(len(groups)), key=lambda i: (-groups[i][0], -groups[i][1], i))
    return tuple(sorted(by_strength[:count]))
