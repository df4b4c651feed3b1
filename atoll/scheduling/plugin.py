"""The shape of plug-ins: a name, and `compile`, which makes of a question an operation on columns.

`compile` returns None if the plug-in has nothing to say. What an operation returns is what tells
filters, scores, selections and divisions apart.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from atoll.errors import Invalid
from atoll.scheduling.candidates import Assignment, Candidates, Refusal, Share
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts

Judge = Callable[[Fleet], Verdicts]
Measure = Callable[[Fleet], Numbers]
Choose = Callable[[Candidates, Fleet], Candidates | Refusal]
Divide = Callable[[Share, Fleet], Assignment | Refusal]


class Filter(Protocol):
    """Turns clusters away.

    `spares_placed`: clusters that hold the work already are not asked; work that runs is removed
    by eviction, not by a filter. `shared`: looks at nothing of the question but the intent, the
    term, the API and whether it is a workload, so that one verdict serves all bindings alike.
    """

    @property
    def name(self) -> str: ...
    @property
    def spares_placed(self) -> bool: ...
    @property
    def shared(self) -> bool: ...

    def compile(self, question: Question) -> Judge | None: ...


class Score(Protocol):
    """Ranks clusters: the more, the better."""

    @property
    def name(self) -> str: ...

    def compile(self, question: Question) -> Measure | None: ...


class Selection(Protocol):
    """Selects some of the candidates."""

    @property
    def name(self) -> str: ...

    def compile(self, question: Question) -> Choose | None: ...


class Division(Protocol):
    """Divides replicas among the selected; `by_tier`: asked for one overflow tier at a time."""

    @property
    def name(self) -> str: ...
    @property
    def by_tier(self) -> bool: ...

    def compile(self, question: Question) -> Divide | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Plugins:
    """All that take part in decisions, in the order they are asked."""

    filters: tuple[Filter, ...]
    scores: tuple[Score, ...]
    selections: tuple[Selection, ...]
    divisions: tuple[Division, ...]

    @property
    def names(self) -> list[str]:
        kinds = (self.filters, self.scores, self.selections, self.divisions)
        return [each.name for kind in kinds for each in kind]

    def without(self, names: Iterable[str]) -> "Plugins":
        """These plug-ins, with those of these names switched off."""
        off = set(names)
        for name in sorted(off - set(self.names)):
            raise Invalid("plugins", name, f"there is no such plug-in; known: {self.names}")
        return Plugins(
            tuple(each for each in self.filters if each.name not in off),
            tuple(each for each in self.scores if each.name not in off),
            tuple(each for each in self.selections if each.name not in off),
            tuple(each for each in self.divisions if each.name not in off),
        )

    def joined(self, other: "Plugins") -> "Plugins":
        """These filters and scores, then the others'; the others' strategies are asked first."""
        for name in sorted(set(self.names) & set(other.names)):
            raise Invalid("plugins", name, "there is a plug-in of this name already")
        return Plugins(
            self.filters + other.filters,
            self.scores + other.scores,
            other.selections + self.selections,
            other.divisions + self.divisions,
        )
