"""Fields by their path: `("spec", "replicas")`. Nothing is changed in place."""

from typing import Any

Path = tuple[str, ...]


def at(value: Any, path: Path) -> Any:
    """What is at this path; None if anything on the way is missing or no object."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def put(obj: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The object with this value at this path; what is missing on the way is made."""
    head, *rest = path
    if not rest:
        return {**obj, head: value}
    return {**obj, head: put(obj.get(head) or {}, tuple(rest), value)}
