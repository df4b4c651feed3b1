"""What is kept of a decision so that it can be explained later.

A decision comes in; its record goes out, made of the arrays the decision worked with, which nobody
changes. A record knows the clusters by their rows and shares the list of their names; it holds on
to nothing else of the fleet. How a record is written down is known to `stored`, what it means to
`explain`.
"""

from dataclasses import dataclass
from functools import cached_property
from struct import pack
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from atoll.model.binding import Target
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Candidates, Groups, Refusal
from atoll.scheduling.columns import Codes, Mask, Numbers
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.framing import framed, packed
from atoll.scheduling.placed import Placed
from atoll.scheduling.shortlisting import Opinion, Shortlist
from atoll.scheduling.ties import ties_descend
from atoll.scheduling.traits import Traits

Column = tuple[str, Numbers]
"""Numbers, and who gave them."""


@dataclass(frozen=True, eq=False)
class Roll:
    """The clusters there were, by row, and which of them were going away."""

    names: NDArray[np.object_]
    deleting: Mask

    @cached_property
    def fingerprint(self) -> int:
        """Tells lists of names apart."""
        return crc32("\n".join(self.names.tolist()).encode("utf-8", "surrogatepass"))

    @cached_property
    def written(self) -> bytes:
        """Written once for all records that share it."""
        return pack("<q", self.fingerprint) + packed(self.deleting)


@dataclass(frozen=True, eq=False)
class Said:
    """What one filter said of every cluster: 0 to let it pass, k for the k-th reason not to.

    `spares_placed`: it was not asked about clusters that held the work already.
    """

    filter: str
    spares_placed: bool
    codes: Codes
    reasons: tuple[str, ...]

    @cached_property
    def written(self) -> bytes:
        """Written once for all records that share it."""
        texts = framed(self.filter, *self.reasons)
        counts = pack("<2q", self.spares_placed, len(self.reasons))
        return counts + texts + packed(self.codes)


class Trial(NamedTuple):
    """One term that was tried, as far as it went; what was not reached is None or empty."""

    term: str
    said: tuple[Said, ...]
    candidates: Candidates | None = None
    scores: tuple[Column, ...] = ()
    """By score plug-in, for every row."""
    estimates: tuple[Column, ...] = ()
    """By source, for every candidate; below zero it did not know."""
    selection: str = ""
    """Which plug-in selected."""
    selected: Candidates | None = None
    groups: tuple[Groups, ...] = ()
    division: str = ""
    """Which plug-in divided; empty if there was nothing to divide."""
    assignment: Assignment | None = None
    refusal: Refusal | None = None


class Record(NamedTuple):
    """A decision, what it was asked, and how it was reached."""

    roll: Roll
    verdict: Verdict
    message: str
    term: str
    replicas: int
    fresh: bool
    descending: bool
    """Whether of equal claims the last name's wins."""
    placed: Placed
    lost: tuple[Target, ...]
    """Targets of the last decision whose clusters are gone."""
    trials: tuple[Trial, ...]


def record(decision: Decision) -> Record:
    """What to keep of a decision."""
    binding, traits, placed = decision.binding, decision.fleet.traits, decision.placed
    lost: tuple[Target, ...] = ()
    if len(placed.rows) != len(binding.targets):
        lost = tuple(each for each in binding.targets if each.name not in traits.rows)
    return Record(
        traits.remember("roll", lambda: Roll(traits.names, traits.deleting)),
        decision.verdict,
        decision.message,
        decision.term,
        binding.replicas,
        binding.fresh,
        ties_descend(binding),
        placed,
        lost,
        tuple(_trial(each, traits) for each in decision.attempts),
    )


def _trial(attempt: Attempt, traits: Traits) -> Trial:
    selected, refusal, estimates = attempt.selected, attempt.refusal, attempt.estimates
    groups = selected.groups if selected is not None else refusal.groups if refusal else ()
    return Trial(
        attempt.term.name,
        _said(attempt.shortlist, traits),
        attempt.candidates,
        attempt.scores,
        tuple(estimates.sources.items()) if estimates else (),
        attempt.selection,
        selected,
        groups,
        attempt.division,
        attempt.assignment,
        refusal,
    )


def _said(shortlist: Shortlist, traits: Traits) -> tuple[Said, ...]:
    """Opinions that many decisions share are made ready for the record once."""
    opinions, memo = shortlist.opinions, shortlist.memo
    if memo is not None:
        known: tuple[Said, ...] | None = memo.get("said")
        if known is None:
            known = memo["said"] = tuple(map(_one, opinions))
        return known
    shared = tuple(each for each in opinions if each.filter.shared)
    ready = traits.remember(("said", shared), lambda: {each: _one(each) for each in shared})
    return tuple(ready.get(each) or _one(each) for each in opinions)


def _one(opinion: Opinion) -> Said:
    judge, verdicts = opinion.filter, opinion.verdicts
    return Said(judge.name, judge.spares_placed, verdicts.codes, verdicts.reasons)
