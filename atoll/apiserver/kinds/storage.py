"""PersistentVolume, PersistentVolumeClaim and StorageClass: how they are written."""

from atoll.apiserver.fields.error import (
    Errors,
    forbidden,
    invalid,
    named,
    not_supported,
    optional,
    required,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.podspec import default_claim_spec, default_source
from atoll.apiserver.kinds.reading import fill, grown, items, part, text
from atoll.apiserver.kinds.rules import chosen, fixed, one_of
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import qualified_faults, subdomain_faults
from atoll.model.quantity import parse
from atoll.wire import Wire

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_VOLUME_MODES = ("Block", "Filesystem")
_NOT_SOURCES = frozenset(
    [
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity"),
        *("persistentVolumeReclaimPolicy", "storageClassName"),
        *("volumeAttributesClassName", "volumeMode"),
    ]
)


def _default_volume(volume: Wire) -> None:
    spec = grown(volume, "spec")
    fill(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    default_source(spec)
    fill(grown(volume, "status"), phase="Pending")


def _volume_errors(volume: Wire) -> Errors:
    spec = part(volume, "spec")
    if not items(spec, "accessModes"):
        yield required("spec.accessModes")
    yield from _mode_errors(spec)
    capacity = part(spec, "capacity")
    if not capacity:
        yield required("spec.capacity")
    if list(capacity) != ["storage"]:
        yield not_supported("spec.capacity", spec.get("capacity"), ("storage",))
    sources = sorted(key for key in spec if key not in _NOT_SOURCES and spec[key] is not None)
    if not sources:
        yield required("spec", "must specify a volume type")
    for source in sources[1:]:
        yield forbidden(f"spec.{source}", "may not specify more than 1 volume type")


def _mode_errors(spec: Wire) -> Errors:
    return [
        not_supported("spec.accessModes", mode, _ACCESS_MODES)
        for mode in items(spec, "accessModes")
        if mode not in _ACCESS_MODES
    ]


def _default_claim(claim: Wire) -> None:
    default_claim_spec(grown(claim, "spec"))
    fill(grown(claim, "status"), phase="Pending")


def _claim_errors(claim: Wire) -> Errors:
    spec = part(claim, "spec")
    if not items(spec, "accessModes"):
        yield required("spec.accessModes", "at least 1 access mode is required")
    yield from selector_errors(part(spec, "selector"), "spec.selector")
    yield from _mode_errors(spec)
    modes = {*items(spec, "accessModes")} & {*_ACCESS_MODES}
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
    requests = part(spec, "resources", "requests")
    if "storage" not in requests:
        yield required("spec.resources[storage]")
    else:
        size = parse(requests["storage"])
        if size is not None and size <= 0:
            why = "must be greater than zero"
            yield invalid("spec.resources[storage]", requests["storage"], why)
    name = text(spec, "storageClassName")
    yield from optional("spec.storageClassName", name, subdomain_faults)
    yield from one_of(spec, "spec", "volumeMode", _VOLUME_MODES)


def _claim_update_errors(new: Wire, old: Wire) -> Errors:
    """A claim may be bound and, once it is, grow; nothing else about it changes."""
    before = part(old, "spec")
    if _lasting(part(new, "spec"), before) == _lasting(before, before):
        return []
    why = (
        "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        " for bound claims"
    )
    return [forbidden("spec", why)]


def _lasting(spec: Wire, before: Wire) -> Wire:
    kept = {key: value for key, value in spec.items() if key != "volumeAttributesClassName"}
    if before.get("volumeName"):
        kept.pop("resources", None)
    else:
        kept.pop("volumeName", None)
    return kept


def _class_errors(storage: Wire) -> Errors:
    yield from provisioner_errors(text(storage, "provisioner"), "provisioner")
    if "" in part(storage, "parameters"):
        yield invalid("parameters", "", "field can not be empty.")
    yield from chosen(storage, "", "reclaimPolicy", _RECLAIM_POLICIES)
    yield from chosen(storage, "", "volumeBindingMode", _BINDING_MODES)


def provisioner_errors(name: str, where: str) -> Errors:
    """What provides volumes, by name."""
    return named(where, name.lower(), qualified_faults)


PERSISTENT_VOLUME = Strategy(
    has_status=True, returns_deleted=True, default=_default_volume, errors=_volume_errors
)
PERSISTENT_VOLUME_CLAIM = Strategy(
    has_status=True,
    returns_deleted=True,
    default=_default_claim,
    errors=_claim_errors,
    update_errors=_claim_update_errors,
)
STORAGE_CLASS = Strategy(
    returns_deleted=True,
    default=lambda storage: fill(storage, reclaimPolicy="Delete", volumeBindingMode="Immediate"),
    errors=_class_errors,
    update_errors=fixed(["parameters"], ["provisioner"], ["reclaimPolicy"], ["volumeBindingMode"]),
)
