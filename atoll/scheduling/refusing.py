"""What becomes of a decision when a plug-in fails: it is refused, and no more than that.

A failure gives SchedulerError and names the plug-in:
what runs stays as it is, and it is tried again. To go on without the plug-in would place work where
its author forbids it; to turn the cluster away would, if it fails for all, read as "no cluster
fits", on which Karmada withdraws what runs. Neither may follow from a mistake in a rule.
"""

from dataclasses import dataclass

import numpy as np

from atoll.model.affinity import Term
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Refusal
from atoll.scheduling.decision import Attempt
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.guarding import PluginFailed
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.shortlisting import Opinion, Shortlist
from atoll.scheduling.verdicts import Verdicts


def refused(term: Term, failed: PluginFailed, fleet: Fleet) -> Attempt:
    """An attempt that ended when a plug-in failed."""
    refusal = Refusal(Verdict.SCHEDULER_ERROR, str(failed))
    return Attempt(term, _nobody(failed, fleet), refusal=refusal)


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
