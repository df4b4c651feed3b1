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
            return _choose(candidates, regions, region, cluster)

        return choose


def _choose(
    candidates: Candidates, regions: Regions, region: Constraint, cluster: Constraint
) -> Candidates | Refusal:
    weighed = regions.names, regions.scores, regions.sizes, candidates.rows[regions.positions]
    if len(regions) < region.least:
        message = "the number of feasible region is less than spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (Groups("region", *weighed),))
    chosen = best_combination(regions, (region.least, region.most), cluster.least)
    if not chosen:
        message = "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message, (Groups("region", *weighed),))
    # Every chosen region sends its best cluster, even if those alone are more than were wanted.
    members = [regions.positions_in(each) for each in chosen]
    first = [each[:1] for each in members]
    more = max(0, cluster.most - len(first))
    others = np.concatenate([each[1 : more + 1] for each in members])
    groups = (Groups("region", *weighed, chosen),)
    best = others[regions.ranks[others].argsort()[:more]]
    return candidates.at(np.concatenate([*first, best]), groups)
