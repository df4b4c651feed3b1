"""Who is left after the filters, and what each filter said.

Filters that look only at the intent are asked once for all bindings that share it; what they said
is remembered with the traits of the fleet. The few that look at the binding itself are asked anew.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from atoll.scheduling.columns import Mask, Rows
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Filter
from atoll.scheduling.question import Question
from atoll.scheduling.setting import Setting
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True, slots=True, eq=False)
class Opinion:
    """One filter's verdicts."""

    filter: Filter
    verdicts: Verdicts


@dataclass(frozen=True, slots=True, eq=False)
class Shortlist:
    """The rows that passed, and all opinions, in the order of the filters."""

    rows: Rows
    opinions: tuple[Opinion, ...]
    memo: dict[str, Any] | None = None
    """What follows from rows and intent alone, where many decisions share them."""


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    opinions: tuple[Opinion, ...]
    passes: Mask
    passes_if_placed: Mask
    only_if_placed: Mask
    shortlist: Shortlist


def shortlist(question: Question, fleet: Fleet, setting: Setting) -> Shortlist:
    """Ask every filter about every cluster."""
    binding = question.binding
    api, workload = binding.resource.api, binding.is_workload
    asked = ("shortlist", setting, question.intent, question.place, api, workload)
    shared = fleet.traits.remember(asked, lambda: _share(question, fleet, setting))
    own = _opinions(question, fleet, setting, shared=False)
    placed = question.placed.rows
    if not (own or (len(placed) and np.count_nonzero(shared.only_if_placed[placed]))):
        return shared.shortlist
    passes = shared.passes.copy()
    passes[placed] = shared.passes_if_placed[placed]
    for opinion in own:
        agrees = opinion.verdicts.passes
        if opinion.filter.spares_placed:
            agrees[placed] = True
        passes &= agrees
    opinions = shared.opinions + own
    if own:
        order = {each.name: i for i, each in enumerate(setting.plugins.filters)}
        opinions = tuple(sorted(opinions, key=lambda each: order[each.filter.name]))
    return Shortlist(passes.nonzero()[0], opinions)


def _opinions(
    question: Question, fleet: Fleet, setting: Setting, *, shared: bool
) -> tuple[Opinion, ...]:
    opinions = []
    for each in setting.shared_filters if shared else setting.own_filters:
        judge = each.compile(question)
        if judge is not None:
            opinions.append(Opinion(each, judge(fleet)))
    return tuple(opinions)


def _share(question: Question, fleet: Fleet, setting: Setting) -> _Shared:
    opinions = _opinions(question, fleet, setting, shared=True)
    passes = ~fleet.traits.deleting
    passes_if_placed = passes.copy()
    for opinion in opinions:
        agrees = opinion.verdicts.passes
        passes = passes & agrees
        if not opinion.filter.spares_placed:
            passes_if_placed &= agrees
    only_if_placed = passes != passes_if_placed
    shared = Shortlist(passes.nonzero()[0], opinions, memo={})
    return _Shared(opinions, passes, passes_if_placed, only_if_placed, shared)
