"""An explanation as plain data: what was decided, and for every cluster why.

A record comes in; a report goes out that a command line, a dashboard or a file can show. Facts
about all clusters at once are ready; the report of a single cluster is made when it is asked for,
since a fleet has thousands. Words are put to it by `sentences`; what it costs is told by whoever
knows prices.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from atoll.errors import Invalid
from atoll.model.binding import Target
from atoll.model.decision import Verdict
from atoll.scheduling.arithmetic import Arithmetic, arithmetic
from atoll.scheduling.candidates import Groups
from atoll.scheduling.cluster_report import ClusterColumns, ClusterReport
from atoll.scheduling.fates import Fate, Fates, Reason, fates
from atoll.scheduling.recording import Record, Trial


@dataclass(frozen=True, slots=True)
class Weighed:
    """A group that a selection weighed against the others; its score is what it counted by."""

    name: str
    score: int
    clusters: int
    taken: bool


@dataclass(frozen=True, slots=True)
class Weighing:
    """Groups by one field, label or property of clusters, weighed against each other."""

    key: str
    groups: tuple[Weighed, ...]


@dataclass(frozen=True, eq=False)
class TermReport:
    """One term that was tried."""

    record: Record
    trial: Trial
    fates: Fates

    @property
    def term(self) -> str:
        return self.trial.term

    @property
    def refusal(self) -> str:
        return self.trial.refusal.message if self.trial.refusal else ""

    @cached_property
    def weighings(self) -> tuple[Weighing, ...]:
        """The groups that were weighed, rule by rule."""
        return tuple(Weighing(each.key, _weighed(each)) for each in self.trial.groups)

    @cached_property
    def sums(self) -> tuple[Arithmetic, ...]:
        """How replicas were divided, one sum per tier."""
        assignment, names = self.trial.assignment, self.record.roll.names
        descending = self.record.descending
        given = assignment.sums if assignment else ()
        return tuple(arithmetic(each, names, descending=descending) for each in given)

    @property
    def reasons(self) -> list[tuple[int, Reason]]:
        """How many clusters share each reason not to be chosen, most first."""
        counted = zip(self.fates.counts, self.fates.reasons, strict=True)
        lost = [each for each in counted if each[0] and each[1].fate is not Fate.CHOSEN]
        return sorted(lost, key=lambda each: (-each[0], each[1].text))

    @cached_property
    def clusters(self) -> tuple[ClusterReport, ...]:
        """Every cluster of the fleet, by name."""
        return tuple(map(self._columns.report, range(len(self.record.roll.names))))

    def cluster(self, name: str) -> ClusterReport:
        """One cluster of the fleet."""
        rows = np.flatnonzero(self.record.roll.names == name)
        if not len(rows):
            raise Invalid("cluster", name, "was not in the fleet when this was decided")
        return self._columns.report(int(rows[0]))

    @cached_property
    def _columns(self) -> ClusterColumns:
        return ClusterColumns(self.record, self.trial, self.fates)


@dataclass(frozen=True, eq=False)
class Report:
    """A decision, explained. `cost` is told in the words of whoever gave it."""

    verdict: Verdict
    message: str
    replicas: int
    targets: tuple[Target, ...]
    terms: tuple[TermReport, ...]
    """The terms that were tried, in order."""
    cost: str

    @property
    def ok(self) -> bool:
        return self.verdict is Verdict.SUCCESS

    @property
    def decisive(self) -> TermReport:
        """The term that was taken or, if none was, the one whose refusal counts: the first."""
        return self.terms[-1 if self.ok else 0]

    @property
    def clusters(self) -> tuple[ClusterReport, ...]:
        return self.decisive.clusters

    def cluster(self, name: str) -> ClusterReport:
        return self.decisive.cluster(name)


def explain(record: Record, cost: str = "") -> Report:
    """The explanation of a recorded decision."""
    terms = tuple(TermReport(record, trial, fates(record, trial)) for trial in record.trials)
    targets: tuple[Target, ...] = ()
    given = record.trials[-1].assignment if record.verdict is Verdict.SUCCESS else None
    if given is not None:
        targets = tuple(
            map(Target, record.roll.names[given.rows].tolist(), given.replicas.tolist())
        )
    return Report(record.verdict, record.message, record.replicas, targets, terms, cost)


def _weighed(groups: Groups) -> tuple[Weighed, ...]:
    taken, columns = set(groups.taken), (groups.names, groups.scores, groups.sizes)
    return tuple(
        Weighed(*each, place in taken) for place, each in enumerate(zip(*columns, strict=True))
    )
