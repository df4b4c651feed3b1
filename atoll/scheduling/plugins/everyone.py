"""Everyone: without constraints, every candidate is selected."""

from dataclasses import dataclass

from atoll.model.intent import Everyone as Wanted
from atoll.scheduling.candidates import Candidates
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Choose
from atoll.scheduling.question import Question


@dataclass(frozen=True, slots=True)
class Everyone:
    """Takes them as they come; who needs an order asks for it."""

    name: str = "Everyone"

    def compile(self, question: Question) -> Choose | None:
        return _all if isinstance(question.intent.selection, Wanted) else None


def _all(candidates: Candidates, fleet: Fleet) -> Candidates:
    return candidates
