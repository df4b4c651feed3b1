"""What a member's object says of itself, as an entry of its Work's status.

Comes in: the object as the member has it, and two questions to put to it: `reflect` (its status,
as far as it is worth carrying) and `health`. Goes out: the entry. Knows no kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atoll.errors import AtollError
from atoll.model.action import Ref
from atoll.wire import Object

UNKNOWN = "Unknown"

Reflect = Callable[[Object], Any | None]
Health = Callable[[Object], str]


@dataclass(frozen=True, slots=True)
class Questions:
    """How an object of any kind is asked how it is. Both may raise an AtollError."""

    reflect: Reflect
    health: Health


def identifier(ordinal: int, ref: Ref) -> dict[str, Any]:
    """Which manifest of a Work an entry is about."""
    group, _, version = ref.api_version.rpartition("/")
    known = {
        "ordinal": ordinal,
        "group": group,
        "version": version,
        "kind": ref.kind,
        "resource": "",
        "namespace": ref.namespace,
        "name": ref.name,
    }
    # The kind's schema demands `resource`, though nobody fills it; the others may be left out.
    optional = ("group", "namespace")
    return {key: value for key, value in known.items() if value != "" or key not in optional}


def entry(ordinal: int, observed: Object, questions: Questions) -> tuple[dict[str, Any], str]:
    """The entry of a Work's status for one of its objects, and why its health is not known."""
    status = questions.reflect(observed)
    try:
        health, problem = str(questions.health(observed)), ""
    except AtollError as failed:
        health, problem = UNKNOWN, str(failed)
    return {
        "identifier": identifier(ordinal, Ref.of(observed)),
        **({} if status is None else {"status": status}),
        "health": health,
    }, problem
