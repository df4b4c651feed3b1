"""Whether an object in a member does what it is for, as is told of it."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any


class Health(StrEnum):
    """Whether an object in a member does what it is for."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


def is_well(told: Mapping[str, Any]) -> bool:
    """Whether it is not told of an object that it does not do what it is for."""
    return told.get("health") != Health.UNHEALTHY


def are_well(told: Collection[Mapping[str, Any]]) -> bool:
    """Whether something is told of objects, and all of them are well."""
    return bool(told) and all(map(is_well, told))
