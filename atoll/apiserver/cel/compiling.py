"""The way into CEL: text and declarations to a Program, a Program and variables to a value.

program = compile_expression("self.size <= 3", declare({"self": kind}))
value, steps_left = program.evaluate({"self": {"size": 2}}, budget)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from atoll.apiserver.cel.checking import Declarations, check
from atoll.apiserver.cel.declaring import Overload, declared
from atoll.apiserver.cel.evaluating import evaluator
from atoll.apiserver.cel.faults import NotAnExpression, NotRunnable
from atoll.apiserver.cel.kinds import Type
from atoll.apiserver.cel.library import (
    amounts,
    authority,
    lists,
    named_formats,
    network,
    operators,
    text,
    times,
)
from atoll.apiserver.cel.literals import literal_issues, unusable_pattern
from atoll.apiserver.cel.parsing import parse
from atoll.apiserver.cel.values import Frame, Run

_TABLES = (operators, times, text, lists, amounts, network, named_formats, authority)


@cache
def functions() -> Mapping[str, tuple[Overload, ...]]:
    """Every function that any expression may call."""
    return declared(library.TABLE for library in _TABLES)


def declare(variables: Mapping[str, Type]) -> Declarations:
    """Variables with their types, and all functions."""
    return Declarations(variables, functions())


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that is understood: its type, the variables it uses, and how to evaluate it."""

    type: Type
    used: frozenset[str]
    run: Run

    def evaluate(self, variables: Mapping[str, Any], budget: int) -> tuple[Any, int]:
        """Its value, and the steps left; Failed says why it has none, OverBudget ends it."""
        frame = Frame(dict(variables), budget)
        return self.run(frame), frame.left


def compile_expression(source: str, declarations: Declarations) -> Program:
    """A Program; NotAnExpression says all that is wrong, NotRunnable why it never could run."""
    root = parse(source)
    checked = check(root, declarations)
    issues = checked.issues or literal_issues(root, checked)
    if issues:
        raise NotAnExpression(source, issues)
    if why := unusable_pattern(root):
        raise NotRunnable(why)
    return Program(checked.type, frozenset(checked.used), evaluator(root, checked))
