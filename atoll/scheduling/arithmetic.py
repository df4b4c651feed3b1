"""How replicas were divided, so that a person can check it with pencil and paper.

A sum of a record comes in: so many seats, votes, and what each won. Lines go out: the exact share
of each, what it was rounded to, which claim won the last replica and which came next. In Webster's
method the next replica always goes to the highest votes / (2 x replicas so far + 1).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atoll.scheduling import webster
from atoll.scheduling.candidates import Sum
from atoll.scheduling.columns import Numbers, Rows


@dataclass(frozen=True, slots=True)
class Bid:
    """A claim to one replica: votes divided by twice the replicas held, plus one."""

    cluster: str
    votes: int
    divisor: int

    @property
    def value(self) -> float:
        return self.votes / self.divisor


@dataclass(frozen=True, slots=True)
class Line:
    """One cluster's part: its exact share of the seats, what it won, and what it kept besides."""

    cluster: str
    votes: int
    share: float
    won: int
    kept: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One division: lines of those that got something, and how many others got nothing."""

    method: str
    seats: int
    votes: int
    lines: tuple[Line, ...]
    others: int
    others_votes: int
    last: Bid | None
    """The claim that won the last replica, where replicas went to the highest claim."""
    runner_up: Bid | None
    """The highest claim that won nothing more."""


def arithmetic(divided: Sum, names: NDArray[np.object_], *, descending: bool) -> Arithmetic:
    """A sum, told line by line."""
    rows, votes, won = divided.rows, divided.votes, divided.won
    total = int(votes.sum())
    kept = dict(zip(divided.kept.rows.tolist(), divided.kept.replicas.tolist(), strict=True))
    lines = []
    got = np.flatnonzero(won)
    for row, vote, seats in _together(rows[got], votes[got], won[got]):
        share = divided.seats * vote / total if total else 0.0
        lines.append(Line(str(names[row]), vote, share, seats, kept.pop(row, 0)))
    lines += [
        Line(str(names[row]), 0, 0.0, 0, replicas) for row, replicas in kept.items() if replicas
    ]
    last = runner_up = None
    if len(got) and goes_to_the_highest(divided, descending=descending):
        last, runner_up = _last(divided, names), _runner_up(divided, names)
    others = total - int(votes[got].sum())
    counted = (len(rows) - len(got), others)
    return Arithmetic(divided.method, divided.seats, total, tuple(lines), *counted, last, runner_up)


def goes_to_the_highest(divided: Sum, *, descending: bool) -> bool:
    """Whether Webster's method gives the same."""
    if divided.seats <= 0 or int(divided.votes.min(initial=0)) < 0:
        return divided.seats <= 0 and not divided.won.any()
    again = webster.divide(divided.seats, divided.votes, descending=descending)
    return np.array_equal(again, divided.won)


def _together(rows: Rows, votes: Numbers, won: Numbers) -> list[tuple[int, int, int]]:
    return list(zip(rows.tolist(), votes.tolist(), won.tolist(), strict=True))


def _last(divided: Sum, names: NDArray[np.object_]) -> Bid:
    """The lowest claim that won."""
    divisors = 2 * divided.won - 1
    bids = np.where(divided.won > 0, divided.votes / np.maximum(divisors, 1), np.inf)
    return _bid(int(np.argmin(bids)), divisors, divided, names)


def _runner_up(divided: Sum, names: NDArray[np.object_]) -> Bid:
    """The highest claim that did not win."""
    divisors = 2 * divided.won + 1
    return _bid(int(np.argmax(divided.votes / divisors)), divisors, divided, names)


def _bid(place: int, divisors: Numbers, divided: Sum, names: NDArray[np.object_]) -> Bid:
    votes, divisor = int(divided.votes[place]), int(divisors[place])
    return Bid(str(names[divided.rows[place]]), votes, divisor)
