"""Proposed moves as they are told: as data that a program can read, and in words for people.

A proposal comes in, and the ClusterPrices there are, of which those that do not count say why.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from atoll.control.prices.decide import IN_FORCE
from atoll.control.scheduler.decide.fullness import WHOLE, Level
from atoll.control.scheduler.decide.proposing import Move, Proposal
from atoll.dialects.kubernetes.conditions import find
from atoll.errors import Invalid
from atoll.model.binding import Target
from atoll.model.intent import Available, Fill, Weighted
from atoll.model.ordinals import Range
from atoll.model.price import NANO, ClusterPrice
from atoll.scheduling.fleet import Fleet

Told = Mapping[str, Any]


def told(proposal: Proposal, prices: Iterable[ClusterPrice]) -> Told:
    """A proposal, with what is missing to judge it by."""
    fleet, before, saving = proposal.fleet, proposal.cost, proposal.saving
    priced = (each.price.currency for each in fleet.clusters if each.price is not None)
    return {
        "currency": next(filter(None, priced), ""),
        "moves": [_move(each) for each in proposal.moves],
        "lookedAt": proposal.looked_at,
        "before": {"costPerHour": _amount(before.known), **_level(proposal.level_before)},
        "after": {
            "costPerHour": None if saving is None else _amount(before.known - saving),
            **_level(proposal.level_after),
        },
        "costUnknownIn": sorted({*before.unknown}),
        "unpriced": _unpriced(fleet, prices),
        "unmeasured": [*proposal.unmeasured],
    }


def _move(move: Move) -> Told:
    template, saving = move.binding.spec.template, move.saving
    return {
        "workload": {
            "apiVersion": template.api_version,
            "kind": template.kind,
            "namespace": template.namespace,
            "name": template.name,
        },
        "binding": move.binding.ref.name,
        "from": _targets(move.before),
        "to": _targets(move.after),
        "savingPerHour": None if saving is None else _amount(saving),
        **_disruption(move),
        "why": _why(move),
    }


def _targets(targets: Iterable[Target]) -> list[Told]:
    return [{"name": each.name, "replicas": each.replicas} for each in targets]


def _amount(nanos: int) -> str:
    return f"{Decimal(nanos) / NANO:f}"


def _level(level: Level) -> Told:
    return {"fullestCluster": level.fullest, "fullestShare": f"{Decimal(level.highest) / WHOLE:f}"}


def _unpriced(fleet: Fleet, prices: Iterable[ClusterPrice]) -> list[Told]:
    """The clusters without a price that counts, and why they have none."""
    refused = dict[str, str]()
    for each in prices:
        holds = find(each.conditions, IN_FORCE)
        if holds is not None and holds.get("status") != "True":
            name = each.meta.name if isinstance(each.said, Invalid) else each.said.cluster
            refused[name] = f"ClusterPrice {each.meta.name}: {holds.get('message', '')}"
    return [
        {"cluster": each.name, "why": refused.get(each.name, "no price is given")}
        for each in fleet.clusters
        if each.price is None
    ]


def _disruption(move: Move) -> Told:
    """What a move does to whoever relies on the workload.

    A cluster that is left altogether keeps its replicas until those elsewhere run well; one that
    keeps some lets go of the others at once. No ordinal ever runs twice.
    """
    ran, runs = dict(move.before), dict(move.after)
    total, ordinals = sum(ran.values()), _ordinals(move)
    restarts = sum(max(0, count - ran.get(name, 0)) for name, count in runs.items())
    fewer = sum(max(0, count - runs[name]) for name, count in ran.items() if name in runs)
    if ordinals:
        fewer = restarts = sum(each.count for each in ordinals)
    parts = [f"{fewer} of {total} end before they start elsewhere"] if fewer else []
    if restarts > fewer:
        how_many = (
            "its only replica starts" if total == 1 else f"{restarts - fewer} of {total} start"
        )
        parts.append(f"{how_many} elsewhere before the old end{'s' if total == 1 else ''}")
    kind = move.binding.spec.template.kind
    if ordinals:
        parts.append(", ".join(f"{each} in {each.cluster}" for each in ordinals))
    if kind == "StatefulSet":
        parts.append("volumes stay behind")
    elif kind == "Job":
        parts.append("work done so far is lost")
    return {"restarts": restarts, "fewerMeanwhile": fewer, "disrupts": "; ".join(parts)}


def _ordinals(move: Move) -> list[Range]:
    """Which ordinals of a StatefulSet start in which cluster, if they are divided."""
    known = move.found.ordinals or ()
    divided = move.decision.ordinals(known)
    ran = {one: each.cluster for each in known for one in range(each.start, each.end)}
    found = list[Range]()
    for each in divided.ranges if divided is not None else ():
        for one in range(each.start, each.end):
            last = found[-1] if found else None
            if ran.get(one) == each.cluster:
                continue
            if last is not None and (last.cluster, last.end) == (each.cluster, one):
                found[-1] = Range(each.cluster, last.start, last.count + 1)
            else:
                found.append(Range(each.cluster, one, 1))
    return found


def _why(move: Move) -> str:
    """By which of its policy's wishes it is placed otherwise now."""
    intent = move.decision.binding.intent
    if intent.by_price:
        return "its policy asks for the cheapest clusters"
    match intent.division:
        case Available(aggregated=True):
            return "as few clusters as hold it, by what is free now"
        case Available():
            return "divided by what is free now"
        case Fill():
            return "filled in its policy's order, by what is free now"
        case Weighted():
            return "divided by weight among the clusters that take it now"
    return "its policy selects other clusters now"
