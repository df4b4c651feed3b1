"""A decision told: in words, and as data that a program can read without knowing how it was made.

A decision comes in and a note of it goes out, small enough to wait until there is time; of a note
comes what is told. Other bindings are named in `others` and nowhere else, so that their names can
be kept from who may not read them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from atoll.control.explanations.decide.shortages import shortages
from atoll.dialects.compressed import deflated, inflated
from atoll.dialects.karmada.preemption_notes import Part
from atoll.dialects.wire import written_time
from atoll.model.price import NANO
from atoll.scheduling import stored
from atoll.scheduling.arithmetic import Arithmetic
from atoll.scheduling.cluster_report import SPARED, ClusterReport
from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import Report, TermReport, explain
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.view import NODE_VIEW
from atoll.scheduling.prices import UNKNOWN
from atoll.scheduling.recording import Record, record
from atoll.scheduling.sentences import MANY, outcome, sentences
from atoll.scheduling.trigger import Trigger
from atoll.scheduling.units import unit_costs

Told = Mapping[str, Any]
RECORD = "record"


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """What is kept of a decision until it is told: all that explains it."""

    record: Record
    trigger: Trigger
    at: float
    targets: list[Told]
    cost: str
    costs: list[Told]
    """What the targets whose price is known cost per hour, one by one."""
    others: list[Told]
    unit_costs: Mapping[str, str]
    """By cluster, what one replica costs per hour; where the choice was by price."""
    shortages: Mapping[str, str]
    """By cluster, why its nodes take less than it reports; where that made a difference."""


def note(decision: Decision, why: Trigger, now: float, gives: Iterable[Part] = ()) -> Note:
    """What to keep of a decision made at this moment, for which these give way."""
    targets: list[Told] = [
        {"name": each.name, "replicas": each.replicas} for each in decision.targets
    ]
    others = [*_others(decision), *_give_way(gives)]
    said = _cost(decision), _costs(decision), others, _unit_costs(decision), shortages(decision)
    return Note(record(decision), why, now, targets, *said)


def says(each: Note) -> tuple[Any, ...]:
    """What of a decision would be news if it were different."""
    kept = each.record
    return str(kept.verdict), kept.message, kept.term, kept.replicas, each.targets


def told(each: Note) -> Told:
    """A decision and how it was reached, in words and as data; what is empty is left out."""
    kept = each.record
    report = explain(kept, cost=each.cost)
    about = {
        "verdict": str(report.verdict),
        "message": report.message,
        "summary": outcome(report),
        "affinityName": kept.term,
    }
    said: dict[str, Any] = {
        "time": written_time(each.at),
        "trigger": str(each.trigger),
        "outcome": _filled(about),
        "replicas": report.replicas,
        "targets": each.targets,
        "cost": report.cost,
        "costs": each.costs,
        **_steps(report.decisive),
        "sentences": [*sentences(report), *_prices(each)],
        "clusters": [_cluster(one, each) for one in _told_one_by_one(report)],
        "reasons": [
            {"count": count, "fate": str(reason.fate), "reason": reason.text}
            for count, reason in report.decisive.reasons
        ],
        "others": each.others,
    }
    names = "\n".join(kept.roll.names.tolist()).encode()
    return _filled(said) | {RECORD: deflated(names + b"\0" + stored.encode(kept))}


def _steps(term: TermReport) -> Told:
    """What the steps of a decision were made of, and how many clusters there were at each."""
    trial = term.trial
    return {
        "fleetSize": len(term.record.roll.names),
        "passed": len(trial.candidates) if trial.candidates is not None else 0,
        "filters": [each.filter for each in trial.said],
        "selection": trial.selection,
        "groups": [
            {"by": by.key, "name": each.name, "score": each.score, "taken": each.taken}
            for by in term.weighings
            for each in by.groups[:MANY]
        ],
        "division": trial.division,
        "sums": [_sum(each) for each in term.sums],
    }


def _sum(told: Arithmetic) -> Told:
    """One division of replicas; shares are text, for exact numbers of any program."""
    lines = [
        {"name": each.cluster, "votes": each.votes, "share": f"{each.share:.2f}"}
        | {"won": each.won, "kept": each.kept}
        for each in told.lines[:MANY]
    ]
    return {"method": told.method, "seats": told.seats, "votes": told.votes, "lines": lines}


def _filled(said: Told) -> dict[str, Any]:
    return {key: value for key, value in said.items() if value not in (None, "", [])}


def _prices(each: Note) -> list[str]:
    costs = ", ".join(f"{name} {cost}" for name, cost in each.unit_costs.items())
    return [f"what one replica costs: {costs}"] if costs else []


def _told_one_by_one(report: Report) -> Iterable[ClusterReport]:
    """Every cluster, as long as they are few; of many, those that were chosen."""
    if len(report.decisive.record.roll.names) <= MANY:
        return report.clusters
    return (report.cluster(each.name) for each in report.targets[:MANY])


def _cluster(report: ClusterReport, of: Note) -> Told:
    """One cluster's part; what was not reached is left out."""
    short = of.shortages.get(report.name)
    because = {"because": short} if short else {}
    part = {
        "name": report.name,
        "chosen": report.chosen,
        "replicas": report.replicas,
        "before": report.before,
        "fate": str(report.reason.fate),
        "reason": report.reason.text,
        "turnedAwayBy": [
            {"filter": each.filter, "reason": each.said} for each in report.turned_away
        ],
        "sparedBy": [each.filter for each in report.rulings if each.said == SPARED],
        "rank": report.rank,
        "score": report.score,
        "scores": [{"from": name, "score": score} for name, score in report.scores],
        "groups": [{"by": by, "name": name} for by, name in report.groups],
        "room": report.room,
        "unitCost": of.unit_costs.get(report.name),
        "estimates": [
            {"from": name, "replicas": answer} | (because if name == NODE_VIEW else {})
            for name, answer in report.estimates
            if answer is not None
        ],
    }
    return _filled(part)


