"""Why a binding was placed as it was: each decision as an object of our own, for people to read.

A decision and the explanations there are come in; one more goes out, and the oldest go, so that the
last ten of each binding are kept. A decision that says what the last one said is not told again.
An explanation is in its binding's namespace and goes with it. Who may read it is not known here.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any

from atoll.model.action import NOTHING, Action, Create, Delete, Object, Plan, Ref
from atoll.planning.placing.standing import written_time
from atoll.scheduling import stored
from atoll.scheduling.cluster_report import ClusterReport
from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import Report, explain
from atoll.scheduling.recording import record
from atoll.scheduling.sentences import MANY, outcome, sentences
from atoll.scheduling.trigger import Trigger

API_VERSION = "placement.atoll.io/v1alpha1"
NAMESPACED, CLUSTER_WIDE = "Explanation", "ClusterExplanation"
KEPT = 10
NAME_MOST = 253
_NEWS = ("outcome", "replicas", "targets")
_NANO = Decimal(10) ** 9


@dataclass(frozen=True, slots=True)
class SeenExplanations:
    """A binding and the explanations of its decisions, in any order."""

    binding: Object
    explanations: tuple[Object, ...] = ()


def keep(seen: SeenExplanations, decision: Decision, why: Trigger, now: float) -> Plan:
    """Note why a decision fell out as it did, and forget the oldest notes."""
    known = sorted(seen.explanations, key=_sequence)
    said = _said(decision, why)
    actions: list[Action] = []
    if not known or any(known[-1].get(key) != said[key] for key in _NEWS):
        sequence = _sequence(known[-1]) + 1 if known else 1
        actions.append(Create({**_identity(seen.binding, sequence, now), **said}))
    oldest = known[: max(0, len(known) + len(actions) - KEPT)]
    actions += [Delete(Ref.of(old), str(old["metadata"].get("uid", ""))) for old in oldest]
    return Plan(tuple(actions)) if actions else NOTHING


def _identity(binding: Object, sequence: int, now: float) -> Mapping[str, Any]:
    """Which decision of which binding it is about; it is removed with its binding."""
    about = Ref.of(binding)
    uid = (binding.get("metadata") or {}).get("uid", "")
    of = {"apiVersion": about.api_version, "kind": about.kind, "name": about.name, "uid": uid}
    where = {"namespace": about.namespace} if about.namespace else {}
    name = {"name": explanation_name(about.name, sequence), "ownerReferences": [of]}
    return {
        "apiVersion": API_VERSION,
        "kind": NAMESPACED if about.namespace else CLUSTER_WIDE,
        "metadata": {**name, **where},
        "binding": {**of, **where},
        "sequence": sequence,
        "time": written_time(now),
    }


def explanation_name(binding: str, sequence: int) -> str:
    """The name of an explanation; a name that would be too long is cut, and told by its hash."""
    name = f"{binding}.{sequence}"
    if len(name) <= NAME_MOST:
        return name
    ending = f"-{sha256(binding.encode()).hexdigest()[:16]}.{sequence}"
    return binding[: NAME_MOST - len(ending)].rstrip("-.") + ending


def _said(decision: Decision, why: Trigger) -> Mapping[str, Any]:
    """What a decision says, and how it was reached."""
    kept = record(decision)
    report = explain(kept, cost=_cost(decision))
    said: dict[str, Any] = {
        "trigger": str(why),
        "outcome": {
            "verdict": str(report.verdict),
            "message": report.message,
            "summary": outcome(report),
            "affinityName": decision.term,
        },
        "replicas": report.replicas,
        "targets": [{"name": each.name, "replicas": each.replicas} for each in report.targets],
        "clusters": _clusters(report),
        "reasons": [
            {"count": count, "fate": str(reason.fate), "reason": reason.text}
            for count, reason in report.decisive.reasons
        ],
        "sentences": sentences(report),
        "cost": report.cost,
    }
    names = kept.roll.names.tolist()
    said["record"] = {
        "data": b64encode(stored.encode(kept)).decode(),
        "fleet": kept.roll.fingerprint,
        **({"clusters": names} if len(names) <= MANY else {}),
    }
    return said


def _clusters(report: Report) -> list[Mapping[str, Any]]:
    """Every cluster, as long as they are few; of many, those that were chosen."""
    if len(report.decisive.record.roll.names) <= MANY:
        return [_cluster(each) for each in report.clusters]
    return [_cluster(report.cluster(each.name)) for each in report.targets[:MANY]]


def _cluster(report: ClusterReport) -> Mapping[str, Any]:
    """One cluster's part; what was not reached is left out."""
    told = {
        "name": report.name,
        "chosen": report.chosen,
        "replicas": report.replicas,
        "before": report.before,
        "fate": str(report.reason.fate),
        "reason": report.reason.text,
        "alsoTurnedAwayBy": [
            {"filter": each.filter, "reason": each.said} for each in report.turned_away
        ],
        "rank": report.rank,
        "score": report.score,
        "room": report.room,
        "estimates": [
            {"from": name, "replicas": answer}
            for name, answer in report.estimates
            if answer is not None
        ],
    }
    return {key: value for key, value in told.items() if value not in (None, "", [])}


def _cost(decision: Decision) -> str:
    """What it costs per hour, as far as that is known."""
    found = decision.cost
    if len(found.unknown) == len(found.by_cluster):
        return ""
    told = f"{Decimal(found.known) / _NANO:f} per hour"
    return f"{told}, without {', '.join(found.unknown)}" if found.unknown else told


def _sequence(explanation: Object) -> int:
    found = explanation.get("sequence")
    return found if isinstance(found, int) else 0
