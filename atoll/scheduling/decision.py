"""What a decision says, and the record of how it was reached.

The record is made of the arrays that the decision worked with; it costs next to nothing to keep
and is read by `explain`.
"""

from dataclasses import dataclass

from atoll.model.affinity import Term
from atoll.model.binding import Binding, Target
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Candidates, Refusal
from atoll.scheduling.estimates import Estimates
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting
from atoll.scheduling.shortlisting import Shortlist


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One term tried: who was left, how they ranked, who was selected, what each got.

    What was not reached is None; `refusal` says why.
    """

    term: Term
    shortlist: Shortlist
    candidates: Candidates | None = None
    estimates: Estimates | None = None
    selected: Candidates | None = None
    assignment: Assignment | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The outcome in Karmada's words, and what the binding holds afterwards."""

    verdict: Verdict
    message: str
    """Empty on success."""
    targets: tuple[Target, ...]
    bound: tuple[Target, ...]
    """What the binding holds afterwards, if it is treated as Karmada would."""
    retry: bool
    term: str
    """The name of the term observed from now on."""
    attempts: tuple[Attempt, ...]
    binding: Binding
    fleet: Fleet
    setting: Setting
    surroundings: Surroundings

    @property
    def ok(self) -> bool:
        return self.verdict is Verdict.SUCCESS
