"""What members report of an object, in order of their names, and whether a sum says anything new.

The order in which reports come in never matters to what goes out.
"""

from collections.abc import Iterator
from typing import Any

from atoll.dialects.wire import Wire, at, checked, part
from atoll.interpreting.operations import Item


def in_order(items: tuple[Item, ...]) -> list[Item]:
    """The reports by the names of their clusters."""
    return sorted(items, key=lambda item: item.cluster)


def reported(items: tuple[Item, ...]) -> Iterator[tuple[str, Wire]]:
    """The statuses that were collected, by cluster, each with where it stands."""
    for item in in_order(items):
        if item.status is not None:
            yield place(item), status_of(item)


def status_of(item: Item) -> Wire:
    """A cluster's status; empty if it was not collected yet."""
    return {} if item.status is None else checked(item.status, place(item))


def place(item: Item) -> str:
    """Where a cluster's status stands in a binding, for errors."""
    return at(f"aggregatedStatus[{item.cluster}]", "status")


def news(template: Wire, status: dict[str, Any]) -> dict[str, Any] | None:
    """This status, unless the template's says the same already."""
    said = part(template, "status", "") or {}
    return None if _told(said) == _told(status) else status


def _told(value: Any) -> Any:
    """What a value says: absent, null, zero and empty are all the same."""
    if isinstance(value, dict):
        told = {key: _told(each) for key, each in value.items()}
        return {key: each for key, each in told.items() if each}
    return [_told(each) for each in value] if isinstance(value, list) else value
