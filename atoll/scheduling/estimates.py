"""How many replicas each candidate can take: its own report, and whatever estimators answered.

The least of all answers counts, and who gave which is kept for the explanation. Not to know is not
to have none: an estimator that does not know a cluster has no say in it.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from atoll.model.amount import PODS
from atoll.model.assumed import Assumed
from atoll.model.cluster import Cluster
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.component_sets import sets_that_fit
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.packing import Nodes
from atoll.scheduling.question import Question
from atoll.scheduling.whole_numbers import INT32_MOST, as_int32

OWN_REPORT = "cluster report"
_UNKNOWN = -1


class Estimates(NamedTuple):
    """Room by candidate, and the answer of each source; an answer of -1 is not to know."""

    allocatable: Numbers
    sources: Mapping[str, Numbers]


def estimate(question: Question, fleet: Fleet, rows: Rows) -> Estimates:
    """The room each of these rows has for more of the binding's replicas."""
    binding = question.binding
    if binding.replicas == 0 and not binding.components:
        return Estimates(np.full(len(rows), INT32_MOST, np.int64), {})
    report = _report(question, fleet, rows)
    room, sources = report, {OWN_REPORT: report}
    for name, answers in question.surroundings.estimates.items():
        asked = fleet.names_of(rows)
        answer = np.array([answers.get(each, _UNKNOWN) for each in asked], np.int64)
        sources[name] = answer
        room = np.where(answer >= 0, np.minimum(room, answer), room)
    if fleet.capacity.boundless:
        room = np.where(room == INT32_MOST, binding.replicas, room)
    return Estimates(room, sources)


def _report(question: Question, fleet: Fleet, rows: Rows) -> Numbers:
    """What the clusters' own summaries and models say."""
    models = question.features.CustomizedClusterResourceModeling
    assumed = _assumed_by_row(question, fleet) if question.surroundings.assumed else {}
    if question.binding.components and question.counts_sets:
        components = question.binding.components
        fit = [
            sets_that_fit(fleet.clusters[row], components, assumed.get(row, ()), models=models)
            for row in rows.tolist()
        ]
        return np.array(fit, np.int64)
    report = fleet.capacity.replicas(question.binding.demand, models=models)[rows]
    for position, row in enumerate(rows.tolist()) if assumed else ():
        if row in assumed:
            cluster = fleet.clusters[row]
            report[position] = _less_assumed(question, cluster, assumed[row], models=models)
    return report


def _assumed_by_row(question: Question, fleet: Fleet) -> dict[int, tuple[Assumed, ...]]:
    by_row: dict[int, tuple[Assumed, ...]] = {}
    if question.features.SchedulingOvercommitProtection:
        for each in question.surroundings.assumed:
            row = fleet.rows.get(each.cluster)
            if row is not None:
                by_row[row] = (*by_row.get(row, ()), each)
    return by_row


def _less_assumed(
    question: Question, cluster: Cluster, assumed: tuple[Assumed, ...], *, models: bool
) -> int:
    """Room in one cluster after work that its report does not show yet."""
    if cluster.free is None:
        return 0
    demand, pods, taken = question.binding.demand, cluster.free.pods, dict[str, int]()
    for component in (each for one in assumed for each in one.components):
        pods -= component.replicas
        taken[PODS] = taken.get(PODS, 0) + component.replicas
        for name, amount in component.demand.requests if component.demand else ():
            taken[name] = taken.get(name, 0) + amount.in_its_unit(name) * component.replicas
    if pods <= 0 or demand is None:
        return as_int32(max(0, pods))
    if models and cluster.nodes_by_grade:
        nodes = Nodes(cluster)
        for one in assumed:
            nodes.place_set(one.components)
        return as_int32(min(pods, int(nodes.fit(demand).sum())))
    fit = pods
    for name, amount in demand.requests:
        if amount.milli > 0:
            free = cluster.free.resources.get(name)
            left = (free.in_its_unit(name) if free else 0) - taken.get(name, 0)
            fit = min(fit, max(0, left) // amount.in_its_unit(name))
    return as_int32(fit)
