"""Cells that many kinds share: names, ages, containers, selectors."""

from typing import Any

from atoll.apiserver.kinds.columns.ages import Timed, since
from atoll.apiserver.kinds.labels import printed
from atoll.apiserver.kinds.reading import Object, at, number, part, parts, text
from atoll.apiserver.resource import Column

NONE = "<none>"


def name_of(obj: Object) -> str:
    return text(obj, "metadata", "name")


def age_of(obj: Object) -> Timed | str:
    return since(at(obj, "metadata", "creationTimestamp"))


def created_at(obj: Object) -> Any:
    return at(obj, "metadata", "creationTimestamp")


NAME = Column("Name", name_of, format="name")
AGE = Column("Age", age_of)
CREATED_AT = Column("Created At", created_at, type="date")


def wide(name: str, cell: Any, column_type: str = "string") -> Column:
    """A column for `-o wide` only."""
    return Column(name, cell, type=column_type, priority=1)


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
