"""What a client is told whose configuration wants fields that others own with another value."""

from collections.abc import Mapping
from typing import Any

from atoll.apiserver.applying.elements import shown, written
from atoll.apiserver.applying.fieldset import FieldSet, paths
from atoll.apiserver.applying.ownership import Owner
from atoll.apiserver.status import ApiError


def conflict_error(conflicts: Mapping[Owner, FieldSet]) -> ApiError:
    """409 that names every owner and every field in dispute."""
    found: list[tuple[Owner, str]] = []
    for owner in sorted(conflicts, key=Owner.sort_key):
        found.extend((owner, "".join(map(shown, path))) for path in paths(conflicts[owner]))
    causes: list[dict[str, Any]] = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_named(owner)}",
            "field": field,
        }
        for owner, field in found
    ]
    return ApiError(409, "Conflict", _message(found), details={"causes": causes})


def _message(found: list[tuple[Owner, str]]) -> str:
    if len(found) == 1:
        owner, field = found[0]
        return f"Apply failed with 1 conflict: conflict with {_named(owner)}: {field}"
    lines: list[str] = []
    last: Owner | None = None
    for owner, field in found:
        if owner != last:
            lines.append(f"conflicts with {_named(owner)}:")
            last = owner
        lines.append(f"- {field}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _named(owner: Owner) -> str:
    text = written(owner.manager)
    if owner.subresource:
        text += f" with subresource {written(owner.subresource)}"
    if owner.operation == "Update":
        text += f" using {owner.api_version}"
    return text
