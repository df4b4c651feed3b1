"""A StatefulSet divided by ordinals: what each cluster may be told to run now.

A binding, its Works and the clusters there are come in; the range each cluster is told next goes
out. Here withdrawing comes before sending: an ordinal is told to a cluster once every other one has
shown that it is gone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from atoll.dialects.karmada.ordinals import (
    common,
    has_gaps,
    has_settled,
    is_within,
    may_run,
    no_ordinals,
    normal,
    noted,
    told_range,
)
from atoll.model.ordinals import Range
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.scheduling.ordinals import next_steps


@dataclass(frozen=True, slots=True)
class Split:
    """What is told to which cluster now, what has to wait, and the Works that have nothing left."""

    told: Mapping[str, Range]
    held: tuple[str, ...] = ()
    ended: tuple[Work, ...] = ()


def split(
    binding: ResourceBinding,
    targets: Collection[str],
    works: Iterable[Work],
    clusters: Collection[str],
    *,
    start: int = 0,
) -> Split | None:
    """The next steps; None until it is decided which ordinals run where, counted from the start.

    Whoever removes a cluster says that it runs nothing that counts: once its Work is gone, so are
    its ordinals.
    """
    decided = noted(binding.meta.annotations)
    if decided is None and targets:
        return None
    standing = {work.cluster: work for work in works}
    moved = (replace(each, start=start + each.start) for each in decided or ())
    wanted = {each.cluster: normal(each) for each in moved}
    goals = {name: wanted.get(name, no_ordinals(name)) for name in targets}
    may = {name: may_run(work) for name, work in standing.items()}
    lost = {each for each in standing if each not in clusters}
    steps = next_steps(tuple(goals.values()), tuple(may.values()))
    now = {each.cluster: normal(each) for each in steps.now}
    told: dict[str, Range] = {}
    held = [f"{each.ordinals.cluster}: {each.ordinals} ({each.reason})" for each in steps.held]
    for name in sorted((goals.keys() | standing.keys()) - lost):
        have, work = may.get(name, no_ordinals(name)), standing.get(name)
        step = _one_way(now.get(name, have), have, work)
        taken = () if work is None else _taken(step, told_range(work), may.values())
        if work is not None and taken:
            # What it may run was given to another once it had shown that it does not: it has to
            # show that again, as a pod was lost or the Work was changed since.
            step = _one_way(normal(common(step, told_range(work))), have, work)
            held += [f"{name}: {each} ({each.cluster} may still run {each})" for each in taken]
        if work is not None or step.count or not goals[name].count:
            told[name] = step
    leaving = standing.keys() - goals.keys()
    ended = [name for name in sorted(leaving) if name in lost or not may[name].count]
    told = {name: each for name, each in told.items() if name not in ended}
    return Split(told, tuple(held), tuple(standing[name] for name in ended))


def _taken(step: Range, told: Range, may: Iterable[Range]) -> tuple[Range, ...]:
    """What others may run of that which a step adds to what its cluster was told last."""
    others = [each for each in may if each.cluster != step.cluster]
    shared = [common(each, step) for each in others]
    return tuple(each for each in shared if each.count and not is_within(each, told))


def _one_way(step: Range, have: Range, work: Work | None) -> Range:
    """The step, or the part of it that only grows or only shrinks what may run."""
    if work is None or not have.count or is_within(have, step):
        return step
    kept = normal(common(step, have))
    told = told_range(work)
    if told == kept or has_settled(work, told):
        return kept
    # Ordinals are made from the lowest up. As long as some of those that stay may be missing, a
    # count does not tell that those to be given up are gone, unless it is none.
    missing = kept.start > have.start or has_gaps(work)
    return no_ordinals(have.cluster) if missing else kept
