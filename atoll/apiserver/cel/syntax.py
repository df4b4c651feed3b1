"""The parts an expression is made of, as `parsing` gives them; `at` is an offset in the text."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    at: int
    value: Any
    type: str  # the name of its type: int, uint, double, string, bytes, bool, null_type


@dataclass(frozen=True, slots=True, eq=False)
class Ident:
    at: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """`operand.field`; `operand.?field` if optional; has(operand.field) if it is only a test."""

    at: int
    operand: "Node"
    field: str
    optional: bool = False
    test: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function, an operator (`_+_`) or, with a target, a method."""

    at: int
    name: str
    target: "Node | None"
    args: tuple["Node", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Junction:
    """`a && b && …` or `a || b || …`, of any length."""

    at: int
    all: bool
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    at: int
    items: tuple[tuple["Node", bool], ...]  # and whether it is optional


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    at: int
    key: "Node"
    value: "Node"
    optional: bool


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    at: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """`Name{field: value}`; the keys of its entries are literals."""

    at: int
    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """A macro that goes over a list or a map: `range.all(x, test)`.

    `second` is "" where the macro has one variable. `test` may be None (map without a filter), and
    `result` is None where the answer is the test's own (all, exists, …) or the item (filter).
    """

    at: int
    macro: str
    range: "Node"
    first: str
    second: str
    test: "Node | None"
    result: "Node | None"


@dataclass(frozen=True, slots=True, eq=False)
class WithValue:
    """`operand.optMap(x, body)`, and `optFlatMap` if flat."""

    at: int
    operand: "Node"
    name: str
    body: "Node"
    flat: bool


Node = Literal | Ident | Select | Call | Junction | ListOf | MapOf | Made | Fold | WithValue


def children(node: Node) -> list[Node]:
    """The parts directly inside a part."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return [*node.args] if node.target is None else [node.target, *node.args]
        case Junction():
            return [*node.parts]
        case ListOf():
            return [item for item, _ in node.items]
        case MapOf() | Made():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case Fold():
            return [part for part in (node.range, node.test, node.result) if part is not None]
        case WithValue():
            return [node.operand, node.body]
    return []


def qualified_name(node: Node | None) -> str | None:
    """`a.b.c` as one name, if the part is nothing but that."""
    names: list[str] = []
    while isinstance(node, Select) and not node.test and not node.optional:
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(names)])
