"""SpreadByRegion: the best combination of regions, then the best clusters in them, as Karmada does.

Karmada walks all combinations of regions; the same answer is found here without: see `regions`.
"""

from dataclasses import dataclass

import numpy as np

from atoll.model.decision import Verdict
from atoll.model.intent import Constrained, Constraint, Duplicated, Field
from atoll.scheduling.candidates import Candidates, Groups, Refusal
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
            regions = regions_of(candidates, fleet.traits, replicas, least)
            return _choose(candidates, regions, (region, cluster), fleet)

        return choose


def _choose(
    candidates: Candidates,
    regions: Regions,
    constraints: tuple[Constraint, Constraint],
    fleet: Fleet,
) -> Candidates | Refusal:
    region, cluster = constraints
    layout = regions.layout
    weighed = (layout.names, regions.scores, layout.sizes, layout.rows)
    if len(regions.scores) < region.least:
        message = "the number of feasible region is less than spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (Groups("region", *weighed),))
    chosen = best_combination(regions, (region.least, region.most), cluster.least)
    if not chosen:
        message = "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (Groups("region", *weighed),))
    members = np.concatenate([regions.positions_in(each) for each in chosen])
    members.sort()
    best = members[candidates.at(members).best_first()]
    codes = fleet.traits.region.codes[candidates.rows[best]].tolist()
    places = _places(codes, [layout.codes[each] for each in chosen], cluster.most)
    return candidates.at(best[places], (Groups("region", *weighed, chosen),))


def _places(codes: list[int], chosen: list[int], most: int) -> list[int]:
    """Of clusters in order, by region: the best of each chosen region, then the next best of all.

    Every chosen region sends its best cluster, even if those alone are more than were wanted.
    """
    first: dict[int, int] = {}
    others: list[int] = []
    for place, code in enumerate(codes):
        if code not in first:
            first[code] = place
        elif len(others) + len(chosen) < most:
            others.append(place)
        elif len(first) == len(chosen):
            break
    return [first[code] for code in chosen] + others
