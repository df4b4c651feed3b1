"""The way into CEL: text and declarations to a Program, a Program and variables to a value.

program = compile_expression("self.size <= 3", declare({"self": kind}))
value, steps_left = program.evaluate({"self": {"size": 2}}, budget)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from atoll.apiserver.cel.checking import Checked, Declarations, check
from atoll.apiserver.cel.declaring import Overload, declared
from atoll.apiserver.cel.evaluating import evaluator
from atoll.apiserver.cel.faults import Failed, Issue, NotAnExpression, NotRunnable
from atoll.apiserver.cel.kinds import DYN, Type
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
from atoll.apiserver.cel.library.formatting import clause_letters, unfit
from atoll.apiserver.cel.library.text import pattern
from atoll.apiserver.cel.library.times import read_duration, read_timestamp
from atoll.apiserver.cel.parsing import parse
from atoll.apiserver.cel.syntax import Call, ListOf, Literal, Node, children
from atoll.apiserver.cel.values import Frame, Run

_READERS = {"duration": read_duration, "timestamp": read_timestamp}


def literal_issues(root: Node, checked: Checked) -> list[Issue]:
    """The literals of an expression that cannot be what they are used as."""
    issues: list[Issue] = []
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, Call) and node.args and isinstance(node.args[-1], Literal):
            issues += _issues(node, node.args[-1])
        if isinstance(node, Call) and node.name == "format" and isinstance(node.target, Literal):
            issues += _format_issues(node, node.target.value, checked)
        open_nodes += children(node)
    return issues


def _issues(call: Call, literal: Literal) -> list[Issue]:
    if not isinstance(literal.value, str):
        return []
    try:
        if call.name == "matches":
            pattern(literal.value)
        elif call.target is None and call.name in _READERS and len(call.args) == 1:
            _READERS[call.name](literal.value)
    except Failed:
        return [Issue(literal.at, f"invalid {call.name} argument")]
    return []


def unusable_pattern(root: Node) -> str | None:
    """Why the expression cannot be run for a pattern that stands in it, if one is none."""
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, Call) and node.name in ("find", "findAll") and node.args:
            first = node.args[0]
            if isinstance(first, Literal) and isinstance(first.value, str):
                try:
                    pattern(first.value)
                except Failed as fault:
                    return str(fault)
        open_nodes += children(node)
    return None


def _format_issues(call: Call, text: str, checked: Checked) -> list[Issue]:
    """What is wrong with a text to format, given the types of what is put into it."""
    (items,) = call.args
    if not isinstance(items, ListOf):
        return []
    try:
        letters = clause_letters(text)
    except Failed as fault:
        return [Issue(call.at, str(fault))]
    if len(letters) > len(items.items):
        return [Issue(call.at, f"index {len(items.items)} out of range")]
    issues = []
    for letter, (item, _) in zip(letters, items.items, strict=False):
        kind = checked.types.get(item, DYN)
        why = unfit(letter, kind.name)
        if why is not None:
            issues.append(Issue(item.at, f"error during formatting: {why}"))
    return issues


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
