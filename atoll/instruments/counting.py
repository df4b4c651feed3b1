"""Counters and histograms: one family each, with a series for every combination of labels.

Whoever counts sees to it that there are few combinations. What is of something that is gone is
forgotten with it.
"""

from bisect import bisect_left
from collections.abc import Sequence

from atoll.instruments.families import Family, Labels, histogram


def doubling(first: float, count: int, factor: float = 2.0) -> tuple[float, ...]:
    """So many bounds, each so many times the one before."""
    return tuple(first * factor**each for each in range(count))


class Counter:
    """How often something happened, by labels."""

    def __init__(self, name: str, told: str, *labels: str) -> None:
        self._name = name
        self._told = told
        self._labels = labels
        self._series: dict[tuple[str, ...], int] = {}

    def add(self, *values: str) -> None:
        self._series[values] = self._series.get(values, 0) + 1

    def forget(self, label: str, value: str) -> None:
        """Drop the series of something that is gone."""
        place = self._labels.index(label)
        for values in [each for each in self._series if each[place] == value]:
            del self._series[values]

    def family(self) -> Family:
        samples = [("", _named(self._labels, each), n) for each, n in self._series.items()]
        return self._name, "counter", self._told, samples


class Histogram:
    """How long something took, or how much it was, by labels."""

    def __init__(self, name: str, told: str, buckets: Sequence[float], *labels: str) -> None:
        self._name = name
        self._told = told
        self._buckets = buckets
        self._labels = labels
        self._slots: dict[tuple[str, ...], list[int]] = {}
        self._totals: dict[tuple[str, ...], float] = {}

    def note(self, amount: float, *values: str) -> None:
        slots = self._slots.get(values)
        if slots is None:
            slots = self._slots[values] = [0] * (len(self._buckets) + 1)
            self._totals[values] = 0.0
        slots[bisect_left(self._buckets, amount)] += 1
        self._totals[values] += amount

    def forget(self, label: str, value: str) -> None:
        """Drop the series of something that is gone."""
        place = self._labels.index(label)
        for values in [each for each in self._slots if each[place] == value]:
            del self._slots[values], self._totals[values]

    def family(self) -> Family:
        series = {
            _named(self._labels, each): (slots, self._totals[each])
            for each, slots in self._slots.items()
        }
        return self._name, "histogram", self._told, histogram(series, self._buckets)


def _named(labels: tuple[str, ...], values: tuple[str, ...]) -> Labels:
    return tuple(zip(labels, values, strict=True))
