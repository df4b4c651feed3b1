"""Columns: one fact of every cluster side by side, so that a question is asked of all at once.

Rows stand in the order of names. Facts that repeat are interned: a column holds small numbers,
and a question is answered once for each distinct value. Columns are never changed; a new one with
one row replaced shares nothing that could be seen to change.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Rows = NDArray[np.int64]
Codes = NDArray[np.uint16]

T = TypeVar("T", bound=Hashable)

_FEW = 64
"""So few numbers are added up faster one by one than by a call into NumPy."""


class Interned(Generic[T]):
    """A column of values that repeat: `values[codes[row]]` is the value of a row."""

    __slots__ = ("codes", "index", "values")

    def __init__(
        self, codes: NDArray[np.int32], values: tuple[T, ...], index: dict[T, int]
    ) -> None:
        self.codes = codes
        self.values = values
        self.index = index

    @classmethod
    def of(cls, items: Iterable[T]) -> "Interned[T]":
        index: dict[T, int] = {}
        codes = [index.setdefault(item, len(index)) for item in items]
        return cls(np.array(codes, np.int32), tuple(index), index)

    def replaced(self, row: int, item: T) -> "Interned[T]":
        """The same column with another value in one row."""
        values, index = self.values, self.index
        if item not in index:
            values, index = (*values, item), {**index, item: len(index)}
        codes = self.codes.copy()
        codes[row] = index[item]
        return Interned(codes, values, index)

    def judged(self, verdict: Callable[[T], int]) -> Codes:
        """A verdict for every row, reached once for each distinct value."""
        table = np.fromiter(map(verdict, self.values), np.uint16, len(self.values))
        return table[self.codes]

    def where(self, question: Callable[[T], object]) -> Mask:
        """The rows whose value answers a question with yes."""
        table = np.fromiter(map(bool, map(question, self.values)), np.bool_, len(self.values))
        return table[self.codes]

    def holding(self, wanted: Collection[T]) -> Mask:
        """The rows whose value is among those wanted."""
        codes = [self.index[each] for each in wanted if each in self.index]
        if len(codes) == 1:
            return np.equal(self.codes, codes[0])
        table = np.zeros(len(self.values), np.bool_)
        table[codes] = True
        return table[self.codes]

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes


@lru_cache(maxsize=8192)
def one_number(number: int) -> Numbers:
    """A number as sums with columns take it: they would spend half their time on making it so."""
    made = np.array(number, np.int64)
    made.setflags(write=False)
    return made


def total(column: Numbers) -> int:
    """The sum of a column."""
    return sum(column.tolist()) if len(column) <= _FEW else int(column.sum())


def rows_mask(rows: Rows, count: int) -> Mask:
    """A mask over so many rows in which these are set."""
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask


def replaced(column: Numbers, row: int, number: int) -> Numbers:
    """The same column of numbers with another in one row."""
    column = column.copy()
    column[row] = number
    return column
