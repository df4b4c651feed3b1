"""Cells that many kinds share: names, ages, containers, selectors.

Ages are as kubectl shows them (`5s`, `3m20s`, `2d3h`): two units at most, coarser with time."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from atoll.apiserver.kinds.labels import printed
from atoll.apiserver.kinds.reading import at, number, part, parts, text
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.apiserver.resource import Column
from atoll.wire import Wire

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

Timed = Callable[[datetime], str]

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400

# Below this many seconds: shown in these units, of which the second only if it is not 0.
_STEPS = (
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (2 * _DAY, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
)


def human(seconds: float) -> str:
    """A length of time in the words of kubectl; a little into the future counts as now."""
    if int(seconds) < -1:
        return INVALID
    whole = max(0, int(seconds))
    for below, (size, unit), finer in _STEPS:
        if whole < below:
            rest = whole % size // finer[0] if finer else 0
            return f"{whole // size}{unit}" + (f"{rest}{finer[1]}" if finer and rest else "")
    return f"{whole // _YEAR}y"


def since(timestamp: Any, *, unreadable: str = UNKNOWN) -> Timed | str:
    """How long ago that was, once now is known."""
    moment = parse_rfc3339(timestamp) if isinstance(timestamp, str) else None
    if moment is None:
        return unreadable
    return lambda now: human((now - moment).total_seconds())


def between(start: Any, end: Any) -> str:
    """The time from one timestamp to another."""
    moments = [parse_rfc3339(t) if isinstance(t, str) else None for t in (start, end)]
    if moments[0] is None or moments[1] is None:
        return UNKNOWN
    return human((moments[1] - moments[0]).total_seconds())


NONE = "<none>"


def name_of(obj: Wire) -> str:
    return text(obj, "metadata", "name")


def age_of(obj: Wire) -> Timed | str:
    return since(at(obj, "metadata", "creationTimestamp"))


def created_at(obj: Wire) -> Any:
    return at(obj, "metadata", "creationTimestamp")


NAME = Column("Name", name_of, format="name")
AGE = Column("Age", age_of)
CREATED_AT = Column("Created At", created_at, type="date")


def wide(name: str, cell: Any, column_type: str = "string") -> Column:
    """A column for `-o wide` only."""
    return Column(name, cell, type=column_type, priority=1)


def class_name(*marks: str) -> Column:
    """A class, and whether it has a mark of being the one for those who ask for none."""

    def cell(obj: Wire) -> str:
        notes = part(obj, "metadata", "annotations")
        default = any(notes.get(mark) == "true" for mark in marks)
        return name_of(obj) + (" (default)" if default else "")

    return Column("Name", cell, format="name")


_SHOWN = 3


def shortened(values: list[str], none: str) -> str:
    """The first of many."""
    shown, more = ",".join(values[:_SHOWN]), len(values) - _SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown or none


def count(name: str, *path: str) -> Column:
    """A number of the object, 0 if it has none."""
    return Column(name, lambda obj: number(obj, *path), type="integer")


def containers_of(*path: str) -> tuple[Column, Column]:
    """The names and the images of a pod template's containers."""

    def joined(key: str) -> Any:
        return lambda obj: ",".join(text(c, key) for c in parts(obj, *path, "spec", "containers"))

    return wide("Containers", joined("name")), wide("Images", joined("image"))


def selector_at(*path: str) -> Column:
    return wide("Selector", lambda obj: printed(part(obj, *path)))


TEMPLATE = ("spec", "template")
