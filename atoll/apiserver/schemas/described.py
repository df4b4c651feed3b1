"""Schemas of our own kinds and fields, in few words: each field has its sentence.

In: what a field is about, and what it may be. Out: the schema as a definition writes it, with the
description that `kubectl explain` shows.
"""

from typing import Any

Schema = dict[str, Any]

INT32, INT64 = 2**31 - 1, 2**63 - 1


def fields(about: str, required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """An object with these fields."""
    found: Schema = {"description": about, "type": "object", "properties": properties}
    return found | {"required": list(required)} if required else found


def items(about: str, each: Schema) -> Schema:
    """A list of such values."""
    return {"description": about, "type": "array", "items": each}


def by_name(about: str, each: Schema) -> Schema:
    """Such values, each under a name of the user's."""
    return {"description": about, "type": "object", "additionalProperties": each}


def texts(about: str) -> Schema:
    """A list of texts that are not empty."""
    return items(about, {"type": "string", "minLength": 1})


def whole(about: str, least: int = 0, most: int = INT32) -> Schema:
    """A whole number within bounds."""
    size = "int32" if most <= INT32 else "int64"
    kind: Schema = {"type": "integer", "format": size, "minimum": least}
    return {"description": about, **kind, **({"maximum": most} if most < INT32 else {})}


def number(about: str) -> Schema:
    """Any whole number."""
    return {"description": about, "type": "integer", "format": "int64"}


def choice(about: str, *known: str) -> Schema:
    """One of these words."""
    return {"description": about, "type": "string", "enum": list(known)}


def flag(about: str) -> Schema:
    """True or false."""
    return {"description": about, "type": "boolean"}


def text(about: str) -> Schema:
    """Text that is not empty."""
    return {"description": about, "type": "string", "minLength": 1}


def prose(about: str) -> Schema:
    """Any text."""
    return {"description": about, "type": "string"}


def moment(about: str) -> Schema:
    """A time."""
    return {"description": about, "type": "string", "format": "date-time"}
