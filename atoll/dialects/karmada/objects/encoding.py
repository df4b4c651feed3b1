"""Values of ours back onto the wire: patches of the fields we own, put onto objects as seen.

Whatever else stands in an object stays: what we do not know is somebody's. The object carries the
version that it was seen in, so that a patch of an old state is refused rather than obeyed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from atoll.model.action import Object
from atoll.model.binding import Target

Patch = Mapping[str, Any]
"""Fields with their new values; None takes a field away, mappings go on inside."""


def patched(wire: Object, patch: Patch) -> dict[str, Any]:
    """The object with a patch put onto it; it is not changed itself."""
    after = dict(wire)
    for key, value in patch.items():
        known = after.get(key)
        if value is None:
            after.pop(key, None)
        elif isinstance(value, Mapping):
            after[key] = patched(known if isinstance(known, Mapping) else {}, value)
        else:
            after[key] = value
    return after


def clusters(targets: Iterable[Target], known: Iterable[Object] | None = None) -> list[Object]:
    """Targets as Karmada writes them: no replicas are left out. `known`: those written before."""
    before = {each.get("name"): each for each in known or ()}
    return [
        patched(before.get(each.name, {}), {"name": each.name, "replicas": each.replicas or None})
        for each in targets
    ]
