"""Why no cluster fits, in Karmada's sentence: how many clusters, and how many for each reason."""

from collections import Counter

from atoll.model.binding import Binding
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Refusal
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.shortlisting import Shortlist


def no_cluster_fits(binding: Binding, fleet: Fleet, shortlisted: Shortlist) -> Refusal:
    """Each cluster counts once, for the first filter that turned it away."""
    placed = {each.name for each in binding.targets}
    reasons = Counter[str]()
    for row, cluster in enumerate(fleet.clusters):
        if not cluster.deleting:
            first = first_reason(row, shortlisted, placed=cluster.name in placed)
            if first is not None:
                reasons[first] += 1
    told = sorted(f"{count} {reason}" for reason, count in reasons.items())
    message = ", ".join(told) if told else "no cluster exists"
    sentence = f"0/{len(fleet)} clusters are available: {message}."
    return Refusal(Verdict.NO_CLUSTER_FIT, sentence)


def first_reason(row: int, shortlisted: Shortlist, *, placed: bool) -> str | None:
    """The first filter's reason to turn a cluster away, if any does."""
    for opinion in shortlisted.opinions:
        if placed and opinion.filter.spares_placed:
            continue
        reason = opinion.verdicts.reason(row)
        if reason is not None:
            return reason
    return None
