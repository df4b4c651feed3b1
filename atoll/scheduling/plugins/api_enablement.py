"""APIEnablement: a cluster must serve the API of the object, unless it runs it already."""

from dataclasses import dataclass

from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class ApiEnablement:
    """Keep objects off clusters that would not know what they are."""

    name: str = "APIEnablement"
    spares_placed: bool = True
    shared: bool = True

    def compile(self, question: Question) -> Judge | None:
        api = question.binding.resource.api

        def judge(fleet: Fleet) -> Verdicts:
            lacks = fleet.traits.apis.judged(lambda apis: api not in apis)
            return Verdicts(lacks, ("cluster(s) did not have the API resource",))

        return judge
