"""The columns of the kinds that drivers of volumes, runtimes and devices come with."""

from atoll.apiserver.kinds.columns.cells import AGE, NAME, NONE
from atoll.apiserver.kinds.reading import Object, at, given, items, part, parts, text
from atoll.apiserver.resource import Column


def _flag(name: str, *path: str) -> Column:
    return Column(name, lambda obj: bool(at(obj, *path)), type="boolean")


def _audiences(driver: Object) -> str:
    if part(driver, "spec").get("tokenRequests") is None:
        return "<unset>"
    return ",".join(text(request, "audience") for request in parts(driver, "spec", "tokenRequests"))


def _state(claim: Object) -> str:
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
