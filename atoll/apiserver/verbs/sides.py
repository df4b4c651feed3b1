"""Which side of an object each endpoint may change: what users ask for, or what is reported.

In: a resource, a subresource, and what a client proposes in place of the old object. Out: the
proposal with the other side taken from the old one, and the fields that such a write never owns.
Through /status, most built-in kinds take metadata as well, custom ones do not.
"""

from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.resource import Path, Resource
from atoll.wire import Wire

_ALWAYS = frozenset(["status", "apiVersion", "kind"])
# Of these kinds, metadata cannot be changed through /status, or not all of it.
_KEEP_METADATA = frozenset(
    [
        *("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"),
        *("flowcontrol.apiserver.k8s.io", "resource.k8s.io", "storage.k8s.io"),
    ]
)
_KINDS_KEEP_METADATA = frozenset([("networking.k8s.io", "ServiceCIDR")])
_KEEP_SOME = {("apps", "Deployment"): ("labels",), ("", "Pod"): ("ownerReferences",)}


def untracked(resource: Resource, subresource: str) -> tuple[Path, ...]:
    """The fields that a write through this endpoint cannot touch, and so never owns."""
    if subresource == "status":
        kept: list[Path] = [(key,) for key in resource.schema.fields if key not in _ALWAYS]
        if not keeps_metadata(resource, subresource):
            kept.remove(("metadata",))
            kept += [("metadata", key) for key in _kept_metadata(resource)]
        return tuple(kept) or (("spec",),)
    return (("status",),) if resource.strategy.has_status else ()


def apart(resource: Resource, subresource: str, proposed: Wire, old: Wire) -> Wire:
    """What is proposed, with the side that the endpoint does not change as it was."""
    if subresource == "status":
        kept = {**old, "metadata": _status_metadata(resource, proposed, old)}
        if "status" in proposed:
            kept["status"] = proposed["status"]
        else:
            kept.pop("status", None)
        return kept
    if subresource in resource.strategy.parts:
        return resource.strategy.parts[subresource](proposed, old)
    if not resource.strategy.has_status:
        return dict(proposed)
    kept = {key: value for key, value in proposed.items() if key != "status"}
    if "status" in old:
        kept["status"] = old["status"]
    return kept


def keeps_metadata(resource: Resource, subresource: str) -> bool:
    """Whether metadata stays as it was, whatever a write through this endpoint says of it."""
    return subresource == "status" and (
        resource.custom
        or resource.group in _KEEP_METADATA
        or (resource.group, resource.kind) in _KINDS_KEEP_METADATA
    )


def _kept_metadata(resource: Resource) -> tuple[str, ...]:
    return _KEEP_SOME.get((resource.group, resource.kind), ())


def _status_metadata(resource: Resource, proposed: Wire, old: Wire) -> Wire:
    """The metadata of an object whose status is written; owners are whoever they say."""
    before, after = metadata(old), metadata(proposed)
    if keeps_metadata(resource, "status"):
        changing: tuple[str, ...] = ("managedFields",)
    else:
        changing = tuple(after.keys() - set(_kept_metadata(resource)))
        before = {key: before[key] for key in _kept_metadata(resource) if key in before}
    return {**before, **{key: after[key] for key in changing if key in after}}
