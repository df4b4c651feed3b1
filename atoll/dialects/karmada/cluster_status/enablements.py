"""Which APIs a cluster serves, in the order and form of Karmada's APIEnablements.

What discovery gave comes in, group version by group version, and what was told before; the list to
tell goes out, with the condition of how complete it is. A group version that could not be read
keeps what was known of it: a passing failure must not look as if the cluster had lost its APIs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from atoll.dialects.kubernetes.conditions import Condition
from atoll.wire import Object

COMPLETE = "CompleteAPIEnablements"

Kinds = tuple[tuple[str, str], ...]
"""Plural names and kinds of resources; subresources are none of their own."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """The resources of each group version that could be read, and those that could not.

    `groups_known`: whether it is known which group versions there are at all.
    """

    kinds: Mapping[str, Kinds] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    groups_known: bool = True


def enablements(found: Discovered, before: Iterable[Object]) -> list[dict[str, Any]]:
    """The list to tell: what was found, and of what could not be read, what was known."""
    known = {str(each.get("groupVersion")): _resources(each) for each in before}
    kinds = dict(found.kinds)
    for version, resources in known.items():
        if version not in kinds and (version in found.unread or not found.groups_known):
            kinds[version] = resources
    return [_told(version, kinds[version]) for version in sorted(kinds)]


def completeness(found: Discovered) -> Condition:
    """How much of its APIs a cluster told this time."""
    count = len(found.kinds)
    if not count:
        message = "collected empty APIEnablements from the cluster"
        return Condition(COMPLETE, False, "Empty", message)
    if found.unread or not found.groups_known:
        message = f"might collect partial APIEnablements({count}) from the cluster"
        return Condition(COMPLETE, False, "Partial", message)
    message = "collected complete APIEnablements from the cluster"
    return Condition(COMPLETE, True, "Complete", message)


def _resources(told: Object) -> Kinds:
    return tuple((each["name"], each["kind"]) for each in told.get("resources") or ())


def _told(version: str, kinds: Kinds) -> dict[str, Any]:
    resources = [{"name": name, "kind": kind} for name, kind in sorted(kinds)]
    return {"groupVersion": version} | ({"resources": resources} if resources else {})
