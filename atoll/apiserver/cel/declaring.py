"""Functions as they are declared: a line of text for the signature, and what carries it out.

`string.startsWith(string) -> bool` is a method, `size(list(A)) -> int` a function; single capital
letters stand for any type. Every implementation is given the Frame first, to pay for long work.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.cel.kinds import DURATION, TIMESTAMP, Type

Run = Callable[..., Any]
Table = Mapping[str, Run]

_LIBRARIES = ("ip", "format", "sets", "lists", "strings", "optional", "jsonpatch")
_word = re.compile(r"[\w.]+")
_NAMES = {
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "optional": Type("optional_type"),
    "null": Type("null_type"),
    **{
        name: Type(f"{home}.{name}")
        for home, names in (
            ("net", ("IP", "CIDR")),
            ("kubernetes", ("URL", "Quantity", "Semver", "NamedFormat")),
            ("kubernetes.authorization", ("Authorizer", "Decision")),
            ("kubernetes.authorization", ("PathCheck", "GroupCheck", "ResourceCheck")),
        )
        for name in names
    },
}


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One signature of a function; the receiver of a method is its first argument."""

    is_method: bool
    args: tuple[Type, ...]
    result: Type
    run: Run


def declared(tables: Iterable[Table]) -> dict[str, tuple[Overload, ...]]:
    """The overloads of every function in some tables, by its name."""
    found: dict[str, tuple[Overload, ...]] = {}
    for table in tables:
        for signature, run in table.items():
            name, overload = _read(signature, run)
            found[name] = (*found.get(name, ()), overload)
    return found


def read_type(text: str) -> Type:
    """A type as signatures write it."""
    kind, rest = _type(text)
    assert not rest, f"{text} is one type"
    return kind


def _type(text: str) -> tuple[Type, str]:
    word = _word.match(text)
    assert word is not None, f"{text} begins with a type"
    name, rest = word.group(), text[word.end() :]
    if len(name) == 1:
        return Type(name, is_param=True), rest
    base = _NAMES.get(name, Type(name))
    if not rest.startswith("("):
        return base, rest
    params, rest = _types(rest)
    return Type(base.name, params), rest


def _types(text: str) -> tuple[tuple[Type, ...], str]:
    """The types in brackets at the beginning of a text, and what follows."""
    found: list[Type] = []
    rest = text[1:]
    while not rest.startswith(")"):
        kind, rest = _type(rest)
        found.append(kind)
        rest = rest.removeprefix(", ")
    return tuple(found), rest[1:]


def _read(signature: str, run: Run) -> tuple[str, Overload]:
    head, _, result = signature.rpartition(" -> ")
    opening = _last_bracket(head)
    args, rest = _types(head[opening:])
    assert not rest, f"{signature} is one signature"
    receiver, dot, name = head[:opening].rpartition(".")
    if dot and receiver not in _LIBRARIES:
        return name, Overload(True, (read_type(receiver), *args), read_type(result), run)
    return head[:opening], Overload(False, args, read_type(result), run)


def _last_bracket(head: str) -> int:
    """Where the arguments begin: at the bracket that the last one closes."""
    depth = 0
    for index in range(len(head) - 1, -1, -1):
        depth += (head[index] == ")") - (head[index] == "(")
        if depth == 0:
            return index
    raise AssertionError(f"{head} has brackets")
