"""What volumes are made of, and where containers see them: the rules people run into."""

from collections import Counter

from atoll.apiserver.fields.error import Errors, FieldError, forbidden, invalid, required
from atoll.apiserver.kinds.csi import driver_name_errors, token_life_errors
from atoll.apiserver.kinds.reading import each, given, part, parts, text
from atoll.apiserver.kinds.rules import Check, in_each, in_range, needed, one_of
from atoll.apiserver.kinds.variables import amount_errors, field_errors
from atoll.model.quantity import parse
from atoll.wire import Wire

_MODE_WHY = "must be a number between 0 and 0777 (octal), both inclusive"
_NO_DEVICE = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
_HOST_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File"),
    *("FileOrCreate", "Socket"),
)
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")


def source_errors(volume: Wire, where: str) -> Errors:
    """A volume is of one kind; of several only the first is looked at."""
    kinds = sorted(key for key in volume if key != "name" and volume[key] is not None)
    if not kinds:
        yield required(where, "must specify a volume type")
        return
    check, place = _SOURCES.get(kinds[0]), f"{where}.{kinds[0]}"
    if check is not None:
        yield from check(volume[kinds[0]], place)
    why = "may not specify more than 1 volume type"
    yield from (forbidden(f"{where}.{key}", why) for key in kinds[1:])


def _host_errors(source: Wire, where: str) -> Errors:
    if not (path := text(source, "path")):
        yield required(f"{where}.path")
        return
    yield from _backstep_errors(path, f"{where}.path")
    yield from one_of(source, where, "type", _HOST_TYPES)


def _files_of(key: str) -> Check:
    """The rules of a source of files that is called by this key."""

    def check(source: Wire, where: str) -> Errors:
        yield from needed(source, where, key)
        yield from _mode_errors(source, "defaultMode", where)
        yield from in_each(source, where, "items", _item_errors)

    return check


def _item_errors(item: Wire, where: str) -> Errors:
    yield from needed(item, where, "key", "path")
    yield from _local_errors(text(item, "path"), f"{where}.path")
    yield from _mode_errors(item, "mode", where)


def _mode_errors(source: Wire, key: str, where: str) -> Errors:
    return in_range(source, where, key, _MODE_WHY, most=0o777)


def _local_errors(path: str, where: str) -> Errors:
    """A path within something, and not one of those that are kept for the system."""
    yield from descending_errors(path, where)
    if path.startswith("..") and not path.startswith("../") and path != "..":
        yield invalid(where, path, "must not start with '..'")


def descending_errors(path: str, where: str) -> Errors:
    """A path that leads nowhere but down."""
    if path.startswith("/"):
        yield invalid(where, path, "must be a relative path")
    yield from _backstep_errors(path, where)


def _backstep_errors(path: str, where: str) -> Errors:
    return [invalid(where, path, "must not contain '..'")] if ".." in path.split("/") else []


