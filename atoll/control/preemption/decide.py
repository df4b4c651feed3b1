"""Giving way, once it is decided: who gives up its replicas, and until when it takes none back.

A binding and those it has to do with come in. One that takes room has it given, binding by binding,
each in one write that says so; when all have given, its own note goes. One that gave way has that
noted until the other runs there, or is gone. So it is done once, however often it is begun.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from atoll.control.scheduler.decide.outcome import tell
from atoll.dialects.karmada.preemption_notes import (
    GAVE_WAY,
    PREEMPTS,
    Part,
    has,
    has_given,
    noted,
    parts,
    uid_of,
)
from atoll.dialects.karmada.standing import healthy_in
from atoll.model.action import NOTHING, Action, Object, Plan, Ref, Update

TAKES, GIVES = "Preempting", "Preempted"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenParties:
    """A binding, and those that its notes name, by uid, as far as they are there."""

    binding: Object
    others: Mapping[str, Object]


def plan(seen: SeenParties) -> Plan:
    """What to do about a binding's notes."""
    binding = seen.binding
    gave = parts(binding, GAVE_WAY)
    lasting = [each for each in gave if _lasts(each, seen.others.get(each.uid))]
    if has(binding, GAVE_WAY) and len(lasting) < max(1, len(gave)):
        return Plan((Update(noted(binding, GAVE_WAY, lasting)),))
    if not has(binding, PREEMPTS) or binding["metadata"].get("deletionTimestamp"):
        return NOTHING
    return Plan((*_taken(seen), Update(noted(binding, PREEMPTS, ()))))


def named(about: Object, other: Ref, otherwise: str) -> str:
    """Another binding in words for those who read about this one: by name within a namespace."""
    same = other.namespace == (about.get("metadata") or {}).get("namespace", "")
    return f"{other.kind} {other.name}" if same else f"another binding of {otherwise} priority"


def _lasts(part: Part, taker: Object | None) -> bool:
    """Whether what was given up must not be taken back yet."""
    if taker is None:
        return False
    runs = part.cluster in _replicas(taker) and part.cluster not in healthy_in(taker)
    return runs or has(taker, PREEMPTS)


def _taken(seen: SeenParties) -> Iterable[Action]:
    """Have everyone give up what is still to be given, and say so."""
    taker, wanted = seen.binding, _replicas(seen.binding)
    listed = [each for each in parts(taker, PREEMPTS) if each.cluster in wanted]
    for uid, group in groupby(sorted(listed, key=_by_victim), key=lambda each: each.uid):
        victim = seen.others.get(uid)
        if victim is None:
            continue
        due = [each for each in group if not has_given(victim, each, uid_of(taker))]
        if due:
            yield from tell(victim, GIVES, _given(victim, taker, due), warning=True)
            yield Update(_lowered(victim, taker, due))
    if listed:
        yield from tell(taker, TAKES, _took(taker, listed), warning=False)


def _by_victim(part: Part) -> tuple[str, str]:
    return part.uid, part.cluster


def _lowered(victim: Object, taker: Object, due: list[Part]) -> Object:
    """A binding that has given up these parts, and says to whom."""
    left = _replicas(victim)
    for each in due:
        left[each.cluster] = left.get(each.cluster, 0) - each.replicas
    spec = dict(victim["spec"])
    clusters = [
        {**each, "replicas": left[each["name"]]}
        for each in spec.pop("clusters", None) or ()
        if left[each["name"]] > 0
    ]
    if clusters:
        spec["clusters"] = clusters
    gave = {(each.uid, each.cluster): each for each in parts(victim, GAVE_WAY)}
    for each in due:
        key = (uid_of(taker), each.cluster)
        before = gave[key].replicas if key in gave else 0
        gave[key] = replace(each, other=Ref.of(taker), uid=key[0], replicas=before + each.replicas)
    return noted({**victim, "spec": spec}, GAVE_WAY, gave.values())


def _replicas(binding: Object) -> dict[str, int]:
    clusters = (binding.get("spec") or {}).get("clusters") or ()
    return {each["name"]: each.get("replicas") or 0 for each in clusters}


def _priority(binding: Object) -> int:
    return int(((binding.get("spec") or {}).get("schedulePriority") or {}).get("priority") or 0)


def _given(victim: Object, taker: Object, due: list[Part]) -> str:
    where = ", ".join(f"{each.replicas} in {each.cluster}" for each in due)
    return (
        f"Gave up replicas: {where}, to {named(victim, Ref.of(taker), 'higher')} of priority"
        f" {_priority(taker)}, which found no room. This has priority {_priority(victim)}."
    )


def _took(taker: Object, listed: list[Part]) -> str:
    gave = "; ".join(
        f"{named(taker, each.other, 'lower')} {each.replicas} in {each.cluster}" for each in listed
    )
    return f"Found no room, so replicas of lower priority than {_priority(taker)} gave way: {gave}."
