"""Unsupported: a division that nothing here knows is refused in so many words."""

from dataclasses import dataclass

from atoll.model.decision import Verdict
from atoll.model.intent import Unsupported as Wanted
from atoll.scheduling.candidates import Refusal
from atoll.scheduling.plugin import Divide
from atoll.scheduling.question import Question


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Karmada's sentence."""

    name: str = "Unsupported"
    by_tier: bool = True

    def compile(self, question: Question) -> Divide | None:
        division = question.intent.division
        if not isinstance(division, Wanted):
            return None
        message = (
            f"unsupported replica scheduling strategy, replicaSchedulingType: {division.kind}, "
            f"replicaDivisionPreference: {division.preference}, "
            "please try another scheduling strategy"
        )
        refusal = Refusal(Verdict.SCHEDULER_ERROR, message)
        return lambda share, fleet: refusal
