"""What the estimators of clusters are to be asked about a binding before it is decided.

A decision comes in; what is still to be asked goes out, of which clusters. An answer stays good for
a moment: work that was given to the cluster since it was asked is taken off it. Whom to ask, and
how, is not known here.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atoll.model.assumed import Assumed, Sums, summed
from atoll.model.demand import Component
from atoll.model.intent import Duplicated, Everyone, Weighted
from atoll.scheduling.decision import Decision
from atoll.scheduling.nodes.view import Asked
from atoll.scheduling.question import Question

ESTIMATOR = "scheduler-estimator"
"""Who says so, among the answers that count."""
_UNKNOWN = -1
_KEPT_MOST = 65536


@dataclass(frozen=True, slots=True)
class Inquiry:
    """How much of this fits into each of these clusters? `namespace` is where it will run."""

    asked: Asked
    namespace: str
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an estimator answered, when, and what work it was told is on its way."""

    count: int
    taken: Sums
    at: float


@dataclass(slots=True)
class Answers:
    """What estimators answered lately; what is asked here costs what is found."""

    _known: dict[tuple[str, Asked], Answer] = field(default_factory=dict)

    def missing(self, asked: Inquiry, since: float) -> Inquiry:
        """What of this was not answered since that moment."""
        known = ((name, self._known.get((name, asked.asked))) for name in asked.clusters)
        names = tuple(name for name, each in known if each is None or each.at < since)
        return replace(asked, clusters=names)

    def known(self, asked: Inquiry, assumed: Sequence[Assumed]) -> dict[str, int]:
        """By cluster, what was answered last, with what was given away since then."""
        found = {name: self._known[name, asked.asked] for name in asked.clusters}
        return {
            name: corrected(each.count, asked.asked, each.taken, taken_in(name, assumed).sums)
            for name, each in found.items()
        }

    def note(self, asked: Inquiry, answers: Mapping[str, Answer], now: float) -> None:
        """Remember what was answered; who was asked and did not answer does not know."""
        if len(self._known) >= _KEPT_MOST:
            self._known.clear()
        unknown = Answer(_UNKNOWN, Sums(), now)
        for name in asked.clusters:
            self._known[name, asked.asked] = answers.get(name, unknown)


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
