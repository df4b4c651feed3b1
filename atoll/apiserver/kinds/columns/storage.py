"""The columns of volumes, claims to them and their classes, of their drivers, and of devices."""

from atoll.apiserver.kinds.columns.cells import AGE, NAME, NONE, class_name, wide
from atoll.apiserver.kinds.reading import at, given, items, part, parts, text
from atoll.apiserver.resource import Column
from atoll.wire import Wire

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(listed: list[str]) -> str:
    """The access modes in short, each once, always in the same order."""
    return ",".join(short for mode, short in _MODES.items() if mode in listed)


def _phase(obj: Wire) -> str:
    if at(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    return text(obj, "status", "phase")


def _claim(volume: Wire) -> str:
    claim = part(volume, "spec", "claimRef")
    return f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else ""


def _bound(claim: Wire) -> bool:
    return bool(text(claim, "spec", "volumeName"))


def _class(obj: Wire) -> str:
    legacy = part(obj, "metadata", "annotations").get("volume.beta.kubernetes.io/storage-class")
    return str(legacy) if legacy else text(obj, "spec", "storageClassName")


def _attributes(obj: Wire) -> str:
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


STORAGE_CLASS = (
    class_name(
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
    Column("Provisioner", lambda obj: text(obj, "provisioner")),
    Column("ReclaimPolicy", lambda obj: text(obj, "reclaimPolicy")),
    Column("VolumeBindingMode", lambda obj: text(obj, "volumeBindingMode")),
    Column("AllowVolumeExpansion", lambda obj: bool(obj.get("allowVolumeExpansion"))),
    AGE,
)


def _flag(name: str, *path: str) -> Column:
    return Column(name, lambda obj: bool(at(obj, *path)), type="boolean")


def _audiences(driver: Wire) -> str:
    if part(driver, "spec").get("tokenRequests") is None:
        return "<unset>"
    return ",".join(text(request, "audience") for request in parts(driver, "spec", "tokenRequests"))


def _state(claim: Wire) -> str:
    """What has become of a claim to devices."""
    deleted = at(claim, "metadata", "deletionTimestamp")
    states = ["deleted"] if deleted else []
    if given(claim, "status", "allocation") is None:
        states += [] if deleted else ["pending"]
    else:
        states.append("allocated")
        states += ["reserved"] if items(claim, "status", "reservedFor") else []
    return ",".join(states)


CSI_DRIVER = (
    NAME,
    _flag("AttachRequired", "spec", "attachRequired"),
    _flag("PodInfoOnMount", "spec", "podInfoOnMount"),
    _flag("StorageCapacity", "spec", "storageCapacity"),
    Column("TokenRequests", _audiences),
    _flag("RequiresRepublish", "spec", "requiresRepublish"),
    Column(
        "Modes", lambda obj: ",".join(map(str, items(obj, "spec", "volumeLifecycleModes"))) or NONE
    ),
    AGE,
)
CSI_NODE = (
    NAME,
    Column("Drivers", lambda obj: len(items(obj, "spec", "drivers")), type="integer"),
    AGE,
)
VOLUME_ATTACHMENT = (
    NAME,
    Column("Attacher", lambda obj: text(obj, "spec", "attacher"), format="name"),
    Column("PV", lambda obj: text(obj, "spec", "source", "persistentVolumeName")),
    Column("Node", lambda obj: text(obj, "spec", "nodeName")),
    _flag("Attached", "status", "attached"),
    AGE,
)
VOLUME_ATTRIBUTES_CLASS = (NAME, Column("DriverName", lambda obj: text(obj, "driverName")), AGE)
RUNTIME_CLASS = (NAME, Column("Handler", lambda obj: text(obj, "handler")), AGE)
RESOURCE_CLAIM = (NAME, Column("State", _state), AGE)
RESOURCE_SLICE = (
    NAME,
    Column("Node", lambda obj: text(obj, "spec", "nodeName")),
    Column("Driver", lambda obj: text(obj, "spec", "driver")),
    Column("Pool", lambda obj: text(obj, "spec", "pool", "name")),
    AGE,
)
