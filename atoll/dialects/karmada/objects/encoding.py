"""Values of ours back onto the wire: patches of the fields we own, put onto objects as seen.

Whatever else stands in an object stays: what we do not know is somebody's. The object carries the
version that it was seen in, so that a patch of an old state is refused rather than obeyed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from atoll.model.binding import Target
from atoll.model.resource_binding import Snapshot
from atoll.wire import Object

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


def snapshots(required_by: Iterable[Snapshot], binding: Object) -> list[Object]:
    """Parents as the binding that they need lists them; what else it lists of each stays."""
    listed = (binding.get("spec") or {}).get("requiredBy") or ()
    before = {(each.get("namespace", ""), each.get("name", "")): each for each in listed}
    return [_snapshot(each, before.get(each.key, {})) for each in required_by]


def _snapshot(parent: Snapshot, known: Object) -> Object:
    targets = clusters(parent.targets, known.get("clusters"))
    named = {"namespace": parent.namespace, "name": parent.name}
    return patched(known, {**named, "clusters": targets or None})
