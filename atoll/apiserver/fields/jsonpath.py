r"""The part of JSONPath that printer columns and selectable fields use.

In: a path such as .spec.replicas, .status.conditions[?(@.type=="Ready")].status or
.metadata.annotations['a\.b/c']. Out: a function from an object to the values found, in order; what
is missing is simply not found. BadPath if the path cannot be understood.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Find = Callable[[Any], list[Any]]
Step = Callable[[list[Any]], list[Any]]

_name = re.compile(r"(?:[^.\[\]\\]|\\.)+")
_quoted = re.compile(r"""\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
_index = re.compile(r"\[(-?\d+)\]")
_slice = re.compile(r"\[(-?\d*):(-?\d*)\]")
_filter = re.compile(r"\[\?\((.+?)\)\]")
_comparison = re.compile(r"\s*@(.*?)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*")


class BadPath(Exception):
    """The path cannot be understood."""


def compile_path(path: str) -> Find:
    """A function that finds what the path points at."""
    steps = list(_steps(path))

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = step(found)
        return found

    return find


def simple_path(path: str) -> tuple[str, ...]:
    """The names of a path that only follows fields: .spec.replicas."""
    return tuple(_unescaped(name) for name in _name.findall(path))


def _steps(path: str) -> Iterator[Step]:
    rest = path
    while rest:
        step, length = _next(rest)
        if step is not None:
            yield step
        rest = rest[length:]


def _next(rest: str) -> tuple[Step | None, int]:
    """The first step of a path, and how much of the text it is."""
    if rest.startswith(".."):
        found = _name.match(rest, 2)
        if found is None:
            raise BadPath(f"nothing after .. in {rest}")
        return _anywhere(_unescaped(found[0])), found.end()
    if rest.startswith("."):
        found = _name.match(rest, 1)
        if found is None:
            return None, 1
        return (_every if found[0] == "*" else _field(_unescaped(found[0]))), found.end()
    if rest.startswith("[*]"):
        return _every, 3
    for pattern, make in _BRACKETS:
        found = pattern.match(rest)
        if found is not None:
            return make(found), found.end()
    raise BadPath(f"unrecognized path: {rest}")


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _field(name: str) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [v[name] for v in values if isinstance(v, dict) and name in v]

    return step


def _every(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, list):
            found += value
    return found


def _anywhere(name: str) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [found for value in values for found in _descend(value, name)]

    return step


def _descend(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if name in value:
            yield value[name]
        for inner in value.values():
            yield from _descend(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _descend(inner, name)


def _make_quoted(found: re.Match[str]) -> Step:
    return _field(_unescaped(found[1] if found[1] is not None else found[2]))


def _make_index(found: re.Match[str]) -> Step:
    at = int(found[1])

    def step(values: list[Any]) -> list[Any]:
        return [v[at] for v in values if isinstance(v, list) and -len(v) <= at < len(v)]

    return step


def _make_slice(found: re.Match[str]) -> Step:
    part = slice(*(int(text) if text else None for text in found.groups()))

    def step(values: list[Any]) -> list[Any]:
        return [item for v in values if isinstance(v, list) for item in v[part]]

    return step


def _make_filter(found: re.Match[str]) -> Step:
    holds = _condition(found[1])

    def step(values: list[Any]) -> list[Any]:
        return [item for v in values if isinstance(v, list) for item in v if holds(item)]

    return step


def _condition(text: str) -> Callable[[Any], bool]:
    compared = _comparison.fullmatch(text)
    if compared is None:
        if not text.strip().startswith("@"):
            raise BadPath(f"unrecognized filter: {text}")
        exists = compile_path(text.strip()[1:])
        return lambda item: bool(exists(item))
    find, wanted, operator = compile_path(compared[1]), _constant(compared[3]), compared[2]

    def holds(item: Any) -> bool:
        found = find(item)
        return bool(found) and _compare(found[0], operator, wanted)

    return holds


def _constant(text: str) -> Any:
    quoted = text[:1] == text[-1:] and text[:1] in ("'", '"') and len(text) > 1
    if quoted:
        return _unescaped(text[1:-1])
    try:
        return json.loads(text)
    except ValueError:
        raise BadPath(f"unrecognized value in filter: {text}") from None


def _compare(left: Any, operator: str, right: Any) -> bool:
    if operator == "==":
        return bool(left == right)
    if operator == "!=":
        return bool(left != right)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (left, right))
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return False
    match operator:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


_BRACKETS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...] = (
    (_quoted, _make_quoted),
    (_index, _make_index),
    (_slice, _make_slice),
    (_filter, _make_filter),
)
