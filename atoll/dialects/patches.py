"""JSON patch (RFC 6902): operations on what JSON pointers lead to, one at a time or all of a patch.

A value and an operation come in; a new value goes out that shares with the old one all that was
not touched. As in Karmada, a negative index counts from the end.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.dialects.wire import at, parts, text
from atoll.errors import Invalid
from atoll.wire import Object

ADD, REMOVE, REPLACE = "add", "remove", "replace"
OPERATORS = (ADD, REMOVE, REPLACE)

_INDEX = re.compile(r"-?[0-9]{1,9}")
_LONE_TILDE = re.compile(r"~(?![01])")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The way to a place in a value; `field` is where the user wrote it."""

    path: str
    field: str

    @property
    def tokens(self) -> tuple[str, ...]:
        """The steps of the way; Invalid if it is not written as one."""
        if self.path and not self.path.startswith("/"):
            raise self.wrong("a path begins with /")
        if _LONE_TILDE.search(self.path):
            raise self.wrong("in a path ~ is written ~0, and a / inside a name ~1")
        parts = self.path.split("/")[1:]
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)

    def wrong(self, problem: str) -> Invalid:
        return Invalid(self.field, self.path, problem)


@dataclass(frozen=True, slots=True)
class Operation:
    """One change at one place."""

    operator: str
    pointer: Pointer
    value: Any = None


def operation(wire: Object, path: str, key: str = "path") -> Operation:
    """An operation as overriders write it, with its pointer under this key."""
    pointer = Pointer(text(wire, key, path), at(path, key))
    return Operation(operator(wire, path, OPERATORS), pointer, wire.get("value"))


def operator(wire: Object, path: str, known: tuple[str, ...]) -> str:
    """What an overrider does; Invalid if it is none of these."""
    found = text(wire, "operator", path)
    if found not in known:
        raise Invalid(at(path, "operator"), found, f"must be one of {', '.join(known)}")
    return found


def read(value: Any, pointer: Pointer) -> Any:
    """What stands at a place; Invalid if there is nothing."""
    here = value
    for depth, token in enumerate(pointer.tokens):
        here = here[_place(here, token, pointer, depth)]
    return here


def patched(value: Any, wanted: Operation) -> Any:
    """The value with one operation carried out; Invalid if its place is not there."""
    if wanted.pointer.tokens:
        return _patched(value, wanted, 0)
    if wanted.operator == REMOVE:
        raise wanted.pointer.wrong("the whole cannot be removed; name a part of it")
    return wanted.value


def _patched(here: Any, wanted: Operation, depth: int) -> Any:
    tokens = wanted.pointer.tokens
    token = tokens[depth]
    is_last = depth == len(tokens) - 1
    if is_last and wanted.operator == ADD:
        return _added(here, wanted, depth)
    place = _place(here, token, wanted.pointer, depth)
    copy = here.copy() if isinstance(here, list) else dict(here)
    if is_last and wanted.operator == REMOVE:
        del copy[place]
    else:
        copy[place] = wanted.value if is_last else _patched(here[place], wanted, depth + 1)
    return copy


def _added(here: Any, wanted: Operation, depth: int) -> Any:
    """With a new key, or a new element before the one at its index."""
    token = wanted.pointer.tokens[-1]
    if isinstance(here, Mapping):
        return {**here, token: wanted.value}
    if isinstance(here, list):
        end = len(here)
        index = end if token == "-" else _index(token, end + 1, wanted.pointer, depth)
        return [*here[:index], wanted.value, *here[index:]]
    raise _no_container(wanted.pointer, depth)


def _place(here: Any, token: str, pointer: Pointer, depth: int) -> Any:
    """The key or index of something that is there."""
    if isinstance(here, Mapping):
        if token in here:
            return token
        raise pointer.wrong(f"{_where(pointer, depth)} has no field {token!r}")
    if isinstance(here, list):
        return _index(token, len(here), pointer, depth)
    raise _no_container(pointer, depth)


def _index(token: str, size: int, pointer: Pointer, depth: int) -> int:
    if not _INDEX.fullmatch(token):
        raise pointer.wrong(f"{_where(pointer, depth)} is a list; {token!r} is no index of it")
    index = int(token)
    if not -size <= index < size:
        raise pointer.wrong(f"{_where(pointer, depth)} is a list without an element {token}")
    return index + size if index < 0 else index


def _no_container(pointer: Pointer, depth: int) -> Invalid:
    return pointer.wrong(f"{_where(pointer, depth)} has no fields: it is neither object nor list")


def _where(pointer: Pointer, depth: int) -> str:
    return "/".join(pointer.path.split("/")[: depth + 1]) or "the object"


def patched_by_all(value: Any, patch: Any, path: str) -> Any:
    """The value with a whole JSON patch carried out, of which `path` is the name."""
    for here, wire in parts({"patch": patch}, "patch", ""):
        field = path + here.removeprefix("patch")
        target = Pointer(text(wire, "path", field), at(field, "path"))
        match text(wire, "op", field):
            case "add" | "remove" | "replace" as simple:
                value = patched(value, Operation(simple, target, wire.get("value")))
            case "copy" | "move" as carried:
                source = Pointer(text(wire, "from", field), at(field, "from"))
                found = read(value, source)
                left = patched(value, Operation(REMOVE, source)) if carried == "move" else value
                value = patched(left, Operation(ADD, target, found))
            case "test":
                if read(value, target) != wire.get("value"):
                    raise Invalid(at(field, "value"), wire.get("value"), "is not what stands there")
            case unknown:
                raise Invalid(at(field, "op"), unknown, "is no operation of a JSON patch")
    return value
