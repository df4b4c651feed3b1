"""Of all cheapest ways, the one that stops the fewest and disturbs the fewest bindings.

The covers and the cheapest ways of a scene come in, one `Choice` goes out. All that are equal in
cost are walked in order of names, cut off where they cannot beat the best one seen, within a
purse of nodes; before that, one good choice is made at once, in case the purse is too small.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.scheduling.preemption.combining import Ways
from atoll.scheduling.preemption.covering import Covers
from atoll.scheduling.preemption.equals import equals
from atoll.scheduling.preemption.fronts import Picks
from atoll.scheduling.preemption.moving import Leaving, Move, moves
from atoll.scheduling.preemption.scene import Scene, shortage
from atoll.scheduling.preemption.searching import Purse, leaves
from atoll.scheduling.preemption.terms import Limits


@dataclass(frozen=True, slots=True)
class Choice:
    """Who takes how many, who leaves and who of them is moved; `finished` if nothing is better."""

    takes: Mapping[str, int]
    leaving: tuple[Leaving, ...]
    moves: tuple[Move, ...]
    finished: bool = False

    @property
    def harm(self) -> tuple[int, int]:
        """Replicas stopped and bindings touched: less is better."""
        left = sum(each.replicas for each in self.leaving)
        return left - sum(move.replicas for move in self.moves), _bindings(self.leaving)


@dataclass(frozen=True, slots=True)
class Share:
    """So many of the preemptor's replicas go to a ground, and these leave it."""

    ground: int
    takes: int
    picks: Picks


@dataclass(frozen=True, slots=True)
class _State:
    """Grounds before `at` are settled; so many replicas are left to place."""

    at: int
    left: int
    shares: tuple[Share, ...] = ()
    leaving: tuple[Leaving, ...] = ()


def settle(scene: Scene, shares: Sequence[Share], purse: Purse) -> Choice:
    """The choice made by who takes and who leaves, with the most moves."""
    takes = {scene.grounds[share.ground].cluster: share.takes for share in shares if share.takes}
    leaving = tuple(each for share in shares for each in _leaving(scene, share))
    return Choice(takes, leaving, moves(scene, leaving, takes, purse))


def choose(scene: Scene, covers: Covers, ways: Ways, limits: Limits) -> Choice:
    """The best choice among the cheapest ways, as far as the purse goes."""
    shares = [Share(at, n, covers.table[at][n].picks) for at, n in enumerate(ways.path) if n]
    best = settle(scene, shares, Purse(limits.ties))
    purse = Purse(limits.ties)
    by_name = False  # the best one so far was met on the walk: equals that follow come after it
    fixed = not any(s.holding.elsewhere for ground in scene.grounds for s in ground.stock)

    def hopeless(leaving: tuple[Leaving, ...]) -> bool:
        """Whoever leaves beside these, it is not better, or equal and before it by name."""
        stopped = sum(each.replicas for each in leaving if not each.stock.holding.elsewhere)
        least = (best.harm[0] if fixed else stopped, _bindings(leaving))
        return least >= best.harm if by_name else least > best.harm

    def children(state: _State) -> Iterator[_State] | None:
        purse.spend()
        if not state.left:
            return None
        return (
            following
            for following in _following(scene, covers, ways, state, purse)
            if not hopeless(following.leaving)
        )

    for state in leaves(_State(0, scene.missing), children):
        if hopeless(state.leaving):
            continue
        choice = settle(scene, state.shares, purse)
        if choice.harm < best.harm or (not by_name and choice.harm == best.harm):
            best, by_name = choice, True
        if purse.empty:
            break
    return replace(best, finished=not purse.empty)


def _following(
    scene: Scene, covers: Covers, ways: Ways, state: _State, purse: Purse
) -> Iterator[_State]:
    """The next ground that takes any, how many, and who leaves it, on a cheapest way only."""
    least = ways.least[state.at][state.left]
    for at in range(state.at, len(scene.grounds)):
        purse.spend()
        if purse.empty or ways.least[at].get(state.left) != least:
            return
        ground = scene.grounds[at]
        for number in ways.options[at]:
            rest = ways.least[at + 1].get(state.left - number)
            if rest is None or rest + covers.table[at][number].least != least:
                continue
            cover = covers.prove(at, number)
            if not cover.proven:
                purse.left = 0  # what comes after would not prove anything
                return
            if rest + cover.cost != least:
                continue
            short = shortage(ground.free, scene.demand, number)
            for picks in equals(ground, short, cover.picks, purse):
                share = Share(at, number, picks)
                yield _State(
                    at + 1,
                    state.left - number,
                    (*state.shares, share),
                    (*state.leaving, *_leaving(scene, share)),
                )


def _leaving(scene: Scene, share: Share) -> tuple[Leaving, ...]:
    stock = scene.grounds[share.ground].stock
    return tuple(Leaving(stock[at], n) for at, n in share.picks)


def _bindings(leaving: Sequence[Leaving]) -> int:
    return len({each.stock.key for each in leaving})
