"""Deciding with plug-ins that may fail: one that does refuses the decision, and no more than that.

The same comes in and goes out as in `cycle`. A failure gives SchedulerError and names the plug-in:
what runs stays as it is, and it is tried again. To go on without the plug-in would place work where
its author forbids it; to turn the cluster away would, if it fails for all, read as "no cluster
fits", on which Karmada withdraws what runs. Neither may follow from a mistake in a rule.
"""

from dataclasses import dataclass

import numpy as np

from atoll.model.binding import Binding
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Refusal
from atoll.scheduling.cycle import decide, terms_from
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.guarding import PluginFailed
from atoll.scheduling.placed import Placed
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import NOWHERE, Question, Surroundings
from atoll.scheduling.setting import ORDINARY, Setting
from atoll.scheduling.shortlisting import Opinion, Shortlist
from atoll.scheduling.verdicts import Verdicts


def decide_or_refuse(
    binding: Binding,
    fleet: Fleet,
    setting: Setting = ORDINARY,
    surroundings: Surroundings = NOWHERE,
) -> Decision:
    """Where the binding goes, or why nowhere, even if a plug-in fails."""
    try:
        return decide(binding, fleet, setting, surroundings)
    except PluginFailed as failed:
        refusal = Refusal(Verdict.SCHEDULER_ERROR, str(failed))
        term = binding.intent.terms[terms_from(binding).start]
        attempt = Attempt(term, _nobody(failed, fleet), refusal=refusal)
        placed = Placed.of(binding.targets, fleet.rows)
        made_with = (binding, fleet, setting, surroundings, placed)
        return Decision(refusal.verdict, refusal.message, (attempt,), *made_with)


def _nobody(failed: PluginFailed, fleet: Fleet) -> Shortlist:
    """No cluster is left, and all for one reason, so that every cluster has one."""
    verdicts = Verdicts(np.ones(len(fleet), np.uint16), (str(failed),))
    return Shortlist(np.zeros(0, np.int64), (Opinion(_Failed(failed.plugin), verdicts),))


@dataclass(frozen=True, slots=True)
class _Failed:
    """Stands in the explanation for the plug-in that failed, of whatever kind that was."""

    name: str
    spares_placed: bool = False
    shared: bool = False

    def compile(self, question: Question) -> Judge | None:
        return None
