"""SpreadByRegion: the best combination of regions, then the best clusters in them, as Karmada does.

Karmada walks all combinations of regions; the same answer is found here without: see `regions`.
"""

from dataclasses import dataclass

import numpy as np

from atoll.model.decision import Verdict
from atoll.model.intent import Constrained, Constraint, Duplicated, Field
from atoll.scheduling.candidates import Candidates, Groups, Refusal
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Choose
from atoll.scheduling.question import Question
from atoll.scheduling.regions import Regions, best_combination, regions_of

_UNBOUND = Constraint(Field.CLUSTER, least=0, most=0)


@dataclass(frozen=True, slots=True)
class SpreadByRegion:
    """Applies to a constraint by region; one by cluster bounds the clusters taken in all."""

    name: str = "SpreadByRegion"

    def compile(self, question: Question) -> Choose | None:
        if not isinstance(question.intent.selection, Constrained):
            return None
        by_field = {each.field: each for each in question.intent.spread}
        region = by_field.get(Field.REGION)
        if region is None:
            return None
        cluster = by_field.get(Field.CLUSTER, _UNBOUND)
        duplicated = isinstance(question.intent.division, Duplicated)
        replicas = question.binding.replicas

        def choose(candidates: Candidates, fleet: Fleet) -> Candidates | Refusal:
            least = None if duplicated else (cluster.least, region.least)
            ranks = candidates.ranks()
            regions = regions_of(candidates, ranks, fleet.traits, replicas, least)
            return _choose(candidates, ranks, regions, (region, cluster))

        return choose


def _choose(
    candidates: Candidates,
    ranks: Numbers,
    regions: Regions,
    constraints: tuple[Constraint, Constraint],
) -> Candidates | Refusal:
    region, cluster = constraints
    layout = regions.layout
    groups = Groups(layout.grouping, regions.scores)
    if len(regions.scores) < region.least:
        message = "the number of feasible region is less than spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (groups,))
    chosen = best_combination(regions, (region.least, region.most), cluster.least)
    if not chosen:
        message = "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (groups,))
    best = [layout.best_in(each, ranks)[: max(1, cluster.most)].tolist() for each in chosen]
    bits = candidates.position_bits
    positions = np.array([rank & bits for rank in _taken(best, cluster.most)], np.int64)
    return candidates.at(positions, (Groups(layout.grouping, regions.scores, chosen),))


def _taken(best: list[list[int]], most: int) -> list[int]:
    """The best of each region, then the next best of all.

    Every region sends its best cluster, even if those alone are more than were wanted.
    """
    first = [each[0] for each in best]
    others = sorted([rank for each in best for rank in each[1:]])
    return first + others[: max(0, most - len(first))]
