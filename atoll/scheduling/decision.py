"""What a decision says, and the record of how it was reached.

The record is made of the arrays that the decision worked with; it costs next to nothing to keep
and is read by `explain`.
"""

from typing import NamedTuple

from atoll.model.affinity import Term
from atoll.model.binding import Binding, Target
from atoll.model.decision import Verdict
from atoll.model.ordinals import Range
from atoll.scheduling.candidates import Assignment, Candidates, Refusal, Scores
from atoll.scheduling.costing import Cost, cost
from atoll.scheduling.estimates import Estimates
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.ordinals import Plan, divide
from atoll.scheduling.placed import NONE_PLACED, Placed
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting
from atoll.scheduling.shortlisting import Shortlist

_SUCCESS = Verdict.SUCCESS
"""Looking up a member of an enumeration takes as long as a call."""


class Attempt(NamedTuple):
    """One term tried: who was left, how they ranked, who was selected, what each got.

    What was not reached is None; `refusal` says why.
    """

    term: Term
    shortlist: Shortlist
    candidates: Candidates | None = None
    estimates: Estimates | None = None
    scores: Scores = ()
    selection: str = ""
    """The plug-in that selected."""
    selected: Candidates | None = None
    division: str = ""
    """The plug-in that divided; none is asked where there are no replicas."""
    assignment: Assignment | None = None
    refusal: Refusal | None = None


class Decision(NamedTuple):
    """The outcome in Karmada's words, and what it was made from."""

    verdict: Verdict
    message: str
    """Empty on success."""
    attempts: tuple[Attempt, ...]
    """The terms that were tried; the last is the one that succeeded, if one did."""
    binding: Binding
    fleet: Fleet
    setting: Setting
    surroundings: Surroundings
    placed: Placed = NONE_PLACED

    @property
    def ok(self) -> bool:
        return self.verdict is _SUCCESS

    def names_and_replicas(self) -> tuple[list[str], list[int]]:
        """The targets as two lists side by side, which is the quickest way to read many."""
        assignment = self.attempts[-1].assignment if self.ok else None
        if assignment is None:
            return [], []
        return self.fleet.names_of(assignment.rows), assignment.replicas.tolist()

    @property
    def targets(self) -> tuple[Target, ...]:
        """Where it goes, in the order the result is told; nowhere unless it succeeded."""
        return tuple(map(Target, *self.names_and_replicas()))

    @property
    def cost(self) -> Cost:
        """What it costs per hour; of nothing where it placed nothing."""
        return cost(self.binding, self.targets, self.fleet)

    def ordinals(
        self, current: tuple[Range, ...] = (), fenced: frozenset[str] = frozenset()
    ) -> Plan | None:
        """Which ordinals of a StatefulSet run where; None if they are not divided.

        `current` are the ranges decided last; nothing of a `fenced` cluster runs any more.
        """
        division = self.binding.intent.ordinals
        if division is None or not self.ok:
            return None
        wanted = dict(zip(*self.names_and_replicas(), strict=True))
        return divide(wanted, current, stride=division.stride, fenced=fenced)

    @property
    def bound(self) -> tuple[Target, ...]:
        """What the binding holds afterwards, if it is treated as Karmada would."""
        if self.verdict is Verdict.NO_CLUSTER_FIT:
            return ()
        return self.targets if self.ok else self.binding.targets

    @property
    def retry(self) -> bool:
        """Whether to try again without waiting for a change."""
        return self.verdict in (Verdict.UNSCHEDULABLE, Verdict.SCHEDULER_ERROR)

    @property
    def term(self) -> str:
        """The name of the term observed from now on."""
        return self.attempts[-1].term.name if self.ok else self.binding.observed_term
