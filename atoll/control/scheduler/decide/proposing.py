"""Workloads that are worth placing anew: what that saves, or how much evener it leaves clusters.

A rehearsal and a wish come in; moves go out, with what all costs and how full clusters are before
and after them. A move is a decision of the scheduler itself about a workload that is asked for in a
WorkloadRebalancer, made in the order in which that asks, each after the moves before it: what is
proposed is what happens, as long as nothing else does. So nothing is proposed that a policy does
not want.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from atoll.control.rebalancer.decide import order
from atoll.control.scheduler.decide.fullness import Fullness, Level
from atoll.control.scheduler.decide.plan import Placing
from atoll.control.scheduler.decide.rehearsal import Rehearsal, Turns
from atoll.dialects.karmada.references import binding_of
from atoll.dialects.karmada.standing import to_schedule
from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.amount import Resources
from atoll.model.binding import Binding, Target
from atoll.model.resource_binding import ResourceBinding
from atoll.model.standing import Standing
from atoll.scheduling.costing import Cost, cost
from atoll.scheduling.decision import Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.trigger import Trigger
from atoll.scheduling.units import running

MOVES_USUAL, MOVES_MOST = 20, 1000


class Goal(StrEnum):
    """What every move makes smaller."""

    COST = "cost"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be made smaller, by how many moves at most, and in which namespace, if in one."""

    goal: Goal = Goal.COST
    most: int = MOVES_USUAL
    namespace: str = ""

    @classmethod
    def of(cls, words: Mapping[str, str]) -> "Wish":
        """The wish that these words say; Invalid if they say none."""
        goal, most = words.get("goal", Goal.COST), words.get("most", str(MOVES_USUAL))
        if goal not in [*Goal]:
            raise Invalid("goal", goal, f"must be {' or '.join(Goal)}")
        if not (most.isascii() and most.isdigit() and 1 <= int(most) <= MOVES_MOST):
            raise Invalid("most", most, f"must be between 1 and {MOVES_MOST}")
        return cls(Goal(goal), int(most), words.get("namespace", ""))


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A workload that is placed anew, and what came of it."""

    binding: ResourceBinding
    found: Standing
    decision: Decision

    @property
    def before(self) -> tuple[Target, ...]:
        return self.found.binding.targets

    @property
    def after(self) -> tuple[Target, ...]:
        return self.decision.targets

    @property
    def saving(self) -> int | None:
        """Billionths of the currency per hour; None if a price that matters is not known."""
        stays = {*self.before} & {*self.after}
        sides = ([each for each in side if each not in stays] for side in (self.before, self.after))
        less, more = (cost(self.decision.binding, side, self.decision.fleet) for side in sides)
        return None if less.unknown or more.unknown else less.known - more.known


@dataclass(frozen=True, slots=True)
class Proposal:
    """Moves, in the order in which they are made. Costs are those of all that was looked at."""

    moves: tuple[Move, ...]
    looked_at: int
    cost: Cost
    level_before: Level
    level_after: Level
    unmeasured: tuple[str, ...]
    """Clusters of which nobody knows how full they are."""
    fleet: Fleet

    @property
    def saving(self) -> int | None:
        """What all moves save per hour; below zero, what they cost; None if that is not known."""
        known = [each.saving for each in self.moves if each.saving is not None]
        return sum(known) if len(known) == len(self.moves) else None


def propose(rehearsal: Rehearsal, wish: Wish, offers: Mapping[str, Resources]) -> Turns[Proposal]:
    """The moves that are worth it; `offers` are what clusters have in all, as far as is known.

    Who gains most has the first choice of the room there is, and others take part as long as they
    still gain; those are then placed in the order in which they will be asked for.
    """
    fullness = Fullness.of(rehearsal.fleet, offers, rehearsal.ledger.assumed())
    gains, costs, looked_at = dict[Ref, tuple[int, ...]](), list[tuple[str, int | None]](), 0
    for key, binding in rehearsal.bindings.items():
        yield None  # to read a binding takes a moment, too
        found = _meant(binding, wish, rehearsal.fleet)
        if found is None:
            continue
        looked_at += 1
        costs += cost(found.binding, found.binding.targets, rehearsal.fleet).by_cluster
        move = _move(rehearsal, key, (yield from rehearsal.anew(key)))
        if move is not None and (gain := _gain(move, wish.goal, fullness)):
            gains[key] = gain
    best = sorted(gains, key=lambda key: ([-each for each in gains[key]], key))
    first, _ = yield from _played(rehearsal.copy(), wish, best, fullness)
    asked = sorted(first, key=lambda move: order(move.binding.spec.template))
    refs = [each.binding.ref for each in asked]
    moves, after = yield from _played(rehearsal.copy(), wish, refs, fullness)
    return Proposal(
        moves=tuple(moves),
        looked_at=looked_at,
        cost=Cost(tuple(costs)),
        level_before=fullness.level,
        level_after=after.level,
        unmeasured=tuple(name for name in rehearsal.fleet.rows if name not in fullness.offered),
        fleet=rehearsal.fleet,
    )


def _played(
    rehearsal: Rehearsal, wish: Wish, keys: Iterable[Ref], fullness: Fullness
) -> Turns[tuple[list[Move], Fullness]]:
    """The moves of these, one after the other, of those that still gain when it is their turn."""
    moves = list[Move]()
    for key in keys:
        if len(moves) == wish.most:
            break
        placing = yield from rehearsal.anew(key)
        move = _move(rehearsal, key, placing)
        if move is not None and _gain(move, wish.goal, fullness):
            rehearsal.take(key, placing)
            fullness = fullness.moved(move.decision.binding, move.before, move.after)
            moves.append(move)
    return moves, fullness


def _meant(binding: ResourceBinding, wish: Wish, fleet: Fleet) -> Standing | None:
    """Where it stands, if somebody could ask for it, and something would come of that."""
    if wish.namespace not in ("", binding.ref.namespace) or binding.spec.is_suspended:
        return None
    found = to_schedule(binding)
    if not isinstance(found, Standing) or binding_of(binding.spec.template) != binding.ref:
        return None
    targets = found.binding.targets
    is_there = bool(targets) and all(each.name in fleet.rows for each in targets)
    return found if is_there and found.binding.is_workload else None


def _move(rehearsal: Rehearsal, key: Ref, placing: Placing) -> Move | None:
    """What moves if this is done; None if nothing does, or not on request, or not all of it."""
    binding, decision = rehearsal.bindings[key], placing.decision
    found = binding.standing()
    is_asked = placing.trigger is Trigger.RESCHEDULE_TRIGGERED and placing.binding is not None
    if decision is None or isinstance(found, Invalid) or not is_asked:
        return None
    move = Move(binding, found, decision)
    before, after = (_pods(decision.binding, side) for side in (move.before, move.after))
    return move if before == after and {*move.before} != {*move.after} else None


def _pods(binding: Binding, targets: Iterable[Target]) -> int:
    return sum(count for each in targets for _, count in running(binding, each.replicas))


def _gain(move: Move, goal: Goal, fullness: Fullness) -> tuple[int, ...]:
    """By how much a move gets nearer to the goal, what counts first comes first; nothing if not."""
    if goal is Goal.COST:
        saving = move.saving or 0
        return (saving,) if saving > 0 else ()
    moved = fullness.moved(move.decision.binding, move.before, move.after)
    before, after = fullness.level, moved.level
    gain = before.highest - after.highest, before.squares - after.squares
    return gain if gain > (0, 0) else ()
