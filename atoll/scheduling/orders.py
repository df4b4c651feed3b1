"""The orders in which clusters are taken or filled: best, roomiest, cheapest, drawn by chance.

Candidates come in, their positions go out, first one first. Every order ends with the name, so
that no two clusters are equal. Clusters that an order itself holds equal are on one level.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from atoll.model.binding import Binding
from atoll.model.intent import Order
from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import Mask, Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.prices import UNKNOWN
from atoll.scheduling.traits import Traits
from atoll.scheduling.units import unit_costs


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Positions of candidates, first one first, and the level of each, from 0 upwards."""

    positions: Numbers
    levels: Numbers
    unpriced: Mask | None = None
    """Where the order is by price: those, in the candidates' order, whose price is not known."""


def ranked(
    candidates: Candidates, order: Order, seed: int, binding: Binding, fleet: Fleet
) -> Ranking:
    """The candidates in an order.

    On one level are, for the best, those of one tier; for the roomiest and the cheapest, those
    with the same room or price. Chance puts no two on one level.
    """
    match order:
        case Order.BEST:
            then = [-candidates.score_numbers, -candidates.available]
            return _ranking(candidates, [candidates.tier_numbers], then)
        case Order.FREE:
            return _ranking(candidates, [-candidates.available])
        case Order.CHANCE:
            return _ranking(candidates, [drawn(seed, fleet.traits)[candidates.rows]])
        case Order.PRICE:
            costs = unit_costs(binding, fleet, candidates.rows)
            unknown = np.equal(costs, UNKNOWN)
            ranking = _ranking(candidates, [unknown.astype(np.int64), costs])
            return Ranking(ranking.positions, ranking.levels, unknown)


def drawn(seed: int, traits: Traits) -> Numbers:
    """A number for every cluster that follows from the seed and its name alone.

    So clusters that join or leave change nothing about the order of the others.
    """
    return traits.remember(("drawn", seed), lambda: _drawn(seed, traits.names.tolist()))


def _drawn(seed: int, names: list[str]) -> Numbers:
    texts = (f"{seed}/{name}".encode("utf-8", "surrogatepass") for name in names)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return (np.frombuffer(digests, ">u8") >> np.uint64(1)).astype(np.int64)


def _ranking(
    candidates: Candidates, level: Sequence[Numbers], then: Sequence[Numbers] = ()
) -> Ranking:
    """By level, then by the other keys, then by name."""
    order = np.lexsort((candidates.rows, *reversed(then), *reversed(level)))
    changes = np.zeros(len(order), np.bool_)
    for key in level:
        changes[1:] |= key[order][1:] != key[order][:-1]
    return Ranking(order, np.cumsum(changes))
