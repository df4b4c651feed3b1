"""Who might give way to a binding: work of lower priority that runs where room is wanted.

A decision that found no room and all bindings come in; those of them that could give up replicas go
out, with how many they have where, less what they are to give to others already.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from atoll.dialects.karmada.preemption_notes import (
    GAVE_WAY,
    PREEMPTS,
    has,
    has_given,
    parts,
)
from atoll.dialects.karmada.standing import to_schedule
from atoll.model.binding import Binding
from atoll.model.intent import Available, Fill
from atoll.model.resource_binding import ResourceBinding
from atoll.model.standing import Standing
from atoll.scheduling.cycle import terms_from
from atoll.scheduling.decision import Decision
from atoll.scheduling.guarding import PluginFailed
from atoll.scheduling.placed import Placed
from atoll.scheduling.question import Question
from atoll.scheduling.shortlisting import shortlist


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A binding that might give way: how many replicas where, and where else it could run."""

    seen: ResourceBinding
    binding: Binding
    runs: Mapping[str, int]
    elsewhere: tuple[str, ...]


def holders_of(
    decision: Decision, others: Sequence[ResourceBinding], usable: set[str]
) -> Iterator[Holder]:
    """The bindings of lower priority that run in these clusters and can give some of it up."""
    claimed = _claimed(others)
    for each in others:
        if not _may_hold(each, decision.binding.priority, usable):
            continue
        found = to_schedule(each)
        if not isinstance(found, Standing):
            continue
        binding, uid = found.binding, each.meta.uid
        runs = {name: n - claimed[uid, name] for name, n in binding.targets if name in usable}
        if _gives_way(each, binding) and any(n > 0 for n in runs.values()):
            running = {name: n for name, n in runs.items() if n > 0}
            yield Holder(each, binding, running, _elsewhere(each, binding, decision))


def _may_hold(seen: ResourceBinding, priority: int, usable: set[str]) -> bool:
    """Whether it is worth reading a binding: most are of no use here."""
    lower = seen.spec.priority < priority
    return lower and any(each.name in usable for each in seen.spec.clusters)


def _gives_way(seen: ResourceBinding, binding: Binding) -> bool:
    """Whether a binding gives way, and then runs elsewhere or not at all, not where it was."""
    intent = binding.intent
    return (
        isinstance(intent.division, Available | Fill)
        and not binding.components
        and not seen.spec.is_split
        and not any(each.least for each in intent.bounds)
        and intent.preemption.may_be_preempted
    )


def _claimed(others: Iterable[ResourceBinding]) -> Counter[tuple[str, str]]:
    """What is to be given up already, by uid and cluster, and is still in the targets."""
    takers = [each for each in others if has(each.wire, PREEMPTS)]
    by_uid = {each.meta.uid: each for each in others} if takers else {}
    claimed = Counter[tuple[str, str]]()
    for taker in takers:
        for part in parts(taker.wire, PREEMPTS):
            victim = by_uid.get(part.uid)
            if victim is not None and not has_given(victim.wire, part, taker.meta.uid):
                claimed[part.uid, part.cluster] += part.replicas
    return claimed


def _elsewhere(seen: ResourceBinding, binding: Binding, decision: Decision) -> tuple[str, ...]:
    """Where a binding could run one replica more by its policy and what clusters report."""
    fleet, setting = decision.fleet, decision.setting
    models = setting.features.CustomizedClusterResourceModeling
    room = np.greater(fleet.capacity.replicas(binding.demand, models=models), 0)
    if not room.any():
        return ()
    placed = Placed.of(binding.targets, fleet.rows)
    question = Question(binding, terms_from(binding).start, placed, setting.features)
    try:
        rows = shortlist(question, fleet, setting).rows
    except PluginFailed:
        return ()
    given = {each.cluster for each in parts(seen.wire, GAVE_WAY)}
    return tuple(n for n in fleet.names_of(rows[room[rows]]) if n not in given)
