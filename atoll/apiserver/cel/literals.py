"""Literals that can be judged before anything runs: spans, moments and regular expressions."""

from atoll.apiserver.cel.checking import Checked
from atoll.apiserver.cel.faults import Failed, Issue
from atoll.apiserver.cel.kinds import DYN
from atoll.apiserver.cel.library.formatting import clause_letters, unfit
from atoll.apiserver.cel.library.text import pattern
from atoll.apiserver.cel.library.times import read_duration, read_timestamp
from atoll.apiserver.cel.syntax import Call, ListOf, Literal, Node, children

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
