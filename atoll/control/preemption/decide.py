"""Giving way, once it is decided: who gives up its replicas, and until when it takes none back.

A binding and those it has to do with come in. One that takes room has it given, binding by binding,
each in one write that says so; when all have given, its own note goes. One that gave way has that
noted until the other runs there, or is gone. So it is done once, however often it is begun.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from atoll.control.scheduler.decide.outcome import tell
from atoll.dialects.karmada.objects.encoding import clusters, patched
from atoll.dialects.karmada.preemption_notes import (
    GAVE_WAY,
    PREEMPTS,
    Part,
    has,
    has_given,
    noted,
    parts,
)
from atoll.model.action import NOTHING, Action, Plan, Ref, Update
from atoll.model.binding import Target
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object

TAKES, GIVES = "Preempting", "Preempted"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenParties:
    """A binding, and those that its notes name, by uid, as far as they are there."""

    binding: ResourceBinding
    others: Mapping[str, ResourceBinding]


def plan(seen: SeenParties) -> Plan:
    """What to do about a binding's notes."""
    binding = seen.binding
    if binding.problem is not None:
        return NOTHING
    gave = parts(binding.wire, GAVE_WAY)
    lasting = [each for each in gave if _lasts(each, seen.others.get(each.uid))]
    if has(binding.wire, GAVE_WAY) and len(lasting) < max(1, len(gave)):
        return Plan((Update(noted(binding.wire, GAVE_WAY, lasting)),))
    if not has(binding.wire, PREEMPTS) or binding.meta.is_going:
        return NOTHING
    return Plan((*_taken(seen), Update(noted(binding.wire, PREEMPTS, ()))))


def named(about: Ref, other: Ref, otherwise: str) -> str:
    """Another binding in words for those who read about this one: by name within a namespace."""
    same = other.namespace == about.namespace
    return f"{other.kind} {other.name}" if same else f"another binding of {otherwise} priority"


def _lasts(part: Part, taker: ResourceBinding | None) -> bool:
    """Whether what was given up must not be taken back yet."""
    if taker is None:
        return False
    if taker.problem is not None or has(taker.wire, PREEMPTS):
        return True
    return part.cluster in _replicas(taker) and part.cluster not in taker.status.healthy_in


def _taken(seen: SeenParties) -> Iterable[Action]:
    """Have everyone give up what is still to be given, and say so."""
    taker, wanted = seen.binding, _replicas(seen.binding)
    listed = [each for each in parts(taker.wire, PREEMPTS) if each.cluster in wanted]
    for uid, group in groupby(sorted(listed, key=_by_victim), key=lambda each: each.uid):
        victim = seen.others.get(uid)
        if victim is None or victim.problem is not None:
            continue
        due = [each for each in group if not has_given(victim.wire, each, taker.meta.uid)]
        if due:
            yield from tell(victim.wire, GIVES, _given(victim, taker, due), warning=True)
            yield Update(_lowered(victim, taker, due))
    if listed:
        yield from tell(taker.wire, TAKES, _took(taker, listed), warning=False)


def _by_victim(part: Part) -> tuple[str, str]:
    return part.uid, part.cluster


def _lowered(victim: ResourceBinding, taker: ResourceBinding, due: list[Part]) -> Object:
    """A binding that has given up these parts, and says to whom."""
    left = _replicas(victim)
    for each in due:
        left[each.cluster] = left.get(each.cluster, 0) - each.replicas
    kept = [Target(each.name, left[each.name]) for each in victim.spec.clusters]
    listed = clusters(filter(_has_some, kept), victim.wire["spec"].get("clusters"))
    gave = {(each.uid, each.cluster): each for each in parts(victim.wire, GAVE_WAY)}
    for each in due:
        key = (taker.meta.uid, each.cluster)
        before = gave[key].replicas if key in gave else 0
        gave[key] = replace(each, other=taker.ref, uid=key[0], replicas=before + each.replicas)
    lowered = patched(victim.wire, {"spec": {"clusters": listed or None}})
    return noted(lowered, GAVE_WAY, gave.values())


def _has_some(target: Target) -> bool:
    return target.replicas > 0


def _replicas(binding: ResourceBinding) -> dict[str, int]:
    return {each.name: each.replicas for each in binding.spec.clusters}


def _given(victim: ResourceBinding, taker: ResourceBinding, due: list[Part]) -> str:
    where = ", ".join(f"{each.replicas} in {each.cluster}" for each in due)
    return (
        f"Gave up replicas: {where}, to {named(victim.ref, taker.ref, 'higher')} of priority"
        f" {taker.spec.priority}, which found no room. This has priority {victim.spec.priority}."
    )


def _took(taker: ResourceBinding, listed: list[Part]) -> str:
    gave = "; ".join(
        f"{named(taker.ref, each.other, 'lower')} {each.replicas} in {each.cluster}"
        for each in listed
    )
    lower = f"Found no room, so replicas of lower priority than {taker.spec.priority} gave way"
    return f"{lower}: {gave}."
