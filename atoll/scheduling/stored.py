"""The stored form of a record: compact bytes that outlive the process.

A record comes in and bytes go out, or the other way round, given the names of the clusters there
were: those are kept once for many records, by whoever stores them. Who passed the filters is not
written; it follows from what the filters said. Bytes that are damaged, or were written for other
clusters, give an error that says so.
"""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from atoll.model.binding import Target
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Candidates, Groups, Refusal, Sum
from atoll.scheduling.columns import Mask, Rows
from atoll.scheduling.framing import Reader, Writer, damaged, sealed, unsealed
from atoll.scheduling.question import Placed
from atoll.scheduling.recording import Column, Record, Roll, Said, Trial

_MAGIC = b"atoll-x1"
_VERDICTS = tuple(Verdict)
_FEW = 1 << 16
"""More filters, groups or sums than anyone will have."""


def encode(record: Record) -> bytes:
    """The stored form of a record."""
    writer = Writer()
    writer.raw(record.roll.written)
    writer.number(_VERDICTS.index(record.verdict))
    writer.text(record.message)
    writer.text(record.term)
    writer.number(record.replicas)
    writer.number(record.fresh | record.descending << 1)
    writer.column(record.placed.rows)
    writer.column(record.placed.replicas)
    writer.number(len(record.lost))
    for target in record.lost:
        writer.text(target.name)
        writer.number(target.replicas)
    writer.number(len(record.trials))
    for trial in record.trials:
        _write_trial(trial, writer)
    return sealed(_MAGIC, writer.framed)


def decode(data: bytes, names: NDArray[np.object_]) -> Record:
    """The record in these bytes, made of clusters of these names."""
    body = unsealed(_MAGIC, data)
    reader = Reader(body, max(len(names), len(body)))
    roll = _read_roll(reader, names)
    last = len(names) - 1
    record = Record(
        roll,
        _VERDICTS[reader.number(0, len(_VERDICTS) - 1)],
        reader.text(),
        reader.text(),
        reader.number(),
        *_read_flags(reader),
        placed := _alike(reader, Placed(reader.column(0, last), reader.column())),
        tuple(Target(reader.text(), reader.number()) for _ in range(reader.number(0, _FEW))),
        tuple(_read_trial(reader, roll, placed) for _ in range(reader.number(0, _FEW))),
    )
    reader.end()
    return record


def _read_roll(reader: Reader, names: NDArray[np.object_]) -> Roll:
    roll = Roll(names, np.zeros(len(names), np.bool_))
    if reader.number() != roll.fingerprint:
        problem = "was written for other clusters: the names given are not those of that time"
        raise damaged(b"", problem)
    deleting = reader.column(0, 1)
    reader.check(len(deleting) == len(names), "speaks of another number of clusters")
    return Roll(names, deleting.astype(np.bool_))


def _read_flags(reader: Reader) -> tuple[bool, bool]:
    flags = reader.number(0, 3)
    return bool(flags & 1), bool(flags & 2)


def _alike(reader: Reader, placed: Placed) -> Placed:
    reader.check(len(placed.rows) == len(placed.replicas), "counts clusters and replicas apart")
    return placed


def _write_trial(trial: Trial, writer: Writer) -> None:
    writer.text(trial.term)
    writer.number(len(trial.said))
    for said in trial.said:
        writer.raw(said.written)
    if trial.candidates is None:
        writer.number(0)
    else:
        writer.number(1)
        _write_candidates(trial, trial.candidates, writer)
    refusal = trial.refusal
    writer.number(0 if refusal is None else 1 + _VERDICTS.index(refusal.verdict))
    writer.text(refusal.message if refusal else "")


def _read_trial(reader: Reader, roll: Roll, placed: Placed) -> Trial:
    term = reader.text()
    said = tuple(_read_said(reader, roll) for _ in range(reader.number(0, _FEW)))
    reached = ((), (), "", None, (), "", None)
    candidates = None
    if reader.number(0, 1):
        rows = np.flatnonzero(_passing(roll, said, placed))
        candidates, *reached = _read_candidates(reader, rows, len(roll.names))
    verdict = reader.number(0, len(_VERDICTS))
    message = reader.text()
    groups = reached[4]
    refusal = Refusal(_VERDICTS[verdict - 1], message, groups) if verdict else None
    return Trial(term, said, candidates, *reached, refusal)


def _read_said(reader: Reader, roll: Roll) -> Said:
    name, spares_placed = reader.text(), bool(reader.number(0, 1))
    reasons = tuple(reader.text() for _ in range(reader.number(0, _FEW)))
    codes = reader.column(0, len(reasons))
    reader.check(len(codes) == len(roll.names), "speaks of another number of clusters")
    return Said(name, spares_placed, codes.astype(np.uint16), reasons)


def _passing(roll: Roll, said: tuple[Said, ...], placed: Placed) -> Mask:
    """Who is left after the filters, as `shortlisting` has it."""
    passes = ~roll.deleting
    for each in said:
        agrees = np.equal(each.codes, 0)
        if each.spares_placed:
            agrees[placed.rows] = True
        passes &= agrees
    return passes
