"""How many replicas each candidate can take: its own report, its nodes, and what estimators say.

The least of all answers counts, and who gave which is kept for the explanation. Not to know is not
to have none: an estimator that does not know a cluster has no say in it.
"""

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

import numpy as np

from atoll.model.assumed import Assumed
from atoll.model.cluster import Cluster
from atoll.scheduling.columns import Mask, Numbers, Rows
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.view import NODE_VIEW
from atoll.scheduling.packing import packed, sets_that_fit
from atoll.scheduling.question import Question
from atoll.scheduling.whole_numbers import INT32_MOST, as_int32

OWN_REPORT = "cluster report"
_UNKNOWN = -1

AssumedByRow = dict[int, tuple[Assumed, ...]]


class Estimates(NamedTuple):
    """Room by candidate, and the answer of each source; an answer of -1 is not to know."""

    allocatable: Numbers
    sources: Mapping[str, Numbers]


def estimate(question: Question, fleet: Fleet, rows: Rows) -> Estimates:
    """The room each of these rows has for more of the binding's replicas."""
    binding, around = question.binding, question.surroundings
    if binding.replicas == 0 and not binding.components:
        return Estimates(np.full(len(rows), INT32_MOST, np.int64), {})
    assumed = _assumed_by_row(question, fleet) if around.assumed else {}
    names = fleet.names_of(rows) if around.nodes or around.estimates else []
    by_nodes = _by_nodes(question, fleet, names, assumed)
    report = _report(question, fleet, rows, assumed, None if by_nodes is None else by_nodes >= 0)
    sources = {OWN_REPORT: report}
    if by_nodes is not None:
        sources[NODE_VIEW] = by_nodes
    for source, answers in around.estimates.items():
        sources[source] = np.array([answers.get(each, _UNKNOWN) for each in names], np.int64)
    room = report
    for answer in islice(sources.values(), 1, None):
        room = np.where(answer >= 0, np.minimum(room, answer), room)
    if fleet.capacity.boundless:
        room = np.where(room == INT32_MOST, binding.replicas, room)
    return Estimates(room, sources)


def _by_nodes(
    question: Question, fleet: Fleet, names: list[str], assumed: AssumedByRow
) -> Numbers | None:
    """What the nodes of these clusters say; None if no nodes are known of any."""
    nodes, binding = question.surroundings.nodes, question.binding
    if nodes is None or nodes.rooms.keys().isdisjoint(names):
        return None
    taken = {fleet.clusters[row].name: each for row, each in assumed.items()}
    return nodes.answers(names, binding.components if _sets(question) else binding.demand, taken)


def _sets(question: Question) -> bool:
    return bool(question.binding.components) and question.counts_sets


def _report(
    question: Question, fleet: Fleet, rows: Rows, assumed: AssumedByRow, seen: Mask | None
) -> Numbers:
    """What the clusters' own summaries and models say.

    A model stands in for nodes that are not known, at the price of rounding each of them down: of
    clusters that are seen to the node it says nothing.
    """
    models = question.features.CustomizedClusterResourceModeling
    by_model = np.full(len(rows), models) if seen is None else ~seen & models
    if _sets(question):
        components = question.binding.components
        fit = [
            sets_that_fit(fleet.clusters[row], components, assumed.get(row, ()), models=models)
            for row, models in zip(rows.tolist(), by_model.tolist(), strict=True)
        ]
        return np.array(fit, np.int64)
    demand = question.binding.demand
    report = fleet.capacity.replicas(demand, models=models)[rows]
    if models and seen is not None:
        report = np.where(seen, fleet.capacity.replicas(demand, models=False)[rows], report)
    for position, row in enumerate(rows.tolist()) if assumed else ():
        if row in assumed:
            cluster, modelled = fleet.clusters[row], bool(by_model[position])
            report[position] = _less_assumed(question, cluster, assumed[row], models=modelled)
    return report


def _assumed_by_row(question: Question, fleet: Fleet) -> AssumedByRow:
    by_row: AssumedByRow = {}
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
    demand, taken = question.binding.demand, [each.sums for each in assumed]
    pods = cluster.free.pods - sum(each.pods for each in taken)
    if pods <= 0 or demand is None:
        return as_int32(max(0, pods))
    if models and cluster.nodes_by_grade:
        return as_int32(min(pods, int(packed(cluster, assumed).fit(demand).sum())))
    fit = pods
    for name, amount in demand.requests:
        if amount.milli > 0:
            free = cluster.free.resources.get(name)
            has = free.in_its_unit(name) if free else 0
            left = has - sum(each.units.get(name, 0) for each in taken)
            fit = min(fit, max(0, left) // amount.in_its_unit(name))
    return as_int32(fit)
