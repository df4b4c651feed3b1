"""The status of pods, volumes and claims, which are in one phase each: the least settled one wins.

A member that has not reported yet counts as pending.
"""

from typing import Any

from atoll.dialects.wire import Wire, flag, part, parts, text
from atoll.interpreting.aggregating.reports import news, place, reported, status_of
from atoll.interpreting.operations import Item

PENDING = "Pending"
_OF_PODS = ("Failed", PENDING, "Running", "Succeeded")
_OF_VOLUMES = ("Failed", PENDING, "Available", "Bound", "Released")
_OF_CLAIMS = ("Lost", PENDING, "Bound")


def pod(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The phase, and the states of the containers in all members."""
    if not items:
        return None
    phase = _phase(items, _OF_PODS)
    containers = {
        key: [
            _container(each, here)
            for path, status in reported(items)
            for here, each in parts(status, key, path)
        ]
        for key in ("containerStatuses", "initContainerStatuses")
    }
    found = {key: value for key, value in containers.items() if value}
    return news(template, {**found, **({"phase": phase} if phase else {})})


def volume(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The phase alone."""
    phase = _phase(items, _OF_VOLUMES)
    return news(template, {"phase": phase}) if phase else None


def claim(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The phase alone."""
    phase = _phase(items, _OF_CLAIMS)
    return news(template, {"phase": phase}) if phase else None


def _phase(items: tuple[Item, ...], known: tuple[str, ...]) -> str:
    """The first of the known phases that any member is in; empty if none is."""
    phases = {text(status_of(item), "phase", place(item)) or PENDING for item in items}
    return next((phase for phase in known if phase in phases), "")


def _container(wire: Wire, path: str) -> dict[str, Any]:
    """Whether it is ready and its state: names repeat from member to member and are left out."""
    return {
        "name": "",
        "image": "",
        "imageID": "",
        "restartCount": 0,
        "ready": flag(wire, "ready", path, default=False),
        "state": part(wire, "state", path) or {},
    }
