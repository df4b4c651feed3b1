"""The columns of persistent volumes, of claims to them, and of their classes."""

from atoll.apiserver.kinds.columns.cells import AGE, NAME, name_of, wide
from atoll.apiserver.kinds.reading import Object, at, items, part, text
from atoll.apiserver.resource import Column

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(listed: list[str]) -> str:
    """The access modes in short, each once, always in the same order."""
    return ",".join(short for mode, short in _MODES.items() if mode in listed)


def _phase(obj: Object) -> str:
    if at(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    return text(obj, "status", "phase")


def _claim(volume: Object) -> str:
    claim = part(volume, "spec", "claimRef")
    return f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else ""


def _bound(claim: Object) -> bool:
    return bool(text(claim, "spec", "volumeName"))


def _class(obj: Object) -> str:
    legacy = part(obj, "metadata", "annotations").get("volume.beta.kubernetes.io/storage-class")
    return str(legacy) if legacy else text(obj, "spec", "storageClassName")


def _attributes(obj: Object) -> str:
    return text(obj, "spec", "volumeAttributesClassName") or "<unset>"


_VOLUME_MODE = wide("VolumeMode", lambda obj: text(obj, "spec", "volumeMode") or "<unset>")

PERSISTENT_VOLUME = (
    NAME,
    Column("Capacity", lambda obj: str(part(obj, "spec", "capacity").get("storage", ""))),
    Column("Access Modes", lambda obj: _modes(items(obj, "spec", "accessModes"))),
    Column("Reclaim Policy", lambda obj: text(obj, "spec", "persistentVolumeReclaimPolicy")),
    Column("Status", _phase),
    Column("Claim", _claim),
    Column("StorageClass", _class),
    Column("VolumeAttributesClass", _attributes),
    Column("Reason", lambda obj: text(obj, "status", "reason")),
    AGE,
    _VOLUME_MODE,
)
PERSISTENT_VOLUME_CLAIM = (
    NAME,
    Column("Status", _phase),
    Column("Volume", lambda obj: text(obj, "spec", "volumeName")),
    Column(
        "Capacity",
        lambda obj: str(part(obj, "status", "capacity").get("storage", "0")) if _bound(obj) else "",
    ),
    Column(
        "Access Modes",
        lambda obj: _modes(items(obj, "status", "accessModes")) if _bound(obj) else "",
    ),
    Column("StorageClass", _class),
    Column("VolumeAttributesClass", _attributes),
    AGE,
    _VOLUME_MODE,
)


def _class_name(storage: Object) -> str:
    """A class with the mark of being the one for those who ask for none."""
    notes = part(storage, "metadata", "annotations")
    default = any(notes.get(key) == "true" for key in _DEFAULT_CLASS)
    return name_of(storage) + (" (default)" if default else "")


_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)

STORAGE_CLASS = (
    Column("Name", _class_name, format="name"),
    Column("Provisioner", lambda obj: text(obj, "provisioner")),
    Column("ReclaimPolicy", lambda obj: text(obj, "reclaimPolicy")),
    Column("VolumeBindingMode", lambda obj: text(obj, "volumeBindingMode")),
    Column("AllowVolumeExpansion", lambda obj: bool(obj.get("allowVolumeExpansion"))),
    AGE,
)
