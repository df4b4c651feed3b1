"""TaintToleration: new work stays off clusters with a taint it does not tolerate."""

from dataclasses import dataclass

from atoll.model.taint import Taint, first_untolerated
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class TaintToleration:
    """Work that runs already is not turned away: whether it must go is for eviction to say."""

    name: str = "TaintToleration"
    spares_placed: bool = True
    shared: bool = True

    def compile(self, question: Question) -> Judge | None:
        tolerations = question.intent.tolerations

        def judge(fleet: Fleet) -> Verdicts:
            codes: dict[str, int] = {}

            def verdict(taints: tuple[Taint, ...]) -> int:
                taint = first_untolerated(taints, tolerations)
                return codes.setdefault(str(taint), len(codes) + 1) if taint else 0

            judged = fleet.traits.taints.judged(verdict)
            reasons = (f"cluster(s) had untolerated taint {{{taint}}}" for taint in codes)
            return Verdicts(judged, tuple(reasons))

        return judge
