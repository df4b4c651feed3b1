"""The stored form of a record: compact bytes that outlive the process.

A record comes in and bytes go out, or the other way round, given the names of the clusters there
were: those are kept once for many records, by whoever stores them. Who passed the filters is not
written; it follows from what the filters said. Bytes that are damaged, or were written for other
clusters, give an error that says so.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from atoll.model.binding import Target
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import (
    Assignment,
    Candidates,
    Grouping,
    Groups,
    Refusal,
    Sum,
    total_score,
)
from atoll.scheduling.columns import Mask, Rows
from atoll.scheduling.framing import Reader, Writer, damaged, sealed, unsealed
from atoll.scheduling.placed import Placed
from atoll.scheduling.recording import Column, Record, Roll, Said, Trial

_MAGIC = b"atoll-x1"
_VERDICTS = tuple(Verdict)
_NOBODY, _ALL, _SOME = range(3)
_FEW = 1 << 16
"""More filters, groups or sums than anyone will have."""


def encode(record: Record) -> bytes:
    """The stored form of a record."""
    writer = Writer()
    writer.raw.append(record.roll.written)
    writer.texts += (record.message, record.term)
    flags = record.fresh | record.descending << 1
    lost, trials = len(record.lost), len(record.trials)
    writer.numbers += (_VERDICTS.index(record.verdict), record.replicas, flags, lost, trials)
    writer.columns(*record.placed)
    for target in record.lost:
        writer.texts.append(target.name)
        writer.numbers.append(target.replicas)
    for trial in record.trials:
        _write_trial(trial, writer)
    return sealed(_MAGIC, writer.framed)


def decode(data: bytes, names: NDArray[np.object_]) -> Record:
    """The record in these bytes, made of clusters of these names."""
    body = unsealed(_MAGIC, data)
    reader = Reader(body, max(len(names), len(body)))
    roll = _read_roll(reader, names)
    message, term = reader.text(), reader.text()
    verdict = _VERDICTS[reader.number(0, len(_VERDICTS) - 1)]
    replicas, flags = reader.number(), reader.number(0, 3)
    lost_count, trials_count = reader.number(0, _FEW), reader.number(0, _FEW)
    placed = _read_placed(reader, len(names))
    lost = tuple(Target(reader.text(), reader.number()) for _ in range(lost_count))
    trials = tuple(_read_trial(reader, roll, placed) for _ in range(trials_count))
    reader.end()
    said = (roll, verdict, message, term, replicas)
    return Record(*said, bool(flags & 1), bool(flags & 2), placed, lost, trials)


def _read_roll(reader: Reader, names: NDArray[np.object_]) -> Roll:
    roll = Roll(names, np.zeros(len(names), np.bool_))
    if reader.number_here() != roll.fingerprint:
        problem = "was written for other clusters: the names given are not those of that time"
        raise damaged(b"", problem)
    deleting = reader.packed(0, 1)
    reader.check(len(deleting) == len(names), "speaks of another number of clusters")
    return Roll(names, deleting.astype(np.bool_))


def _read_placed(reader: Reader, count: int) -> Placed:
    rows, replicas = reader.column(0, count - 1), reader.column()
    reader.check(len(rows) == len(replicas), "counts clusters and replicas apart")
    return Placed(rows, replicas)


def _write_trial(trial: Trial, writer: Writer) -> None:
    refusal, candidates = trial.refusal, trial.candidates
    verdict = 0 if refusal is None else 1 + _VERDICTS.index(refusal.verdict)
    message = refusal.message if refusal else ""
    writer.texts += (trial.term, message, trial.selection, trial.division)
    writer.numbers += (verdict, len(trial.said), candidates is not None)
    writer.raw += [said.written for said in trial.said]
    if candidates is not None:
        writer.known(candidates.rows)
        _write_candidates(candidates, trial, writer)
        _write_selected(candidates, trial, writer)
        _write_assignment(trial, writer)


def _read_trial(reader: Reader, roll: Roll, placed: Placed) -> Trial:
    term, message, selection, division = (reader.text() for _ in range(4))
    verdict, said_count = reader.number(0, len(_VERDICTS)), reader.number(0, _FEW)
    went_on = reader.number(0, 1)
    said = tuple(_read_said(reader, roll) for _ in range(said_count))
    refusal = Refusal(_VERDICTS[verdict - 1], message) if verdict else None
    if not went_on:
        return Trial(term, said, refusal=refusal)
    rows, count = np.flatnonzero(_passing(roll, said, placed)), len(roll.names)
    reader.known(rows)
    candidates, scores, estimates = _read_candidates(reader, rows, placed, count)
    selected, groups = _read_selected(reader, candidates, count)
    if refusal is not None and groups:
        refusal = replace(refusal, groups=groups)
    assignment = _read_assignment(reader, count)
    return Trial(
        *(term, said, candidates, scores, estimates, selection, selected, groups),
        *(division, assignment, refusal),
    )


def _read_said(reader: Reader, roll: Roll) -> Said:
    spares_placed, reasons_count = bool(reader.number_here(0, 1)), reader.number_here(0, _FEW)
    name = reader.text_here()
    reasons = tuple(reader.text_here() for _ in range(reasons_count))
    codes = reader.packed(0, len(reasons))
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


def _write_candidates(candidates: Candidates, trial: Trial, writer: Writer) -> None:
    tiers = candidates.tiers
    writer.numbers += (tiers is not None, len(trial.scores), len(trial.estimates))
    # Room with what runs already follows from the placed.
    writer.columns(candidates.allocatable)
    if tiers is not None:
        writer.columns(tiers)
    for name, column in trial.scores:
        writer.texts.append(name)
        writer.sparse(column)
    for name, column in trial.estimates:
        writer.texts.append(name)
        writer.columns(column)


def _read_candidates(
    reader: Reader, rows: Rows, placed: Placed, count: int
) -> tuple[Candidates, tuple[Column, ...], tuple[Column, ...]]:
    tiered, scores_count, estimates_count = (reader.number(0, most) for most in (1, _FEW, _FEW))
    allocatable, tiers = reader.column(), reader.column(0) if tiered else None
    scores = tuple((reader.text(), reader.sparse(count)) for _ in range(scores_count))
    estimates = tuple((reader.text(), reader.column()) for _ in range(estimates_count))
    columns = [allocatable, *(each for _, each in estimates)]
    columns += [] if tiers is None else [tiers]
    same = all(len(column) == len(rows) for column in columns)
    reader.check(same, "has columns of different length")
    available = placed.added_to(allocatable, rows, count)
    total = total_score(scores, rows)
    return Candidates(rows, tiers, total, allocatable, available), scores, estimates


def _write_selected(candidates: Candidates, trial: Trial, writer: Writer) -> None:
    selected = trial.selected
    how = _NOBODY if selected is None else _ALL if selected is candidates else _SOME
    writer.numbers += (how, len(trial.groups))
    if selected is not None and how == _SOME:
        writer.columns(selected.rows_in_order)
    for groups in trial.groups:
        writer.raw.append(groups.grouping.written)
        writer.numbers += (len(groups.scores), *groups.scores, len(groups.taken), *groups.taken)


def _read_selected(
    reader: Reader, candidates: Candidates, count: int
) -> tuple[Candidates | None, tuple[Groups, ...]]:
    selected = None
    how, groups_count = reader.number(_NOBODY, _SOME), reader.number(0, _FEW)
    if how == _ALL:
        selected = candidates
    elif how == _SOME:
        positions = np.full(count, -1)
        positions[candidates.rows] = np.arange(len(candidates))
        chosen = reader.column(0, count - 1)
        at = positions[chosen]
        reader.check((at >= 0).all(), "selects a cluster that was no candidate")
        selected = replace(candidates.at(at), rows=chosen)
    groups = tuple(_read_groups(reader, count) for _ in range(groups_count))
    if selected is not None and groups:
        selected = replace(selected, groups=groups)
    return selected, groups


def _read_groups(reader: Reader, count: int) -> Groups:
    each = range(reader.number(0, _FEW))
    scores = [reader.number() for _ in each]
    taken = [reader.number(0, len(scores) - 1) for _ in range(reader.number(0, len(scores)))]
    key, names = reader.text_here(), [reader.text_here() for _ in each]
    sizes, rows = reader.packed(0, count).tolist(), reader.packed(0, count - 1)
    whole = len(sizes) == len(names) and sum(sizes) == len(rows)
    reader.check(whole, "has groups of unequal parts")
    return Groups(Grouping(key, names, sizes, rows), scores, taken)


def _write_assignment(trial: Trial, writer: Writer) -> None:
    assignment = trial.assignment
    writer.numbers.append(-1 if assignment is None else len(assignment.sums))
    if assignment is None:
        return
    writer.columns(assignment.rows, assignment.replicas)
    for each in assignment.sums:
        writer.texts.append(each.method)
        writer.numbers.append(each.seats)
        writer.columns(each.rows, each.votes, *each.kept)
        writer.sparse(each.won)


def _read_assignment(reader: Reader, count: int) -> Assignment | None:
    sums_count = reader.number(-1, _FEW)
    if sums_count < 0:
        return None
    rows, replicas = reader.column(0, count - 1), reader.column()
    reader.check(len(rows) == len(replicas), "counts clusters and replicas apart")
    sums = tuple(_read_sum(reader, count) for _ in range(sums_count))
    return Assignment(rows, replicas, sums)


def _read_sum(reader: Reader, count: int) -> Sum:
    method, seats = reader.text(), reader.number()
    rows, votes = reader.column(0, count - 1), reader.column()
    reader.check(len(rows) == len(votes), "has sums of unequal parts")
    kept = _read_placed(reader, count)
    return Sum(method, seats, rows, votes, reader.sparse(len(rows)), kept)
