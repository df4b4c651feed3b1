"""What can go wrong with an expression: where in its text (before it runs), or why (as it runs)."""

from collections.abc import Callable
from dataclasses import dataclass

NO_OVERLOAD = "no such overload"
_SNIPPET_MAX = 16384


@dataclass(frozen=True, slots=True)
class Issue:
    """Something wrong with the text of an expression, at an offset in it (-1: nowhere)."""

    at: int
    message: str


class NotAnExpression(Exception):
    """The text cannot be understood, or makes no sense with the types declared."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        ordered = sorted(dict.fromkeys(issues), key=lambda issue: issue.at)
        super().__init__("\n".join(_shown(source, issue) for issue in ordered))


class NotRunnable(Exception):
    """The expression makes sense, but can never be evaluated."""


class Failed(Exception):
    """An evaluation came to an error, which `&&`, `||` and some loops may overcome."""


def can(read: Callable[[str], object], text: str) -> bool:
    """Whether a text can be read, by one who raises Failed if it cannot."""
    try:
        read(text)
    except Failed:
        return False
    return True


class OverBudget(Exception):
    """An evaluation took more steps than it was given; nothing overcomes this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def _shown(source: str, issue: Issue) -> str:
    if issue.at < 0:
        return f"ERROR: <input>:-1:0: {issue.message}"
    before = source[: issue.at]
    line, column = before.count("\n") + 1, issue.at - (before.rfind("\n") + 1)
    text = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    snippet = source.split("\n")[line - 1].replace("\t", " ")
    if len(snippet.encode("utf-8", "replace")) > _SNIPPET_MAX:
        return text
    dots = "".join("." if character.isascii() else "．" for character in snippet[:column])
    mark = "^" if snippet[column : column + 1].isascii() else "＾"
    return f"{text}\n | {snippet}\n | {dots}{mark}"
