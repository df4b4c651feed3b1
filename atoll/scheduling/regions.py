"""Regions with their clusters and scores, in columns, and the best combination of them.

Karmada tries every combination of regions in a fixed order, which takes exponential time. A
combination counts as soon as it has enough regions and clusters, and is then not extended. The
best has the highest total score, then the most clusters, then was met first. The same answer comes
from a table over (regions left, regions taken, clusters taken), filled from the end.
"""

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from atoll.scheduling.candidates import Candidates, Grouping
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.traits import Traits

_PER_REPLICA = 1000  # so that replicas always outweigh the scores of clusters
_State = tuple[int, int]  # regions taken, clusters taken (no more than are needed)
_Gain = tuple[int, int, Any]  # score, clusters, and the path as linked pairs of index and rest


class Layout(NamedTuple):
    """Which region has which candidates: a region's are at `order[span]`, by position.

    The largest come first, then by name.
    """

    grouping: Grouping
    order: Rows
    starts: Numbers
    spans: list[slice]
    regions: Numbers
    """The region of the candidate at each position."""
    fewest: list[int]
    """How many candidates any 0, 1, 2, ... regions have together at least."""

    def members(self, regions: list[int]) -> Numbers:
        """The positions of these regions' candidates, in order."""
        if len(regions) == 1:
            return self.order[self.spans[regions[0]]]
        positions = np.concatenate([self.order[self.spans[each]] for each in regions])
        positions.sort()
        return positions


class Regions(NamedTuple):
    """Regions with the scores of their candidates."""

    layout: Layout
    scores: list[int]


def regions_of(
    candidates: Candidates, traits: Traits, replicas: int, least: tuple[int, int] | None
) -> Regions:
    """The regions of the candidates. `least` is how many clusters and regions a division needs;
    None if every cluster runs all replicas."""
    layout = candidates.remember("regions", lambda: _layout(candidates.rows, traits))
    if least is None:
        return Regions(layout, _points_duplicated(candidates, layout, replicas))
    return Regions(layout, _points_divided(candidates, layout, replicas, least))


def _layout(rows: Rows, traits: Traits) -> Layout:
    codes, values = traits.region.codes[rows], traits.region.values
    found = np.unique(codes, return_counts=True)
    size = dict(zip(*(each.tolist() for each in found), strict=True))
    largest_first = sorted(size, key=lambda code: (-size[code], values[code]))
    place = np.zeros(len(values), np.int64)
    place[largest_first] = np.arange(len(size))
    regions = place[codes]
    order = regions.argsort(kind="stable")
    names, sizes = [values[code] for code in largest_first], [size[code] for code in largest_first]
    ends = list(accumulate(sizes))
    starts = [0, *ends[:-1]]
    return Layout(
        Grouping("region", names, sizes, rows[order]),
        order,
        np.array(starts, np.int64),
        [slice(*span) for span in zip(starts, ends, strict=True)],
        regions,
        [*accumulate(sorted(sizes), initial=0)],
    )


def _points_duplicated(candidates: Candidates, layout: Layout, replicas: int) -> list[int]:
    """Clusters that fit all replicas, and their mean score."""
    fits = candidates.available[layout.order] >= replicas
    count = np.add.reduceat(fits.astype(np.int64), layout.starts)
    points = count * _PER_REPLICA
    if candidates.scores is not None:
        scores = np.where(fits, candidates.scores[layout.order], 0)
        points += np.add.reduceat(scores, layout.starts) // np.maximum(count, 1)
    given: list[int] = points.tolist()
    return given


def _points_divided(
    candidates: Candidates, layout: Layout, replicas: int, least: tuple[int, int]
) -> list[int]:
    """How much of its part each region takes, with the fewest of its clusters that are allowed,
    and the mean score of those."""
    target = -(-replicas // max(1, least[1]))
    room = np.add.reduceat(candidates.available[layout.order], layout.starts)
    whole = target * _PER_REPLICA
    points = [each * _PER_REPLICA if each < target else whole for each in room.tolist()]
    if candidates.scores is not None:
        scored = candidates.scores.astype(np.bool_).nonzero()[0]
        for region in sorted(set(layout.regions[scored].tolist())):
            best = candidates.best_of(layout.members([region]))
            points[region] += _mean_score(candidates, best, (target, max(*least, 1)))
    return points


def _mean_score(candidates: Candidates, best: Numbers, wanted: tuple[int, int]) -> int:
    """Of the first clusters, at least so many, that have room for a part; of all if they do not."""
    target, least = wanted
    room, enough = 0, 0
    for each in candidates.available[best].tolist():
        room += each
        enough += 1
        if room >= target:
            break
    scores: list[int] = candidates.score_numbers[best[: max(enough, least)]].tolist()
    return sum(scores) // len(scores)


def best_combination(regions: Regions, bounds: tuple[int, int], clusters_least: int) -> list[int]:
    """The regions to take, best first; none if no combination has enough regions and clusters."""
    least, most = bounds
    grouping, scores = regions.layout.grouping, regions.scores
    names, sizes = grouping.names, grouping.sizes
    if most >= least >= 1 and regions.layout.fewest[least] >= clusters_least:
        # Every combination of so few has clusters enough, so the strongest make the best.
        # Of equals the largest are first already, and sorting leaves them there.
        strongest = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        return sorted(strongest[:least], key=lambda i: (-scores[i], names[i]))
    met = sorted(range(len(scores)), key=lambda i: (sizes[i], -scores[i], names[i]))
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
