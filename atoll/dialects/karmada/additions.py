"""Atoll's additions to a placement: `spec.atoll` of a policy, carried onto its bindings.

All fields may be left out, and nothing changes without them:

    clusters: {...}                  clusters that all terms are limited to
    select:                          which clusters are taken (see `choosing`)
    divide:                          how replicas are divided (see `choosing`)
    replicasPerCluster: [{clusters: {...}, min, max}]       the first entry that matches counts
    prefer: [{clusters: {...}, weight}]                     a negative weight: rather not
    preferNoScheduleCost: 10         what an untolerated PreferNoSchedule taint costs in score
    scores: {latency: 2}             scores of the clusters that count, with their weights
    tieBreak: UID | Name             who gets a replica that two clusters claim equally
    ordinals: {stride: 100}          a divided StatefulSet has every ordinal once; with a stride
                                     so many are kept for each cluster, else ranges have no gaps
    preemption: {mayPreempt: true, mayBePreempted: true}
    failback: Never | WhenPossible           return to an earlier term that can hold it again
    reschedule: OnRequest | OnClusterChange  when divided work is decided anew

Unknown fields are refused. What clusters are is written as in `clusters`.
"""

from dataclasses import replace
from typing import Any

from atoll.dialects.karmada import choosing, clusters
from atoll.dialects.wire import at, checked, choice, count, flag, known_only, number, part, parts
from atoll.model.affinity import ANYWHERE, Affinity, Term
from atoll.model.intent import (
    Bounds,
    Failback,
    Intent,
    Ordinals,
    Preemption,
    Preference,
    Reschedule,
    TieBreak,
)
from atoll.wire import Object

ADDITIONS = "spec.atoll"
WEIGHT_MAX = 1_000_000  # sums of weighted scores stay exact in 64 bits
_TIE_BREAKS = {"UID": TieBreak.UID_PARITY, "Name": TieBreak.NAME}
_FAILBACK = {"Never": Failback.NEVER, "WhenPossible": Failback.WHEN_POSSIBLE}
_RESCHEDULE = {
    "OnRequest": Reschedule.ON_REQUEST,
    "OnClusterChange": Reschedule.ON_CLUSTER_CHANGE,
}
_FIELDS = (
    "clusters",
    "select",
    "divide",
    "replicasPerCluster",
    "prefer",
    "preferNoScheduleCost",
    "scores",
    "tieBreak",
    "ordinals",
    "preemption",
    "failback",
    "reschedule",
)


def add(intent: Intent, given: Any) -> Intent:
    """The intent with the additions of its policy."""
    extra = checked(given, ADDITIONS)
    known_only(extra, ADDITIONS, *_FIELDS)
    selection = choosing.selection(part(extra, "select", ADDITIONS), at(ADDITIONS, "select"))
    division = choosing.division(part(extra, "divide", ADDITIONS), at(ADDITIONS, "divide"))
    return replace(
        intent,
        terms=_limited(intent.terms, clusters.meant(extra, ADDITIONS)),
        selection=selection or intent.selection,
        division=division or intent.division,
        bounds=tuple(_bounds(each, here) for here, each in _list(extra, "replicasPerCluster")),
        preferences=tuple(_preference(each, here) for here, each in _list(extra, "prefer")),
        soft_taints=number(extra, "preferNoScheduleCost", ADDITIONS, most=WEIGHT_MAX) or 0,
        scores=_scores(extra),
        tie_break=choice(extra, "tieBreak", ADDITIONS, _TIE_BREAKS, intent.tie_break),
        ordinals=_ordinals(part(extra, "ordinals", ADDITIONS), at(ADDITIONS, "ordinals")),
        preemption=_preemption(extra),
        failback=choice(extra, "failback", ADDITIONS, _FAILBACK, intent.failback),
        reschedule=choice(extra, "reschedule", ADDITIONS, _RESCHEDULE, intent.reschedule),
    )


def _list(extra: Object, key: str) -> list[tuple[str, Object]]:
    return list(parts(extra, key, ADDITIONS))


def _limited(terms: tuple[Term, ...], limit: Affinity) -> tuple[Term, ...]:
    """Every term and tier, of it only what the limit matches as well."""
    if limit == ANYWHERE:
        return terms
    return tuple(
        replace(
            term,
            affinity=replace(term.affinity, alternatives=(limit,)),
            overflow=tuple(replace(tier, alternatives=(limit,)) for tier in term.overflow),
        )
        for term in terms
    )


def _bounds(wire: Object, path: str) -> Bounds:
    known_only(wire, path, "clusters", "min", "max")
    least = count(wire, "min", path)
    most = choosing.most(wire, "max", path, least=least, what="min")
    return Bounds(clusters.meant(wire, path), least, most)


def _preference(wire: Object, path: str) -> Preference:
    known_only(wire, path, "clusters", "weight")
    weight = number(wire, "weight", path, least=-WEIGHT_MAX, most=WEIGHT_MAX)
    return Preference(clusters.meant(wire, path), 1 if weight is None else weight)


def _scores(extra: Object) -> tuple[tuple[str, int], ...]:
    weights = part(extra, "scores", ADDITIONS) or {}
    path = at(ADDITIONS, "scores")
    found = {
        name: number(weights, name, path, least=-WEIGHT_MAX, most=WEIGHT_MAX) for name in weights
    }
    return tuple(sorted((name, 1 if weight is None else weight) for name, weight in found.items()))


def _preemption(extra: Object) -> Preemption:
    given, path = part(extra, "preemption", ADDITIONS) or {}, at(ADDITIONS, "preemption")
    known_only(given, path, "mayPreempt", "mayBePreempted")
    return Preemption(
        may_preempt=flag(given, "mayPreempt", path, default=False),
        may_be_preempted=flag(given, "mayBePreempted", path, default=True),
    )


def _ordinals(wire: Object | None, path: str) -> Ordinals | None:
    if wire is None:
        return None
    known_only(wire, path, "stride")
    return Ordinals(number(wire, "stride", path, least=1))
