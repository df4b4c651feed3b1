"""How cost grows with size, or differs by kind: how much, how sure it is, what it means. Pure.

Comes in: what one change cost at each size, round by round; all sizes of a round were measured one
right after the other, so that what slows down a machine slows them alike. Goes out: the exponent
(0: the cost does not depend on the size; 1: it doubles with it) with its confidence interval.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import fmean, median, stdev
from typing import TypeVar

_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14)
"""Quantiles of Student's t for 95 % on both sides, by degrees of freedom from 1."""
_NORMAL = 1.96
CONSTANT = 0.2
"""Up to here an exponent is none: five times as much there costs less than half as much again."""
LINEAR = 1.1

K = TypeVar("K", bound=Hashable)
Round = Mapping[K, float]
"""What a change cost, by size or by what else tells planes apart."""


@dataclass(frozen=True, slots=True)
class Slope:
    """An exponent, and between which two it is with 95 % confidence."""

    exponent: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        if self.low > LINEAR:
            return "above linear"
        if self.low > CONSTANT:
            return "grows with what is there"
        if self.high <= CONSTANT:
            return "follows what changes"
        return "follows what changes, as far as can be said"


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as much something costs, and between which two it is with 95 % confidence."""

    times: float
    low: float
    high: float


def exponent(costs: Round[int]) -> float:
    """The slope of the line through one round's costs, both axes in logarithms (least squares)."""
    sizes = [log(size) for size in costs]
    values = [log(max(cost, 1e-9)) for cost in costs.values()]
    middle, level = fmean(sizes), fmean(values)
    across = sum((size - middle) ** 2 for size in sizes)
    assert across, "a slope takes two sizes"
    pairs = zip(sizes, values, strict=True)
    return sum((size - middle) * (value - level) for size, value in pairs) / across


def slope(rounds: Sequence[Round[int]]) -> Slope:
    """The mean of the rounds' exponents, with its confidence by how much they differ."""
    return Slope(*_sure([exponent(each) for each in rounds]))


def ratio(rounds: Sequence[Round[K]], one: K, other: K) -> Ratio:
    """How many times as much as the other the one costs: the mean of the rounds' logarithms."""
    return Ratio(*map(exp, _sure([log(each[one] / each[other]) for each in rounds])))


def _sure(found: Sequence[float]) -> tuple[float, float, float]:
    """The mean, and between which two it is with 95 % confidence."""
    mean = fmean(found)
    if len(found) < 2:
        return mean, -inf, inf
    within = student(len(found) - 1) * stdev(found) / sqrt(len(found))
    return mean, mean - within, mean + within


def student(freedom: int) -> float:
    """So many standard errors to both sides hold the mean with 95 % confidence."""
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL


def middles(rounds: Sequence[Round[K]]) -> dict[K, float]:
    """The median cost at each size."""
    return {key: median(each[key] for each in rounds) for key in rounds[0]}
