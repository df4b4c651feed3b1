"""Overflow tiers: which tier a cluster is in, and dividing replicas tier by tier."""

from collections.abc import Callable

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Refusal, Share
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.question import Question


def tiers_of(question: Question, fleet: Fleet, rows: Rows) -> Numbers | None:
    """0 for clusters the term itself means, then 1, 2, ... for the first overflow that does.

    None without overflow: all are in the first tier.
    """
    overflow = question.term.overflow
    if not overflow:
        return None
    tiers = np.full(len(rows), len(overflow))
    for tier in range(len(overflow) - 1, -1, -1):
        affinity = overflow[tier - 1] if tier else question.term.affinity
        tiers[matching(affinity, fleet.traits)[rows]] = tier
    return tiers


def divide_by_tier(
    share: Share, fleet: Fleet, divide: Callable[[Share, Fleet], Assignment | Refusal]
) -> Assignment | Refusal:
    """Each tier takes what it has room for; only the rest goes on to the next."""
    selected, remaining, parts = share.selected.in_order(), share.replicas, list[Assignment]()
    tiers = selected.tier_numbers
    for tier in np.unique(tiers).tolist():
        members = selected.at(np.flatnonzero(tiers == tier))
        replicas = min(remaining, int(members.available.sum()))
        part = divide(Share(members, replicas, share.placed, share.clusters), fleet)
        if isinstance(part, Refusal):
            return part
        parts.append(part)
        remaining -= replicas
        if remaining <= 0:
            break
    if remaining > 0:
        message = "Clusters available replicas are not enough to schedule."
        return Refusal(Verdict.UNSCHEDULABLE, message)
    return Assignment(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.replicas for part in parts]),
        tuple(each for part in parts for each in part.sums),
    )
