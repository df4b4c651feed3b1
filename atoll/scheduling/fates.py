"""Why each cluster of a fleet was chosen or not, for all of them at once.

A record and one of its trials come in; a code per cluster and the reasons the codes stand for go
out. Every cluster has exactly one fate: the first thing that stood in its way, or that it was
chosen. How a fate is told is known to `sentences`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from atoll.model.intent import Order
from atoll.scheduling.candidates import Candidates, Groups, Sum
from atoll.scheduling.columns import Mask, Numbers, Rows, rows_mask
from atoll.scheduling.recording import Record, Said, Trial

STATIC_WEIGHT, AGGREGATED, KEPT, FILL = "static weight", "aggregated", "kept", "fill"
"""How sums are divided; a fill is named by its order as well."""
QUOTAS = "quotas"
_NOT_TAKEN = "{2} {0} was not taken, but {1}"
_BY_RANK = ("SpreadByCluster", "SpreadByRegion")


class Fate(StrEnum):
    """What became of a cluster."""

    CHOSEN = "chosen"
    DELETING = "deleting"
    FILTERED = "filtered"
    REFUSED = "refused"  # nothing was decided, for reasons that are not this cluster's
    GROUP = "group"  # its group was not taken
    RANK = "rank"  # others came first
    ROOM = "room"  # it made way for one with more room
    NOT_SELECTED = "not selected"
    NO_REPLICAS = "no replicas"  # there were none to place
    NO_WEIGHT = "no weight"
    NO_ROOM = "no room"
    SMALL_SHARE = "small share"  # less than enough for one replica
    TIER = "tier"  # tiers before it held all
    ENOUGH = "enough"  # clusters before it held all
    UNCHANGED = "unchanged"  # what runs stays where it is
    SHRINKING = "shrinking"  # replicas are only taken away
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Reason:
    """A fate and its story; `filter` is who turned the cluster away, if one did."""

    fate: Fate
    text: str = ""
    filter: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Fates:
    """`reasons[codes[row]]` is the reason of a row."""

    codes: Numbers
    reasons: tuple[Reason, ...]

    @property
    def counts(self) -> list[int]:
        """How many clusters have each reason."""
        counts: list[int] = np.bincount(self.codes, minlength=len(self.reasons)).tolist()
        return counts

    def rows(self, code: int) -> Rows:
        return np.flatnonzero(self.codes == code)


@dataclass(slots=True)
class _Sheet:
    """Fates being filled in: the first that is set stays."""

    codes: Numbers
    reasons: list[Reason] = field(default_factory=list)

    def mark(self, rows: Rows, reason: Reason) -> None:
        self.mark_where(rows_mask(rows, len(self.codes)), reason)

    def mark_where(self, mask: Mask, reason: Reason) -> None:
        self.mark_each(mask, np.zeros(len(self.codes), np.int64), (reason,))

    def mark_each(self, mask: Mask, which: Numbers, reasons: Iterable[Reason]) -> None:
        """Give each row its own of several reasons; `which` is over all rows."""
        still = mask & (self.codes < 0)
        if still.any():
            self.codes[still] = which[still] + len(self.reasons)
            self.reasons += reasons


def fates(record: Record, trial: Trial) -> Fates:
    """What became of every cluster in one trial."""
    sheet = _Sheet(np.full(len(record.roll.names), -1))
    if trial.assignment is not None:
        sheet.mark(trial.assignment.rows, Reason(Fate.CHOSEN))
    sheet.mark_where(record.roll.deleting, Reason(Fate.DELETING, "the cluster is being removed"))
    placed = rows_mask(record.placed.rows, len(sheet.codes))
    for said in trial.said:
        _mark_filtered(sheet, said, placed)
    if trial.candidates is not None:
        _mark_candidates(sheet, record, trial, trial.candidates)
    assert (sheet.codes >= 0).all(), "every cluster has a fate"
    return Fates(sheet.codes, tuple(sheet.reasons))


def turned_away(said: Said, placed: Mask) -> Mask:
    """The clusters a filter turned away."""
    fails = said.codes > 0
    return fails & ~placed if said.spares_placed else fails


def _mark_filtered(sheet: _Sheet, said: Said, placed: Mask) -> None:
    reasons = [Reason(Fate.FILTERED, text, said.filter) for text in said.reasons]
    sheet.mark_each(turned_away(said, placed), said.codes.astype(np.int64) - 1, reasons)


def _mark_candidates(sheet: _Sheet, record: Record, trial: Trial, candidates: Candidates) -> None:
    refused = Reason(Fate.REFUSED, "nothing could be placed in any cluster")
    if trial.selected is None:
        sheet.mark(candidates.rows, refused)
        return
    if len(trial.selected) < len(candidates):
        _mark_not_selected(sheet, trial, candidates, trial.selected)
    if trial.assignment is None:
        sheet.mark(trial.selected.rows, refused)
    elif len(trial.assignment.rows) < len(trial.selected):
        _mark_without_replicas(sheet, record, trial, trial.selected)


def _mark_not_selected(
    sheet: _Sheet, trial: Trial, candidates: Candidates, selected: Candidates
) -> None:
    count = len(selected)
    open_ = rows_mask(candidates.rows, len(sheet.codes))
    open_[selected.rows] = False
    for groups in trial.groups:
        _mark_by_group(sheet, groups, open_)
    if trial.selection in _BY_RANK:
        ranked = candidates.in_order().rows
        after = rows_mask(ranked[count:], len(sheet.codes)) if not trial.groups else open_
        of = " in what was taken" if trial.groups else ""
        text = f"{count} better ranked were selected{of}"
        sheet.mark_where(open_ & after, Reason(Fate.RANK, text))
        sheet.mark_where(open_, Reason(Fate.ROOM, "it made way for a cluster with more room"))
    text = f"it was not among the {count} that {trial.selection} selected"
    sheet.mark_where(open_, Reason(Fate.NOT_SELECTED, text))


def _mark_by_group(sheet: _Sheet, groups: Groups, open_: Mask) -> None:
    """Who is in no group that was taken; a cluster can be in several, or in none."""
    places = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
    place = np.full(len(sheet.codes), -1)
    place[groups.rows] = places
    taken = rows_mask(groups.rows[np.isin(places, groups.taken)], len(sheet.codes))
    instead = ", ".join(groups.names[each] for each in groups.taken)
    form = "its price is {}, and that of others is {}" if groups.key == Order.PRICE else _NOT_TAKEN
    told = [form.format(name, instead, groups.key) for name in groups.names]
    reasons = [Reason(Fate.GROUP, each) for each in told]
    sheet.mark_each(open_ & (place >= 0) & ~taken, place, reasons)
    lacks = "it fills no quota" if groups.key == QUOTAS else f"it has no {groups.key}"
    sheet.mark_where(open_ & (place < 0), Reason(Fate.GROUP, lacks))


def _mark_without_replicas(
    sheet: _Sheet, record: Record, trial: Trial, selected: Candidates
) -> None:
    assignment = trial.assignment
    assert assignment is not None
    if record.replicas == 0:
        sheet.mark(selected.rows, Reason(Fate.NO_REPLICAS, "there are no replicas to place"))
    tiers = selected.tier_numbers
    for turn, tier in enumerate(np.unique(tiers).tolist()):
        members = selected.rows[tiers == tier]
        if turn < len(assignment.sums):
            _mark_by_sum(sheet, record, members, assignment.sums[turn])
        elif selected.tiers is not None:
            text = "the tiers before it hold all replicas"
            sheet.mark(members, Reason(Fate.TIER, text))
    text = f"{trial.division or 'the division'} gave it none"
    sheet.mark(selected.rows, Reason(Fate.LEFT_OUT, text))


def _mark_by_sum(sheet: _Sheet, record: Record, members: Rows, sum_: Sum) -> None:
    """Why a tier's members got nothing, by how its replicas were divided."""
    without = sum_.rows[sum_.votes <= 0]
    if sum_.method == STATIC_WEIGHT:
        sheet.mark(without, Reason(Fate.NO_WEIGHT, "the policy gives it no weight"))
    else:
        sheet.mark(without, Reason(Fate.NO_ROOM, "it has no room for another replica"))
    if sum_.method.startswith(FILL):
        text = "clusters before it in the order have room for all"
        sheet.mark(sum_.rows, Reason(Fate.ENOUGH, text))
    text = f"its share of {sum_.seats} replicas is too small for one"
    sheet.mark(sum_.rows[sum_.won <= 0], Reason(Fate.SMALL_SHARE, text))
    if sum_.method == KEPT:
        text = "what runs stays where it is, and nothing is to be added"
        sheet.mark(members, Reason(Fate.UNCHANGED, text))
        return
    ran = record.placed.among(rows_mask(members, len(sheet.codes)))
    if not record.fresh and not sum_.kept and ran.total > sum_.seats:
        text = "replicas are only taken away, and it ran none"
        idle = members[~np.isin(members, ran.rows[ran.replicas > 0])]
        sheet.mark(idle, Reason(Fate.SHRINKING, text))
    if sum_.method == AGGREGATED:
        text = f"clusters before it have room for all {sum_.seats} replicas"
        sheet.mark(members, Reason(Fate.ENOUGH, text))
