"""Users' plug-ins on columns that break their promises: the decision is refused, nothing moves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from builders import make_binding, make_cluster, placed

from atoll.model.affinity import Affinity, Term
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Candidates
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.guarding import (
    GuardedDivision,
    GuardedFilter,
    GuardedScore,
    GuardedSelection,
)
from atoll.scheduling.plugin import Plugins
from atoll.scheduling.plugins import DEFAULT
from atoll.scheduling.question import Question
from atoll.scheduling.setting import Setting
from atoll.scheduling.verdicts import Verdicts

FLEET = Fleet.of([make_cluster("a"), make_cluster("b")])
ONE, TWO, TWICE = np.array([0]), np.array([0, 1]), np.array([0, 0])


@dataclass
class Compiled:
    operation: Callable[..., Any]

    def compile(self, question: Question) -> Callable[..., Any]:
        return self.operation


def with_filter(operation: Callable[..., Any]) -> Setting:
    mine = Plugins((GuardedFilter("Mine", Compiled(operation)),), (), (), ())
    return Setting(plugins=DEFAULT.joined(mine))


def with_score(operation: Callable[..., Any]) -> Setting:
    mine = Plugins((), (GuardedScore("Mine", Compiled(operation)),), (), ())
    return Setting(plugins=DEFAULT.joined(mine))


def with_selection(operation: Callable[..., Any]) -> Setting:
    mine = Plugins((), (), (GuardedSelection("Mine", Compiled(operation)),), ())
    return Setting(plugins=DEFAULT.joined(mine))


def with_division(operation: Callable[..., Any]) -> Setting:
    mine = Plugins((), (), (), (GuardedDivision("Mine", Compiled(operation)),))
    return Setting(plugins=DEFAULT.joined(mine))


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        pytest.param(
            with_filter(lambda fleet: 1 / 0), "ZeroDivisionError: division by zero", id="raises"
        ),
        pytest.param(
            with_filter(lambda: None),
            "TypeError: <lambda>() takes 0 positional arguments but 1 was given",
            id="takes-other-arguments",
        ),
        pytest.param(
            with_filter(lambda fleet: None),
            "ValueError: a filter returns Verdicts; got None",
            id="no-verdicts",
        ),
        pytest.param(
            with_filter(lambda fleet: Verdicts(TWO, ())),
            "ValueError: a code is in 0..0; got (0, 1)",
            id="a-code-without-a-reason",
        ),
        pytest.param(
            with_filter(lambda fleet: Verdicts(ONE, ("no",))),
            "ValueError: there must be a code for each of 2; got (1,)",
            id="too-few-codes",
        ),
        pytest.param(
            with_filter(lambda fleet: Verdicts(TWO, (7,))),
            "ValueError: reasons are texts; got (7,)",
            id="a-reason-that-is-no-text",
        ),
        pytest.param(
            with_score(lambda fleet: [1, 2]),
            "TypeError: a score is a whole number, in a NumPy array; got [1, 2]",
            id="scores-in-a-list",
        ),
        pytest.param(
            with_score(lambda fleet: np.array([1.5, 2.5])),
            "TypeError: a score is a whole number, in a NumPy array; got array([1.5, 2.5])",
            id="scores-with-fractions",
        ),
        pytest.param(
            with_score(lambda fleet: np.array([0, 2**31])),
            "ValueError: a score is in -2147483647..2147483647; got (0, 2147483648)",
            id="a-score-too-large",
        ),
        pytest.param(
            with_selection(lambda candidates, fleet: [1]),
            "ValueError: a selection returns Candidates or a Refusal; got [1]",
            id="no-candidates",
        ),
        pytest.param(
            with_selection(lambda candidates, fleet: candidates.at(TWICE)),
            "ValueError: selects a cluster twice; got array([0, 0])",
            id="a-cluster-selected-twice",
        ),
        pytest.param(
            with_selection(lambda candidates, fleet: Candidates(ONE + 9, None, None, ONE, ONE)),
            "ValueError: selects a cluster that was not there to choose; got array([9])",
            id="a-cluster-from-nowhere",
        ),
        pytest.param(
            with_selection(lambda candidates, fleet: Candidates(ONE, None, None, ONE, TWO)),
            "ValueError: columns of candidates are of one length; got [1, 2]",
            id="columns-of-different-length",
        ),
        pytest.param(
            with_division(lambda share, fleet: None),
            "ValueError: a division returns an Assignment or a Refusal; got None",
            id="no-assignment",
        ),
        pytest.param(
            with_division(lambda share, fleet: Assignment([0], ONE)),
            "ValueError: rows are a NumPy array of int64; got [0]",
            id="rows-in-a-list",
        ),
        pytest.param(
            with_division(lambda share, fleet: Assignment(ONE, TWO)),
            "ValueError: there must be replicas for each of 1; got (2,)",
            id="more-replicas-than-clusters",
        ),
        pytest.param(
            with_division(lambda share, fleet: Assignment(ONE, ONE - 1)),
            "ValueError: replicas is in 0..2147483647; got (-1, -1)",
            id="less-than-nothing",
        ),
    ],
)
def test_a_plugin_on_columns_that_fails_refuses_the_decision(
    setting: Setting, problem: str
) -> None:
    binding = make_binding(2, on={"b": 2})
    decision = decide(binding, FLEET, setting)
    assert decision.message == f"plug-in Mine failed: {problem}"
    assert decision.verdict is Verdict.SCHEDULER_ERROR
    assert decision.bound == binding.targets


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(with_filter(lambda fleet: Verdicts(TWO - TWO, ())), id="filter"),
        pytest.param(with_score(lambda fleet: TWO.astype(np.int8)), id="score"),
        pytest.param(with_selection(lambda candidates, fleet: candidates), id="selection"),
        pytest.param(
            with_division(lambda share, fleet: Assignment(share.selected.rows, TWO - TWO + 2)),
            id="division",
        ),
    ],
)
def test_a_plugin_that_keeps_its_promises_is_not_hindered(setting: Setting) -> None:
    assert placed(decide(make_binding(2), FLEET, setting)) == {"a": 2, "b": 2}


def test_a_failure_under_a_later_term_is_not_hidden_by_the_refusal_of_the_first() -> None:
    terms = (Term("first", Affinity(names=("gone",))), Term("then", Affinity(names=("a",))))
    binding = make_binding(2, on={"b": 2}, wanting={"terms": terms})
    decision = decide(binding, FLEET, with_score(lambda fleet: 1 / 0))
    assert decision.message == "plug-in Mine failed: ZeroDivisionError: division by zero"
    assert decision.bound == binding.targets
