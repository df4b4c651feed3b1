"""Ownership through the scale subresource: a Scale shows one field of its parent, the replicas.

In: the parent, and a Scale that was written with `after_update` or `after_apply`. Out: the parent's
managedFields as seen from the Scale, and back again. An entry that comes from the Scale says so in
its subresource and, as in kube-apiserver, has no time.
"""

from atoll.apiserver.applying.fieldset import FieldSet, difference, has, of_path
from atoll.apiserver.applying.ownership import Entry, Managers, Owner, stored, with_entries
from atoll.wire import Wire

SCALE_VERSION = "autoscaling/v1"
_IN_SCALE: FieldSet = {"f:spec": {"f:replicas": {}}}
_PATH_IN_SCALE = ("f:spec", "f:replicas")


def scale_entries(parent: Wire, replicas: tuple[str, ...]) -> list[Entry]:
    """The managedFields of the Scale of this parent, which keeps its replicas at this path."""
    path = tuple(f"f:{name}" for name in replicas)
    managers = Managers()
    for owner, entry in stored(parent).entries.items():
        if has(entry["fieldsV1"], path):
            managers.put(_in_scale(owner), SCALE_VERSION, _IN_SCALE, entry.get("time"))
    entries: list[Entry] = with_entries({}, managers)["metadata"].get("managedFields", [])
    return entries


def after_scale(parent: Wire, scale: Wire, replicas: tuple[str, ...], api_version: str) -> Wire:
    """The parent with the owners of its replicas as they are in the Scale that was written."""
    path = tuple(f"f:{name}" for name in replicas)
    managers = stored(parent)
    entries = stored(scale).entries.items()
    owners = {owner for owner, entry in entries if has(entry["fieldsV1"], _PATH_IN_SCALE)}
    for owner, entry in [*managers.entries.items()]:
        if not has(entry["fieldsV1"], path):
            continue
        if _in_scale(owner) in owners:
            owners.remove(_in_scale(owner))
        else:
            managers.reduce(owner, difference(entry["fieldsV1"], of_path(path)))
    for owner in owners:
        version = "" if owner.operation == "Apply" else api_version
        managers.put(owner._replace(api_version=version), api_version, of_path(path), None)
    return with_entries(parent, managers)


def _in_scale(owner: Owner) -> Owner:
    return owner if owner.operation == "Apply" else owner._replace(api_version=SCALE_VERSION)