def _cost(decision: Decision) -> str:
    """What it costs per hour, as far as that is known."""
    found, fleet = decision.cost, decision.fleet
    if len(found.unknown) == len(found.by_cluster):
        return ""
    told = _per_hour(found.known, fleet)
    return f"{told}, without {', '.join(found.unknown)}" if found.unknown else told


def _costs(decision: Decision) -> list[Told]:
    found, fleet = decision.cost.by_cluster[:MANY], decision.fleet
    return [
        {"name": name, "perHour": _per_hour(cost, fleet)}
        for name, cost in found
        if cost is not None
    ]


def _unit_costs(decision: Decision) -> Mapping[str, str]:
    """What one replica costs in each cluster that is told of, the cheapest first."""
    binding, fleet = decision.binding, decision.fleet
    if not binding.intent.by_price:
        return {}
    few = len(fleet) <= MANY
    names = fleet.traits.names.tolist() if few else [each.name for each in decision.targets[:MANY]]
    rows = np.array([fleet.rows[name] for name in names], np.int64)
    costs = dict(zip(names, unit_costs(binding, fleet, rows).tolist(), strict=True))
    ordered = sorted(costs.items(), key=lambda each: (each[1] == UNKNOWN, each[1], each[0]))
    return {
        name: "not known" if cost == UNKNOWN else _per_hour(cost, fleet) for name, cost in ordered
    }


def _per_hour(nanos: int, fleet: Fleet) -> str:
    """An amount, in the one currency that all known prices are in."""
    prices = (each.price for each in fleet.clusters)
    currency = next((f" {each.currency}" for each in prices if each and each.currency), "")
    return f"{Decimal(nanos) / NANO:f}{currency} per hour"


def _others(decision: Decision) -> list[Told]:
    """The bindings that a workload wants to be with, or apart from."""
    binding, found = decision.binding, list[Told]()
    groups = (
        ("affinity_group", "it is of the same affinity group"),
        ("anti_affinity_group", "it is of the same anti-affinity group"),
    )
    for each in decision.surroundings.neighbours:
        if each.namespace != binding.resource.namespace or each.key == binding.key:
            continue
        for group, because in groups:
            if getattr(binding, group) and getattr(each, group) == getattr(binding, group):
                named = {"kind": "ResourceBinding", "namespace": each.namespace, "name": each.name}
                found.append(named | {"because": because, "clusters": sorted(each.targets)})
    return found


def _give_way(gives: Iterable[Part]) -> Iterable[Told]:
    """The bindings that give up replicas for a workload."""
    for each in gives:
        named = {key: getattr(each.other, key) for key in ("kind", "namespace", "name")}
        because = f"it has a lower priority and gives up {each.replicas} replica(s)"
        yield _filled(named | {"because": because, "clusters": [each.cluster]})


def read_record(written: str) -> Record:
    """The record of a decision, from the form it has in an explanation."""
    names, _, rest = inflated(written, RECORD).partition(b"\0")
    listed = names.decode().split("\n") if names else []
    return stored.decode(rest, np.array(listed, dtype=object))
