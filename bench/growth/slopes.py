"""How cost grows with size: the exponent, how sure it is, and what that means. Pure.

Comes in: what one change cost at each size, round by round; all sizes of a round were measured one
right after the other, so that what slows down a machine slows them alike. Goes out: the exponent
(0: the cost does not depend on the size; 1: it doubles with it) with its confidence interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from statistics import fmean, median, stdev

_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14)
"""Quantiles of Student's t for 95 % on both sides, by degrees of freedom from 1."""
_NORMAL = 1.96
CONSTANT = 0.2
"""Up to here an exponent is none: five times as much there costs less than half as much again."""
LINEAR = 1.1

Round = Mapping[int, float]
"""What a change cost, by size."""


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


def exponent(costs: Round) -> float:
    """The slope of the line through one round's costs, both axes in logarithms (least squares)."""
    sizes = [log(size) for size in costs]
    values = [log(max(cost, 1e-9)) for cost in costs.values()]
    middle, level = fmean(sizes), fmean(values)
    across = sum((size - middle) ** 2 for size in sizes)
    assert across, "a slope takes two sizes"
    pairs = zip(sizes, values, strict=True)
    return sum((size - middle) * (value - level) for size, value in pairs) / across


def slope(rounds: Sequence[Round]) -> Slope:
    """The mean of the rounds' exponents, with its confidence by how much they differ."""
    found = [exponent(each) for each in rounds]
    mean = fmean(found)
    if len(found) < 2:
        return Slope(mean, -inf, inf)
    within = student(len(found) - 1) * stdev(found) / sqrt(len(found))
    return Slope(mean, mean - within, mean + within)


def student(freedom: int) -> float:
    """So many standard errors to both sides hold the mean with 95 % confidence."""
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL


def middles(rounds: Sequence[Round]) -> dict[int, float]:
    """The median cost at each size."""
    return {size: median(each[size] for each in rounds) for size in rounds[0]}
