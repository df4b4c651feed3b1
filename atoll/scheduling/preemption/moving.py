"""Where victims can go: as many as possible are moved, the others are stopped.

Who leaves where and what the preemptor takes come in; the moves go out. A cluster may hold what
is free there, plus what leaves it, less what the preemptor takes: everything is counted at once,
so two victims never rely on the same room.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from atoll.scheduling.preemption.scene import Scene, Stock, Vector, fits, plus
from atoll.scheduling.preemption.searching import Purse, leaves


@dataclass(frozen=True, slots=True)
class Leaving:
    """So many replicas of a holding leave."""

    stock: Stock
    replicas: int


@dataclass(frozen=True, slots=True)
class Move:
    """So many replicas of one that leaves, by its position, go to a cluster."""

    leaving: int
    to: str
    replicas: int


@dataclass(frozen=True, slots=True)
class _State:
    """Moves decided so far: next are the replicas left of `leaving`, to its destination `to`."""

    leaving: int
    to: int
    left: int
    moved: int
    room: Mapping[str, Vector]
    moves: tuple[Move, ...]


def moves(
    scene: Scene, leaving: Sequence[Leaving], takes: Mapping[str, int], purse: Purse
) -> tuple[Move, ...]:
    """The moves of most replicas; of equal ones those to the first clusters by name."""
    room = _room(scene, leaving, takes)
    destinations = [_destinations(each, room, purse) for each in leaving]
    movable = [
        each.replicas if names else 0 for each, names in zip(leaving, destinations, strict=True)
    ]
    hopes = [sum(movable[at:]) for at in range(len(leaving) + 1)]
    best = _State(0, 0, 0, -1, room, ())

    def children(state: _State) -> Iterator[_State] | None:
        purse.spend()
        at = state.leaving
        if at == len(leaving):
            return None
        if purse.empty and best.moved >= 0:
            return iter(())
        if state.moved + min(state.left, movable[at]) + hopes[at + 1] <= best.moved:
            return iter(())
        if not state.left or state.to == len(destinations[at]):
            following = leaving[at + 1].replicas if at + 1 < len(leaving) else 0
            return iter((_State(at + 1, 0, following, state.moved, state.room, state.moves),))
        return _splits(state, leaving[at], destinations[at][state.to])

    first = _State(0, 0, leaving[0].replicas if leaving else 0, 0, room, ())
    for state in leaves(first, children):
        if state.moved > best.moved:
            best = state
        if best.moved == hopes[0] or purse.empty:
            break
    return best.moves


def _splits(state: _State, leaving: Leaving, name: str) -> Iterator[_State]:
    """As many as have room go to the named cluster, or fewer, or none."""
    gives = leaving.stock.gives
    most = min(state.left, fits(state.room[name], gives))
    for n in range(most, 0, -1):
        room = {**state.room, name: plus(state.room[name], gives, -n)}
        step = (*state.moves, Move(state.leaving, name, n))
        yield _State(state.leaving, state.to + 1, state.left - n, state.moved + n, room, step)
    yield _State(state.leaving, state.to + 1, state.left, state.moved, state.room, state.moves)


def _room(scene: Scene, leaving: Sequence[Leaving], takes: Mapping[str, int]) -> dict[str, Vector]:
    """What is left in each cluster that a victim could go to."""
    names = {name for each in leaving for name in each.stock.holding.elsewhere}
    room = {name: scene.free[name] for name in sorted(names & scene.free.keys())}
    for each in leaving:
        name = each.stock.holding.cluster
        if name in room:
            room[name] = plus(room[name], each.stock.gives, each.replicas)
    for name in takes.keys() & room.keys():
        room[name] = plus(room[name], scene.demand, -takes[name])
    return room


def _destinations(leaving: Leaving, room: Mapping[str, Vector], purse: Purse) -> list[str]:
    """The clusters, by name, with room for a replica at least."""
    holding, gives = leaving.stock.holding, leaving.stock.gives
    purse.spend(len(holding.elsewhere))
    names = sorted({*holding.elsewhere} - {holding.cluster})
    return [name for name in names if name in room and fits(room[name], gives)]
