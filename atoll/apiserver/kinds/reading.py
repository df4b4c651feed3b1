"""Looking into objects that may lack anything: what is absent, null or of another type is empty.

Decoding has checked the types of an object against its schema, but not that anything is there. All
of these are called very often, so that some spell out what they could ask of another.
"""

from collections.abc import Iterable
from typing import Any

from atoll.wire import Wire


def at(value: Any, *path: str) -> Any:
    """What stands at this path; None if nothing does."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def part(value: Any, *path: str) -> Wire:
    """The object at this path; an empty one if there is none."""
    for key in path:
        if not isinstance(value, dict):
            return {}
        value = value.get(key)
    return value if isinstance(value, dict) else {}


def given(value: Any, *path: str) -> Wire | None:
    """The object at this path, which may be empty; None if there is none."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value if isinstance(value, dict) else None


def parts(value: Any, *path: str) -> list[Wire]:
    """The objects in the list at this path."""
    for key in path:
        if not isinstance(value, dict):
            return []
        value = value.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def items(value: Any, *path: str) -> list[Any]:
    found = at(value, *path)
    return found if isinstance(found, list) else []


def text(value: Any, *path: str) -> str:
    for key in path:
        if not isinstance(value, dict):
            return ""
        value = value.get(key)
    return value if isinstance(value, str) else ""


def number(value: Any, *path: str) -> int:
    found = at(value, *path)
    return found if isinstance(found, int) else 0


def grown(obj: Wire, *path: str) -> Wire:
    """The object at this path, put there in place if there is none."""
    for key in path:
        child = obj.get(key)
        if not isinstance(child, dict):
            child = obj[key] = {}
        obj = child
    return obj


def fill(obj: Wire, **defaults: Any) -> None:
    """Set each field that is absent, null or empty text, in place; 0 and False are values."""
    for key, value in defaults.items():
        there = obj.get(key)
        if not there and (there is None or there == ""):
            obj[key] = value


def fill_zero(obj: Wire, **defaults: int) -> None:
    """Set each number that is absent or 0, in place: Kubernetes cannot tell the two apart here."""
    for key, value in defaults.items():
        if not obj.get(key):
            obj[key] = value


def each(objects: Iterable[Wire], path: str) -> Iterable[tuple[Wire, str]]:
    """Every object with the path that names it in messages."""
    return ((obj, f"{path}[{index}]") for index, obj in enumerate(objects))
