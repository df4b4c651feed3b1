"""The rules of metadata: what the server stamps, what a client may change, what is well formed.

Functions give new objects or lists of broken rules; they never change what they are given.
"""

from collections.abc import Sequence
from functools import lru_cache

import orjson

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import Errors
from atoll.apiserver.resource import Resource, Strategy
from atoll.dialects.kubernetes.names import (
    are_labels,
    label_faults,
    label_value_faults,
    qualified_faults,
)
from atoll.wire import Wire

ANNOTATIONS_MAX = 256 * 1024
GENERATED_PREFIX_MAX = 58  # five more characters make 63
GENERATED_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

_SERVER_OWNED = (
    *("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"),
    *("generation", "resourceVersion"),
)
_UNCHANGING = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_STANDARD_FINALIZERS = frozenset(["orphan", "foregroundDeletion", "kubernetes"])


def metadata(obj: Wire) -> Wire:
    """An object's metadata; empty if it has none."""
    return obj.get("metadata") or {}


def stamped(obj: Wire, resource: Resource, *, namespace: str, uid: str, now: str) -> Wire:
    """A new object as the server takes it in: with a uid and a birth of the server's making."""
    meta = {key: value for key, value in metadata(obj).items() if key not in _SERVER_OWNED}
    if resource.namespaced:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    meta["uid"] = uid
    meta["creationTimestamp"] = now
    if resource.strategy.tracks_generation:
        meta["generation"] = 1
    _tidy_owners(meta)
    return _headed(obj, resource, meta)


def _headed(obj: Wire, resource: Resource, meta: Wire) -> Wire:
    """The object with its kind, which clients may leave out, and this metadata."""
    head = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
    return head | {key: value for key, value in obj.items() if key not in head}


def _tidy_owners(meta: Wire) -> None:
    """Drop repeated owner references, as kube-apiserver does; `repeated_owners` tells."""
    owners = meta.get("ownerReferences")
    if owners and len(owners) > 1:
        meta["ownerReferences"] = list({_told(owner): owner for owner in owners}.values())


def _told(owner: Wire) -> bytes:
    """What tells two references apart."""
    return orjson.dumps(owner, option=orjson.OPT_SORT_KEYS)


def repeated_owners(obj: Wire) -> list[str]:
    """The uids of owners that the object names more than once."""
    owners = metadata(obj).get("ownerReferences") or []
    seen: set[bytes] = set()
    repeated = []
    for owner in owners if len(owners) > 1 else ():
        if _told(owner) in seen:
            repeated.append(owner)
        seen.add(_told(owner))
    return list(dict.fromkeys(str(owner.get("uid", "")) for owner in repeated))


def carried_over(new: Wire, old: Wire, resource: Resource) -> Wire:
    """A new version of an object, with what a client cannot change taken from the old one."""
    before = metadata(old)
    meta = dict(metadata(new))
    meta["name"] = before["name"]
    if resource.namespaced:
        meta["namespace"] = before["namespace"]
    else:
        meta.pop("namespace", None)
    meta.pop("selfLink", None)
    for key in ("uid", "generation", *_UNCHANGING):
        if key in before:
            meta[key] = before[key]
        else:
            meta.pop(key, None)
    _tidy_owners(meta)
    return _headed(new, resource, meta)


def with_generation(new: Wire, old: Wire, resource: Resource) -> Wire:
    """The new version, its generation one higher if what the user asks for has changed."""
    if not resource.strategy.tracks_generation:
        return new
    if not _asks_otherwise(new, old, resource.strategy):
        return new
    meta = dict(new["metadata"])
    meta["generation"] = int(metadata(old).get("generation") or 0) + 1
    return {**new, "metadata": meta}


def _asks_otherwise(new: Wire, old: Wire, strategy: Strategy) -> bool:
    apart = {"metadata", "status"} if strategy.has_status else {"metadata"}
    if any(new.get(key) != old.get(key) for key in {*new, *old} - apart):
        return True
    before, after = metadata(old), metadata(new)
    return any((before.get(key) or {}) != (after.get(key) or {}) for key in strategy.counts)


