"""SpreadByRegion: the best combination of regions, then the best clusters in them, as Karmada does.

Karmada walks all combinations of regions; the same answer is found here without: see `regions`.
"""

from dataclasses import dataclass

from atoll.model.decision import Verdict
from atoll.model.intent import Constrained, Constraint, Duplicated, Field
from atoll.scheduling.candidates import Candidates, Groups, Refusal
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Choose
from atoll.scheduling.question import Question
from atoll.scheduling.regions import Regions, best_combination, regions_of

_REGION, _CLUSTER = Field.REGION, Field.CLUSTER
_UNBOUND = Constraint(_CLUSTER, least=0, most=0)


@dataclass(frozen=True, slots=True)
class SpreadByRegion:
    """Applies to a constraint by region; one by cluster bounds the clusters taken in all."""

    name: str = "SpreadByRegion"

    def compile(self, question: Question) -> Choose | None:
        intent = question.intent
        if not isinstance(intent.selection, Constrained):
            return None
        region, cluster = None, _UNBOUND
        for each in intent.spread:
            if each.field is _REGION:
                region = each
            elif each.field is _CLUSTER:
                cluster = each
        if region is None:
            return None
        duplicated = isinstance(intent.division, Duplicated)
        replicas = question.binding.replicas

        def choose(candidates: Candidates, fleet: Fleet) -> Candidates | Refusal:
            least = None if duplicated else (cluster.least, region.least)
            regions = regions_of(candidates, fleet.traits, replicas, least)
            return _choose(candidates, regions, region, cluster)

        return choose


def _choose(
    candidates: Candidates, regions: Regions, region: Constraint, cluster: Constraint
) -> Candidates | Refusal:
    layout, scores = regions
    if len(scores) < region.least:
        message = "the number of feasible region is less than spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (Groups(layout.grouping, scores),))
    chosen = best_combination(regions, (region.least, region.most), cluster.least)
    if not chosen:
        message = "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (Groups(layout.grouping, scores),))
    best = candidates.best_of(layout.members(chosen))
    their_regions = layout.regions[best].tolist()
    first = [their_regions.index(each) for each in chosen]
    positions = best[_taken(first, min(cluster.most, len(best)))]
    return candidates.at(positions, (Groups(layout.grouping, scores, chosen),))


def _taken(first: list[int], most: int) -> list[int]:
    """The places of the best of each region, then of the next best of all.

    Every region sends its best cluster, even if those alone are more than were wanted.
    """
    others = [place for place in range(most) if place not in first]
    return first + others[: max(0, most - len(first))]
