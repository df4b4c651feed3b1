"""The nearest changes that would alter a decision.

A decision comes in; a few changes go out, nearest first, each with the effect it has when decided
anew. Looked for: what lets clusters pass the filters that turned them away, other bounds of the
selection, more room in a cluster, and less to place. The number of decisions made is bounded, so
clusters that fail alike are tried for a few of them only.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from atoll.model.amount import CPU, Amount
from atoll.model.decision import Verdict
from atoll.model.intent import Constrained, Field, Pick, Weighted
from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import rows_mask
from atoll.scheduling.cycle import terms_from
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.whatif.fixing import fixes
from atoll.scheduling.whatif.parts import Part, bound, request, scale, weigh
from atoll.scheduling.whatif.room import more_room
from atoll.scheduling.whatif.trying import Change, Parts, Size, Trials, reconsider, size

DECISIONS_MOST = 240
"""How often at most is decided anew, whatever the fleet."""
_ALIKE, _FILTERED_MOST, _ROOMS, _RESOURCES, _FIRST_STEPS = 2, 40, 3, 3, 4
_MIB = 1 << 20


def nearest(
    decision: Decision, *, most: int = 5, tries: int = DECISIONS_MOST
) -> tuple[Change, ...]:
    """The nearest changes that alter a decision, at most so many, found in so many tries."""
    trials = Trials(decision, tries)
    changes, failed = _altering(trials)
    if not decision.ok and not changes:
        changes = _in_two_steps(trials, failed)
    return tuple(sorted(changes, key=nearness)[:most])


def nearness(change: Change) -> tuple[Size, int, tuple[str, ...]]:
    """What changes are ordered by: the smallest, then those that move most, then by what to do."""
    return change.size, -change.effect.moved, tuple(map(str, change.parts))


def _altering(trials: Trials) -> tuple[list[Change], list[Parts]]:
    """Changes that alter a decision, and those that leave it failing, but otherwise."""
    decision, changes, failed = trials.decision, list[Change](), list[Parts]()
    place = terms_from(decision.binding)[len(decision.attempts) - 1 if decision.ok else 0]
    for parts in _proposals(trials, decision.attempts[-1 if decision.ok else 0], place):
        change = trials.change(parts)
        if change is None:
            continue
        if decision.ok or change.effect.verdict is Verdict.SUCCESS:
            changes.append(change)
        else:
            failed.append(parts)
    return changes, failed


def _in_two_steps(trials: Trials, failed: list[Parts]) -> list[Change]:
    """Changes on top of others that do not suffice alone."""
    changes: list[Change] = []
    for first in sorted(failed, key=size)[:_FIRST_STEPS]:
        further = Trials(reconsider(trials.decision, first), trials.left // _FIRST_STEPS)
        found, _ = _altering(further)
        changes += [Change((*first, *each.parts), each.effect) for each in found]
    return changes


def _proposals(trials: Trials, attempt: Attempt, place: int) -> Iterator[Parts]:
    """Changes worth trying, the cheapest to try first."""
    yield from _passing(trials, attempt, place)
    if attempt.candidates is not None:
        yield from _bounds(trials, len(attempt.candidates))
        if not trials.decision.ok:
            yield from _less(trials)
        nearly = _nearly(trials.decision, attempt, attempt.candidates)
        yield from _weights(trials, [name for name, _ in nearly])
        yield from _rooms(trials, nearly, int(attempt.candidates.available.max(initial=0)))


def _passing(trials: Trials, attempt: Attempt, place: int) -> Iterator[Parts]:
    """What lets clusters pass, those first that fail the fewest filters."""
    fleet, seen = trials.inputs.fleet, set[Parts]()
    for row, judges in _turned_away(trials.decision, attempt):
        parts: list[Part] = []
        for judge in judges:
            found = fixes(judge, trials.inputs, fleet.clusters[row], place)
            if found is None:
                break
            parts += found
        else:
            change = tuple(parts)
            if change and change not in seen and len(seen) < _FILTERED_MOST:
                seen.add(change)
                yield change


def _turned_away(decision: Decision, attempt: Attempt) -> Iterator[tuple[int, list[str]]]:
    """Clusters that were turned away and by which filters; of those alike, the first few."""
    count, opinions = len(decision.fleet), attempt.shortlist.opinions
    placed = rows_mask(decision.placed.rows, count)
    codes = np.zeros((count, len(opinions)), np.int64)
    for column, opinion in enumerate(opinions):
        codes[:, column] = opinion.verdicts.codes
        if opinion.filter.spares_placed:
            codes[placed, column] = 0
    out = np.flatnonzero((codes > 0).any(axis=1) & ~decision.fleet.traits.deleting)
    alike = np.unique(codes[out], axis=0, return_inverse=True)[1].ravel() if len(out) else out
    failed = (codes[out] > 0).sum(axis=1)
    seen: dict[int, int] = {}
    for at in np.lexsort((out, failed)).tolist():
        kind = int(alike[at])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= _ALIKE:
            row = int(out[at])
            yield row, [opinions[i].filter.name for i in np.flatnonzero(codes[row]).tolist()]


def _bounds(trials: Trials, feasible: int) -> Iterator[Parts]:
    """Selection under other bounds: more may be taken, or fewer must."""
    intent, failed = trials.decision.binding.intent, not trials.decision.ok
    fields = (Field.CLUSTER, Field.REGION) if isinstance(intent.selection, Constrained) else ()
    bounds: list[tuple[Field | None, int, int]] = [
        (each.field, each.least, each.most) for each in intent.spread if each.field in fields
    ]
    if isinstance(intent.selection, Pick) and intent.selection.most is not None:
        bounds.append((None, intent.selection.least, intent.selection.most))
    for field, least, most in bounds:
        more = (max(most, least - 1) + 1, feasible)
        found = trials.least(partial(_most, field, most), more, partial(_alters, trials.decision))
        yield from found
        if failed:
            # Alone it does not help, but with another change it may.
            yield from [_most(field, most, feasible)] if most < feasible and not found else []
            for fewer in sorted({feasible, 1}, reverse=True):
                yield from [(bound(field, least - fewer, least=fewer),)] if fewer < least else []


def _most(field: Field | None, most: int, number: int) -> Parts:
    return (bound(field, number - most, most=number),)


def _less(trials: Trials) -> Iterator[Parts]:
    """Fewer replicas, or smaller ones."""
    binding, alters = trials.decision.binding, partial(_alters, trials.decision)
    if binding.components:
        return
    yield from trials.least(partial(_fewer, binding.replicas), (1, binding.replicas - 1), alters)
    for name, amount in binding.demand.requests[:_RESOURCES] if binding.demand else ():
        steps = amount.in_its_unit(name) // _step(name, amount)
        yield from trials.least(partial(_smaller, name, amount), (1, steps), alters)


def _fewer(replicas: int, less: int) -> Parts:
    return (scale(replicas - less, less),)


def _smaller(name: str, amount: Amount, less: int) -> Parts:
    """Whole steps, so that the amount is one that people write."""
    step = _step(name, amount)
    number = (amount.in_its_unit(name) // step - less) * step
    milli = number if name == CPU else number * 1000
    return (request(name, amount._replace(milli=milli)),)


def _step(name: str, amount: Amount) -> int:
    return _MIB if name != CPU and amount.units > _MIB else 1


def _weights(trials: Trials, nearly: list[str]) -> Iterator[Parts]:
    """A weight that gives a cluster its first replica."""
    division = trials.decision.binding.intent.division
    if isinstance(division, Weighted) and trials.decision.ok:
        most = max((weight for _, weight in division.weights), default=1)
        for name in nearly:
            yield from trials.least(partial(_weigh, name), (1, most), partial(_gives_to, name))


def _weigh(name: str, weight: int) -> Parts:
    return (weigh(name, weight),)


def _rooms(trials: Trials, nearly: list[tuple[str, int]], roomiest: int) -> Iterator[Parts]:
    """More room in one cluster."""
    decision = trials.decision
    most = roomiest + decision.binding.replicas + 1
    for name, room in nearly:
        holds = partial(_gives_to, name) if decision.ok else partial(_alters, decision)
        yield from trials.least(partial(_roomier, trials, name, room), (1, most), holds)


def _roomier(trials: Trials, name: str, room: int, more: int) -> Parts | None:
    models = trials.decision.setting.features.CustomizedClusterResourceModeling
    found = more_room(trials.inputs, name, max(0, room) + more, models=models)
    return None if found is None else (Part(str(found), (1, 2, more), found.apply),)


def _nearly(decision: Decision, attempt: Attempt, candidates: Candidates) -> list[tuple[str, int]]:
    """Those that came nearest to being chosen, selected ones first, with the room they have."""
    ranked = candidates.in_order()
    out = np.ones(len(decision.fleet), np.bool_)
    if attempt.assignment is not None:
        out[attempt.assignment.rows] = False
    selected = rows_mask(attempt.selected.rows, len(out)) if attempt.selected else ~out
    left = np.flatnonzero(out[ranked.rows])
    first = left[np.argsort(~selected[ranked.rows[left]], kind="stable")][:_ROOMS]
    names = decision.fleet.names_of(ranked.rows[first])
    return list(zip(names, ranked.allocatable[first].tolist(), strict=True))


def _gives_to(name: str, after: Decision) -> bool:
    return any(each.name == name for each in after.targets)


def _alters(before: Decision, after: Decision) -> bool:
    """Whether a decision comes out otherwise; one that failed must succeed."""
    return after.ok and (not before.ok or dict(before.targets) != dict(after.targets))