def errors_of_new(obj: Wire, resource: Resource) -> Errors:
    """What is wrong with the metadata of an object that is to be created."""
    meta = metadata(obj)
    name, prefix = meta.get("name") or "", meta.get("generateName") or ""
    if prefix and (reasons := resource.strategy.name_errors(prefix.rstrip("-.") or prefix)):
        yield from fields.faulty("metadata.generateName", prefix, reasons)
    if not name:
        yield fields.required("metadata.name", "name or generateName is required")
    elif reasons := resource.strategy.name_errors(name):
        yield from fields.faulty("metadata.name", name, reasons)
    if resource.namespaced and (reasons := label_faults(meta.get("namespace", ""))):
        namespace = meta.get("namespace", "")
        yield from fields.faulty("metadata.namespace", namespace, reasons)
    yield from _common_errors(meta, custom=resource.custom)


def errors_of_update(new: Wire, old: Wire, resource: Resource) -> Errors:
    """What is wrong with the metadata of an object that is to replace another."""
    meta, before = metadata(new), metadata(old)
    yield from _common_errors(meta, custom=resource.custom)
    if before.get("deletionTimestamp"):
        held = set(before.get("finalizers") or [])
        added = sorted(name for name in meta.get("finalizers") or [] if name not in held)
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            why = (
                "no new finalizers can be added if the object is being deleted,"
                f" found new finalizers []string{{{listed}}}"
            )
            yield fields.forbidden("metadata.finalizers", why)


def _common_errors(meta: Wire, *, custom: bool) -> Errors:
    if (labels := meta.get("labels")) and not are_labels(labels):
        yield from _label_errors(labels, "metadata.labels")
    if annotations := meta.get("annotations"):
        yield from _annotation_errors(annotations)
    if owners := meta.get("ownerReferences"):
        yield from _owner_errors(owners)
    if finalizers := meta.get("finalizers"):
        yield from _finalizer_errors(finalizers, custom=custom)


@lru_cache(maxsize=4096)
def _key_faults(key: str) -> tuple[str, ...]:
    """Why a key is not a qualified name; the same few keys are on very many objects."""
    return tuple(qualified_faults(key))


def _label_errors(labels: Wire, where: str) -> Errors:
    for key, value in labels.items():
        yield from fields.faulty(where, key, _key_faults(key))
        yield from fields.faulty(where, value, label_value_faults(value))


def _annotation_errors(annotations: Wire) -> Errors:
    where = "metadata.annotations"
    yield from (
        fields.invalid(where, key, reason)
        for key in annotations
        for reason in _key_faults(key.lower())
    )
    if _size(annotations) > ANNOTATIONS_MAX:
        yield fields.too_long(where, f"may not be more than {ANNOTATIONS_MAX} bytes")


def _size(annotations: Wire) -> int:
    """The bytes of all keys and values, or at least so many as they are, if these are few."""
    size = 4 * (sum(map(len, annotations)) + sum(map(len, annotations.values())))
    if size <= ANNOTATIONS_MAX:  # no character is more than four bytes
        return size
    return sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())


_OWNERS_SAY = {
    "apiVersion": "version must not be empty",
    **dict.fromkeys(("kind", "name", "uid"), "must not be empty"),
}


def _owner_errors(owners: Sequence[Wire]) -> Errors:
    where = "metadata.ownerReferences"  # kube-apiserver does not say which of them
    for owner in owners:
        for key, detail in _OWNERS_SAY.items():
            if not owner.get(key):
                yield fields.invalid(f"{where}.{key}", owner.get(key, ""), detail)
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        first, second = (f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        why = (
            "Only one reference can have Controller set to true. Found"
            f' "true" in references for {first} and {second}'
        )
        yield fields.invalid("metadata.ownerReferences", list(owners), why)


def holder_errors(holders: Sequence[str], path: str) -> Errors:
    """What is wrong with the names of those who hold an object."""
    yield from (
        fields.invalid(f"{path}[{index}]", name, reason)
        for index, name in enumerate(holders)
        for reason in _key_faults(name)
    )
    yield from _unqualified_errors(holders, path)


def _unqualified_errors(holders: Sequence[str], path: str) -> Errors:
    """Which holders have no domain before their name, and are none that Kubernetes knows."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        fields.invalid(f"{path}[{index}]", name, why)
        for index, name in enumerate(holders)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _finalizer_errors(finalizers: Sequence[str], *, custom: bool) -> Errors:
    """Custom objects may be held by whatever has the form of a name."""
    where = "metadata.finalizers"  # which of them is said only of those that are not qualified
    yield from (
        fields.invalid(where, name, why) for name in finalizers for why in _key_faults(name)
    )
    if not custom:
        yield from _unqualified_errors(finalizers, where)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        yield fields.invalid("metadata.finalizers", list(finalizers), why)
