"""Regions with their clusters and scores, in columns, and the best combination of them.

Karmada tries every combination of regions in a fixed order, which takes exponential time. A
combination counts as soon as it has enough regions and clusters, and is then not extended. The
best has the highest total score, then the most clusters, then was met first. The same answer comes
from a table over (regions left, regions taken, clusters taken), filled from the end.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.traits import Traits

_PER_REPLICA = 1000  # so that replicas always outweigh the scores of clusters
_State = tuple[int, int]  # regions taken, clusters taken (no more than are needed)
_Gain = tuple[int, int, Any]  # score, clusters, and the path as linked pairs of index and rest


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Names, scores and sizes by region, and where each has its candidates, best first."""

    names: list[str]
    scores: list[int]
    sizes: list[int]
    starts: list[int]
    positions: Rows
    """Positions of the candidates, region by region."""
    ranks: Numbers
    """By position: the smaller, the better."""

    def __len__(self) -> int:
        return len(self.names)

    def positions_in(self, region: int) -> Rows:
        start = self.starts[region]
        return self.positions[start : start + self.sizes[region]]


def regions_of(
    candidates: Candidates, traits: Traits, replicas: int, least: tuple[int, int] | None
) -> Regions:
    """The regions of candidates. `least` is how many clusters and regions a division needs; None
    if every cluster runs all replicas."""
    codes = traits.region.codes[candidates.rows].astype(np.int64)
    ranks, width = candidates.ranks(spare=len(traits.region.values).bit_length())
    order = ((codes << width) + ranks).argsort()
    codes = codes[order]
    edges = np.empty(len(codes) + 1, np.bool_)
    edges[0] = edges[-1] = True
    np.not_equal(codes[1:], codes[:-1], out=edges[1:-1])
    places = edges.nonzero()[0]
    starts, ends = places[:-1], places[1:]
    available = candidates.available[order]
    scores = None if candidates.scores is None else candidates.scores[order]
    if least is None:
        points = _points_duplicated(available, scores, starts, replicas)
    else:
        points = _points_divided(available, scores, (starts, ends), (replicas, *least))
    return Regions(
        names=[traits.region.values[code] for code in codes[starts].tolist()],
        scores=points.tolist(),
        sizes=(ends - starts).tolist(),
        starts=starts.tolist(),
        positions=order,
        ranks=ranks,
    )


def _points_duplicated(
    available: Numbers, scores: Numbers | None, starts: Numbers, replicas: int
) -> Numbers:
    """Clusters that fit all replicas, and their mean score."""
    fits = available >= replicas
    count = np.add.reduceat(fits.astype(np.int64), starts)
    total = 0 if scores is None else np.add.reduceat(np.where(fits, scores, 0), starts)
    return np.asarray(count * _PER_REPLICA + total // np.maximum(count, 1))


def _points_divided(
    available: Numbers,
    scores: Numbers | None,
    edges: tuple[Numbers, Numbers],
    wanted: tuple[int, int, int],
) -> Numbers:
    """How much of its part each region takes, with the fewest of its clusters that are allowed,
    and the mean score of those."""
    (starts, ends), (replicas, clusters_least, regions_least) = edges, wanted
    target = -(-replicas // max(1, regions_least))
    room = _running_sum(available)
    before = room[starts]
    points = np.minimum(room[ends] - before, target) * _PER_REPLICA
    if scores is None:
        return np.asarray(points)
    # The first place in each region where it has room for its part. Room only grows: a cluster
    # never has less than none.
    enough = room.searchsorted(before + target)
    last = np.maximum(enough, starts + max(clusters_least, regions_least, 1))
    last = np.minimum(last, ends)
    sums = _running_sum(scores)
    return np.asarray(points + (sums[last] - sums[starts]) // (last - starts))


def _running_sum(numbers: Numbers) -> Numbers:
    """The sum of the first 0, 1, 2, ... numbers."""
    sums = np.zeros(len(numbers) + 1, np.int64)
    numbers.cumsum(out=sums[1:])
    return sums


def best_combination(regions: Regions, bounds: tuple[int, int], clusters_least: int) -> list[int]:
    """The regions to take, best first; none if no combination has enough regions and clusters."""
    least, most = bounds
    names, scores, sizes = regions.names, regions.scores, regions.sizes
    if most >= least >= 1 and sum(sorted(sizes)[:least]) >= clusters_least:
        # Every combination of so few has clusters enough, so the strongest make the best.
        strength = sorted(range(len(regions)), key=lambda i: (-scores[i], -sizes[i], names[i]))
        return sorted(strength[:least], key=lambda i: (-scores[i], names[i]))
    met = sorted(range(len(regions)), key=lambda i: (sizes[i], -scores[i], names[i]))
    chosen = _best_path([(scores[i], sizes[i]) for i in met], bounds, clusters_least)
    path = sorted((met[i] for i in chosen), key=lambda i: (-scores[i], names[i]))
    place = {region: i for i, region in enumerate(met)}
    # Of a combination and a shorter one that begins alike, Karmada prefers the shorter.
    for length in range(1, len(path)):
        as_met = sorted(path[:length], key=place.__getitem__)
        if _counts([sizes[i] for i in as_met], bounds, clusters_least):
            return path[:length]
    return path


def _counts(sizes: list[int], bounds: tuple[int, int], clusters_least: int) -> bool:
    """Whether a combination, in the order it is met, counts, and no beginning of it does."""
    least, most = bounds

    def enough(length: int) -> bool:
        return least <= length <= most and sum(sizes[:length]) >= clusters_least

    return enough(len(sizes)) and not any(enough(length) for length in range(1, len(sizes)))


def _best_path(
    groups: list[tuple[int, int]], bounds: tuple[int, int], clusters_least: int
) -> list[int]:
    """The indices of the best combination of groups, each a score and a number of clusters."""
    least, most = bounds
    if most < 1 or (least < 1 and clusters_least < 1):
        return []  # to ask for nothing is answered with nothing

    def ends(state: _State, size: int) -> bool:
        return state[0] + 1 >= least and state[1] + size >= clusters_least

    def onward(state: _State, size: int) -> _State:
        return state[0] + 1, min(state[1] + size, clusters_least)

    layers: list[set[_State]] = [{(0, 0)}]
    for _, size in groups[:-1]:
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


def _unlinked(gain: _Gain | None) -> list[int]:
    path, link = list[int](), gain and gain[2]
    while link:
        path.append(link[0])
        link = link[1]
    return path
