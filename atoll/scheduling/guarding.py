"""Users' plug-ins on columns, held to what plug-ins promise.

A plug-in comes in, with the name it is installed under; it goes out as an ordinary plug-in, except
that whatever it raises, or returns and cannot mean, becomes a `PluginFailed` that says who is to
blame. Atoll's own plug-ins are not guarded. What becomes of the decision is known to `refusing`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from atoll.errors import AtollError
from atoll.scheduling.candidates import Assignment, Candidates, Refusal, Share
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Choose, Divide, Judge, Measure
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts
from atoll.scheduling.whole_numbers import INT32_MOST

P = ParamSpec("P")
R = TypeVar("R")
Operation = TypeVar("Operation", covariant=True)


class PluginFailed(AtollError):
    """A user's plug-in broke, so nothing can be decided with it: mend it, or switch it off."""

    def __init__(self, plugin: str, problem: str) -> None:
        super().__init__(f"plug-in {plugin} failed: {problem}")
        self.plugin = plugin


class Compiling(Protocol[Operation]):
    """What every plug-in on columns has."""

    def compile(self, question: Question) -> Operation | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class GuardedFilter:
    """Must give a verdict for every cluster, and a reason for every one turned away."""

    name: str
    inner: Compiling[Judge]
    spares_placed: bool = True
    shared: bool = False

    def compile(self, question: Question) -> Judge | None:
        return _guarded(self.name, self.inner.compile, question, _verdicts)


@dataclass(frozen=True, slots=True, eq=False)
class GuardedScore:
    """Must give every cluster a whole number of 32 bits, so that sums of scores cannot overflow."""

    name: str
    inner: Compiling[Measure]

    def compile(self, question: Question) -> Measure | None:
        return _guarded(self.name, self.inner.compile, question, _scores)


@dataclass(frozen=True, slots=True, eq=False)
class GuardedSelection:
    """Must select among the candidates, each once."""

    name: str
    inner: Compiling[Choose]

    def compile(self, question: Question) -> Choose | None:
        return _guarded(self.name, self.inner.compile, question, _selected)


@dataclass(frozen=True, slots=True, eq=False)
class GuardedDivision:
    """Must divide among the selected, each once; nobody gets less than nothing."""

    name: str
    inner: Compiling[Divide]
    by_tier: bool = True

    def compile(self, question: Question) -> Divide | None:
        return _guarded(self.name, self.inner.compile, question, _assigned)


@contextmanager
def _blaming(plugin: str) -> Iterator[None]:
    """Whatever is raised in here is this plug-in's fault."""
    try:
        yield
    except Exception as error:
        raise PluginFailed(plugin, f"{type(error).__name__}: {error}") from error


def _guarded(
    name: str,
    compile_: Callable[[Question], Callable[P, R] | None],
    question: Question,
    checked: Callable[Concatenate[R, P], R],
) -> Callable[P, R] | None:
    with _blaming(name):
        operation = compile_(question)
    if operation is None:
        return None

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _blaming(name):
            return checked(operation(*args, **kwargs), *args, **kwargs)

    return run


def _verdicts(given: Verdicts, fleet: Fleet) -> Verdicts:
    _expect(isinstance(given, Verdicts), "a filter returns Verdicts", given)
    codes = _whole_numbers(given.codes, len(fleet), "a code", (0, len(given.reasons)))
    reasons = tuple(given.reasons)
    _expect(all(isinstance(each, str) for each in reasons), "reasons are texts", reasons)
    return Verdicts(codes.astype(np.uint16), reasons)


def _scores(given: Numbers, fleet: Fleet) -> Numbers:
    return _whole_numbers(given, len(fleet), "a score", (-INT32_MOST, INT32_MOST))


def _selected(
    given: Candidates | Refusal, candidates: Candidates, fleet: Fleet
) -> Candidates | Refusal:
    if isinstance(given, Refusal):
        return given
    _expect(isinstance(given, Candidates), "a selection returns Candidates or a Refusal", given)
    _expect_among(given.rows, candidates.rows, "selects a cluster")
    columns = (given.tiers, given.scores, given.allocatable, given.available)
    lengths = {len(each) for each in (given.rows, *columns) if each is not None}
    _expect(len(lengths) == 1, "columns of candidates are of one length", sorted(lengths))
    return given


def _assigned(given: Assignment | Refusal, share: Share, fleet: Fleet) -> Assignment | Refusal:
    if isinstance(given, Refusal):
        return given
    _expect(isinstance(given, Assignment), "a division returns an Assignment or a Refusal", given)
    _expect_among(given.rows, share.selected.rows, "gives replicas to a cluster")
    replicas = _whole_numbers(given.replicas, len(given.rows), "replicas", (0, INT32_MOST))
    return Assignment(given.rows, replicas, given.sums)


def _whole_numbers(column: object, count: int, what: str, bounds: tuple[int, int]) -> Numbers:
    """The column, if it is one and holds so many whole numbers within the bounds."""
    if not (isinstance(column, np.ndarray) and column.dtype.kind in "iu"):
        raise TypeError(f"{what} is a whole number, in a NumPy array; got {column!r:.100}")
    _expect(column.shape == (count,), f"there must be {what} for each of {count}", column.shape)
    if count:
        least, most = int(column.min()), int(column.max())
        within = bounds[0] <= least and most <= bounds[1]
        _expect(within, f"{what} is in {bounds[0]}..{bounds[1]}", (least, most))
    return column.astype(np.int64, copy=False)


def _expect_among(rows: Rows, allowed: Rows, what: str) -> None:
    is_column = isinstance(rows, np.ndarray) and rows.dtype == np.int64
    _expect(is_column, "rows are a NumPy array of int64", rows)
    _expect(np.isin(rows, allowed).all(), f"{what} that was not there to choose", rows)
    _expect(len(np.unique(rows)) == len(rows), f"{what} twice", rows)


def _expect(holds: object, promise: str, given: object) -> None:
    if not holds:
        raise ValueError(f"{promise}; got {given!r:.100}")