def _empty_errors(source: Wire, where: str) -> Errors:
    size = parse(source.get("sizeLimit"))
    if size is None or size >= 0:
        return []
    return [forbidden(f"{where}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def _nfs_errors(source: Wire, where: str) -> Errors:
    path = text(source, "path")
    yield from needed(source, where, "server", "path")
    if not path.startswith("/"):
        yield invalid(f"{where}.path", path, "must be an absolute path")


def _downward_errors(source: Wire, where: str) -> Errors:
    yield from _mode_errors(source, "defaultMode", where)
    yield from (e for item in parts(source, "items") for e in _fact_errors(item, where))


def _fact_errors(item: Wire, where: str) -> Errors:
    yield from needed(item, where, "path")
    yield from _local_errors(text(item, "path"), f"{where}.path")
    field, amount = given(item, "fieldRef"), given(item, "resourceFieldRef")
    if field is not None:
        yield from field_errors(field, f"{where}.fieldRef")
        if amount is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(where, "resource", why)
    elif amount is not None:
        yield from amount_errors(amount, f"{where}.resourceFieldRef")
    else:
        yield required(where, "one of fieldRef and resourceFieldRef is required")
    yield from _mode_errors(item, "mode", where)


def _projected_errors(source: Wire, where: str) -> Errors:
    yield from _mode_errors(source, "defaultMode", where)
    for one, place in each(parts(source, "sources"), f"{where}.sources"):
        kinds = [key for key in one if one[key] is not None]
        for key in ("secret", "configMap"):
            if given(one, key) is not None:
                yield from needed(one[key], f"{place}.{key}", "name")
                yield from in_each(one[key], f"{place}.{key}", "items", _item_errors)
        if given(one, "downwardAPI") is not None:
            for item in parts(one, "downwardAPI", "items"):
                yield from _fact_errors(item, f"{place}.downwardAPI")
        token = given(one, "serviceAccountToken")
        if token is not None:
            yield from _token_errors(token, f"{place}.serviceAccountToken", f"{where}.path")
        if len(kinds) > 1:
            yield forbidden(place, "may not specify more than 1 volume type per source")


def _token_errors(token: Wire, where: str, path_where: str) -> Errors:
    yield from token_life_errors(token.get("expirationSeconds") or 0, where)
    if path := text(token, "path"):
        yield from _local_errors(path, path_where)
    else:
        yield required(path_where)


_SOURCES: dict[str, Check] = {
    "hostPath": _host_errors,
    "configMap": _files_of("name"),
    "secret": _files_of("secretName"),
    "persistentVolumeClaim": lambda source, where: needed(source, where, "claimName"),
    "emptyDir": _empty_errors,
    "nfs": _nfs_errors,
    "csi": lambda source, where: driver_name_errors(text(source, "driver"), f"{where}.driver"),
    "downwardAPI": _downward_errors,
    "projected": _projected_errors,
}


def mounts_errors(container: Wire, where: str, volumes: dict[str, bool]) -> Errors:
    """Where a container sees its volumes; `volumes` says of each whether it can be a device."""
    devices = {
        text(device, "name"): text(device, "devicePath")
        for device in parts(container, "volumeDevices")
    }
    seen: set[str] = set()
    mounts, path = parts(container, "volumeMounts"), f"{where}.volumeMounts"
    for mount, place in each(mounts, path):
        yield from _mount_errors(mount, place, volumes)
        name, point = text(mount, "name"), text(mount, "mountPath")
        if point in seen:
            yield invalid(f"{place}.mountPath", point, "must be unique")
        seen.add(point)
        if name in devices:
            yield invalid(f"{place}.name", name, "must not already exist in volumeDevices")
        if point in devices.values():
            why = "must not already exist as a path in volumeDevices"
            yield invalid(f"{place}.mountPath", point, why)
        yield from _refined_errors(mount, path, container)
    if devices:
        yield from _devices_errors(container, f"{where}.volumeDevices", volumes)


def _mount_errors(mount: Wire, where: str, volumes: dict[str, bool]) -> Errors:
    name = text(mount, "name")
    yield from needed(mount, where, "name")
    if name not in volumes:
        yield FieldError("FieldValueNotFound", f"{where}.name", name, "")
    yield from needed(mount, where, "mountPath")


def _refined_errors(mount: Wire, where: str, container: Wire) -> Errors:
    """Kubernetes names these without the number of the mount."""
    for key in ("subPath", "subPathExpr"):
        if text(mount, key):
            yield from descending_errors(text(mount, key), f"{where}.{key}")
    yield from one_of(mount, where, "mountPropagation", _PROPAGATIONS)
    privileged = part(container, "securityContext").get("privileged")
    if mount.get("mountPropagation") == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden(f"{where}.mountPropagation", why)


def _devices_errors(container: Wire, path: str, volumes: dict[str, bool]) -> Errors:
    mounts = {text(m, "name"): text(m, "mountPath") for m in parts(container, "volumeMounts")}
    points = Counter(mounts.values())
    for device, where in each(parts(container, "volumeDevices"), path):
        name, point = text(device, "name"), text(device, "devicePath")
        yield from needed(device, where, "name")
        if volumes.get(name) is False:
            yield invalid(f"{where}.name", name, _NO_DEVICE)
        if name not in volumes:
            yield FieldError("FieldValueNotFound", f"{where}.name", name, "")
        yield from needed(device, where, "devicePath")
        if name in mounts:
            yield invalid(f"{where}.name", name, "must not already exist in volumeMounts")
        if points[point] > (mounts.get(name) == point):  # of another volume
            why = "must not already exist as a path in volumeMounts"
            yield invalid(f"{where}.devicePath", point, why)
