"""What the estimators of clusters are to be asked about a binding before it is decided.

A decision comes in; what is still to be asked goes out, of which clusters. An answer stays good for
a moment: work that was given to the cluster since it was asked is taken off it. Whom to ask, and
how, is not known here.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from atoll.model.assumed import Assumed, Sums, summed
from atoll.model.demand import Component
from atoll.model.intent import Duplicated, Everyone, Weighted
from atoll.scheduling.decision import Decision
from atoll.scheduling.nodes.view import Asked
from atoll.scheduling.question import Question

ESTIMATOR = "scheduler-estimator"
"""Who says so, among the answers that count."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """How much of this fits into each of these clusters? `namespace` is where it will run."""

    asked: Asked
    namespace: str
    clusters: tuple[str, ...]


def inquiry(decision: Decision | None, answered: Container[str] = ()) -> Inquiry | None:
    """What is to be asked before a decision like this can stand; None if nothing is."""
    if decision is None or not _counts_room(decision):
        return None
    reached = [each for each in decision.attempts if each.estimates is not None]
    names = {
        name: None
        for each in reached
        for name in decision.fleet.names_of(each.shortlist.rows)
        if name not in answered
    }
    if not names:
        return None
    binding = decision.binding
    counts_sets = Question(binding, features=decision.setting.features).counts_sets
    asked = binding.components if counts_sets else binding.demand
    return Inquiry(asked, binding.resource.namespace, tuple(names))


def _counts_room(decision: Decision) -> bool:
    """Whether it matters how much room there is; not so for copies, nor for fixed weights."""
    binding, intent = decision.binding, decision.binding.intent
    if not binding.replicas and not binding.components:
        return False
    fixed = isinstance(intent.division, Duplicated | Weighted)
    return not fixed or bool(intent.spread) or not isinstance(intent.selection, Everyone)


def taken_in(cluster: str, assumed: Iterable[Assumed]) -> Assumed:
    """The work that was given to a cluster and does not show there yet."""
    found = [each for each in assumed if each.cluster == cluster]
    if len(found) == 1:
        return found[0]
    return Assumed(cluster, tuple(part for each in found for part in each.components))


def corrected(answer: int, asked: Asked, then: Sums, now: Sums) -> int:
    """An answer as it is after more work was given to the cluster than was told with the question.

    Below zero, which is not to know, it stays as it is.
    """
    if answer <= 0:
        return answer
    grown = {name: amount - then.units.get(name, 0) for name, amount in now.units.items()}
    one = summed(asked if isinstance(asked, tuple) else (Component("", 1, asked),)).units
    some = {name: amount for name, amount in one.items() if amount > 0}
    fewer = [-(-grown[name] // amount) for name, amount in some.items() if grown.get(name, 0) > 0]
    return max(0, answer - max(fewer, default=0))
