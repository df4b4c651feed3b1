"""Reading wire objects: typed fields come out, or an error that names the field and its value.

Absent and null are the same, as in the API. A path is where an object stands in its document; it
is only spelled out when something is wrong. What fields mean is the business of each dialect.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Context, Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

from atoll.errors import Invalid
from atoll.model.amount import Amount
from atoll.model.quantity import parse
from atoll.wire import Object

E = TypeVar("E", bound=Enum)

INT32, INT64 = 2**31 - 1, 2**63 - 1
EXACT = Context(prec=400)
"""Quantities have at most a hundred digits and sixty-four places: sums of them are exact."""

_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", flags=re.ASCII
)


@dataclass(frozen=True, slots=True)
class Written:
    """A wire value equal to every other that is written alike: what decoding is remembered by.

    The path is where it was read first; only errors need it, and errors are not remembered.
    """

    text: str
    wire: Any = field(compare=False)
    path: str = field(compare=False, default="")

    @classmethod
    def of(cls, wire: Any, path: str = "") -> "Written":
        return cls(repr(wire), wire, path)


def at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def checked(value: Any, path: str) -> Object:
    """The value itself if it is an object."""
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 (a dict is quick)
        return value
    raise Invalid(path, value, "must be an object")


def text(wire: Object, key: str, path: str) -> str:
    value = wire.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise Invalid(at(path, key), value, "must be text")


def name(wire: Object, key: str, path: str) -> str:
    """Text that must be given."""
    value = text(wire, key, path)
    if not value:
        raise Invalid(at(path, key), value, "must be given and must not be empty")
    return value


def flag(wire: Object, key: str, path: str, *, default: bool) -> bool:
    value = wire.get(key)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    raise Invalid(at(path, key), value, "must be true or false")


def number(wire: Object, key: str, path: str, *, least: int = 0, most: int = INT32) -> int | None:
    """A whole number within bounds; None if absent."""
    value = wire.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(at(path, key), value, "must be a whole number")
    if value < least:
        raise Invalid(at(path, key), value, f"must be {least} or more")
    if value > most:
        raise Invalid(at(path, key), value, f"must be {most} or less")
    return value


def count(wire: Object, key: str, path: str) -> int:
    """A number of things; none if absent."""
    return number(wire, key, path) or 0


def choice(wire: Object, key: str, path: str, known: Mapping[str, E], default: E) -> E:
    value = text(wire, key, path)
    if not value:
        return default
    if value in known:
        return known[value]
    raise Invalid(at(path, key), value, f"must be one of {', '.join(known)}")


def part(wire: Object, key: str, path: str) -> Object | None:
    """An object inside this one; None if absent."""
    value = wire.get(key)
    return None if value is None else checked(value, at(path, key))


def elements(wire: Object, key: str, path: str) -> list[Any]:
    value = wire.get(key)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise Invalid(at(path, key), value, "must be a list")


def parts(wire: Object, key: str, path: str) -> Iterator[tuple[str, Object]]:
    """The objects of a list, each with its path."""
    values = elements(wire, key, path)
    if values:
        start = at(path, key)
        for index, value in enumerate(values):
            here = f"{start}[{index}]"
            yield here, checked(value, here)


def texts(wire: Object, key: str, path: str) -> tuple[str, ...]:
    values = elements(wire, key, path)
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise Invalid(f"{at(path, key)}[{index}]", value, "must be text")
    return tuple(values)


def text_by_name(wire: Object, key: str, path: str) -> Mapping[str, str]:
    """A map of texts, such as labels."""
    values = part(wire, key, path)
    if not values:
        return {}
    for each, value in values.items():
        if not isinstance(value, str):
            raise Invalid(f"{at(path, key)}[{each}]", value, "must be text")
    return values


def known_only(wire: Object, path: str, *known: str) -> None:
    """Refuse fields that nobody reads: a mistyped wish must not be lost in silence."""
    for key in wire:
        if key not in known:
            raise Invalid(at(path, key), wire[key], f"unknown field; known are {', '.join(known)}")


@lru_cache(maxsize=8192)
def _quantity(written: str) -> tuple[Decimal, bool] | None:
    value = parse(written)
    if value is None:
        return None
    # Kubernetes keeps less than one unit in decimal form, however it was written.
    return value, written.endswith("i") and not 0 < value < 1


def quantity(value: Any, path: str) -> tuple[Decimal, bool]:
    """The value of a quantity, and whether it was written in powers of two."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    found = _quantity(value) if isinstance(value, str) else None
    if found is None:
        raise Invalid(path, value, "is no quantity; write for example 500m, 2 or 1.5Gi")
    return found


@lru_cache(maxsize=8192)
def _amount(value: Decimal, *, binary: bool) -> Amount:
    return Amount.of(value, binary=binary)


def amount(value: Any, path: str) -> Amount:
    """How much of a resource a quantity is."""
    found, binary = quantity(value, path)
    return _amount(found, binary=binary)


@lru_cache(maxsize=4096)
def _nanoseconds(written: str) -> int | None:
    match = _INSTANT.fullmatch(written)
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[1] + match[3])
    except ValueError:
        return None
    fraction = int((match[2] or "").ljust(9, "0")[:9])
    epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    apart = moment - epoch
    return (apart.days * 86400 + apart.seconds) * 1_000_000_000 + fraction


def instant(wire: Object, key: str, path: str) -> int | None:
    """A time in nanoseconds since the epoch; None if absent."""
    value = wire.get(key)
    if value is None:
        return None
    found = _nanoseconds(value) if isinstance(value, str) else None
    if found is None:
        raise Invalid(at(path, key), value, "is no time; write for example 2026-05-01T10:00:00Z")
    return found


def written_time(now: float) -> str:
    """A moment as the API writes it, in whole seconds."""
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
