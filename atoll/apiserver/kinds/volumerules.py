"""What volumes are made of, and where containers see them: the rules people run into."""

from collections import Counter
from collections.abc import Callable

from atoll.apiserver.fields.error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.csi import driver_name_errors
from atoll.apiserver.kinds.reading import Object, each, given, parts, text
from atoll.apiserver.kinds.variables import amount_errors, field_errors
from atoll.model.quantity import parse

_MODE_WHY = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_TOKEN_MIN_S, _TOKEN_MAX_S = 600, 2**32


def source_errors(volume: Object, where: str) -> list[FieldError]:
    """A volume is of one kind; of several only the first is looked at."""
    kinds = sorted(key for key in volume if key != "name" and volume[key] is not None)
    if not kinds:
        return [required(where, "must specify a volume type")]
    check, place = _SOURCES.get(kinds[0]), f"{where}.{kinds[0]}"
    errors = check(volume[kinds[0]], place) if check is not None else []
    why = "may not specify more than 1 volume type"
    return errors + [forbidden(f"{where}.{key}", why) for key in kinds[1:]]


def _host_errors(source: Object, where: str) -> list[FieldError]:
    path, kind = text(source, "path"), source.get("type")
    if not path:
        return [required(f"{where}.path")]
    errors = _backstep_errors(path, f"{where}.path")
    if kind is not None and kind not in _HOST_TYPES:
        errors.append(not_supported(f"{where}.type", kind, _HOST_TYPES))
    return errors


def _files_of(key: str) -> Callable[[Object, str], list[FieldError]]:
    """The rules of a source of files that is called by this key."""

    def check(source: Object, where: str) -> list[FieldError]:
        errors = _named(key)(source, where) + _mode_errors(source, "defaultMode", where)
        return errors + _items_errors(source, where)

    return check


def _named(key: str) -> Callable[[Object, str], list[FieldError]]:
    def check(source: Object, where: str) -> list[FieldError]:
        return [] if text(source, key) else [required(f"{where}.{key}")]

    return check


def _items_errors(source: Object, where: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for item, place in each(parts(source, "items"), f"{where}.items"):
        errors += _named("key")(item, place) + _named("path")(item, place)
        errors += _local_errors(text(item, "path"), f"{place}.path")
        errors += _mode_errors(item, "mode", place)
    return errors


def _mode_errors(source: Object, key: str, where: str) -> list[FieldError]:
    mode = source.get(key)
    if isinstance(mode, int) and not 0 <= mode <= 0o777:
        return [invalid(f"{where}.{key}", mode, _MODE_WHY)]
    return []


def _local_errors(path: str, where: str) -> list[FieldError]:
    """A path within something, and not one of those that are kept for the system."""
    errors = descending_errors(path, where)
    if path.startswith("..") and not path.startswith("../") and path != "..":
        errors.append(invalid(where, path, "must not start with '..'"))
    return errors


def descending_errors(path: str, where: str) -> list[FieldError]:
    """A path that leads nowhere but down."""
    errors = [invalid(where, path, "must be a relative path")] if path.startswith("/") else []
    return errors + _backstep_errors(path, where)


def _backstep_errors(path: str, where: str) -> list[FieldError]:
    return [invalid(where, path, "must not contain '..'")] if ".." in path.split("/") else []


def _empty_errors(source: Object, where: str) -> list[FieldError]:
    size = parse(source.get("sizeLimit"))
    if size is None or size >= 0:
        return []
    return [forbidden(f"{where}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def _nfs_errors(source: Object, where: str) -> list[FieldError]:
    path = text(source, "path")
    errors = _named("server")(source, where) + _named("path")(source, where)
    if not path.startswith("/"):
        errors.append(invalid(f"{where}.path", path, "must be an absolute path"))
    return errors


def _csi_errors(source: Object, where: str) -> list[FieldError]:
    return driver_name_errors(text(source, "driver"), f"{where}.driver")


def _downward_errors(source: Object, where: str) -> list[FieldError]:
    errors = _mode_errors(source, "defaultMode", where)
    return errors + [e for item in parts(source, "items") for e in _fact_errors(item, where)]


def _fact_errors(item: Object, where: str) -> list[FieldError]:
    path = text(item, "path")
    errors = [] if path else [required(f"{where}.path")]
    errors += _local_errors(path, f"{where}.path")
    field, amount = given(item, "fieldRef"), given(item, "resourceFieldRef")
    if field is not None:
        errors += field_errors(field, f"{where}.fieldRef")
        if amount is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(where, "resource", why))
    elif amount is not None:
        errors += amount_errors(amount, f"{where}.resourceFieldRef")
    else:
        errors.append(required(where, "one of fieldRef and resourceFieldRef is required"))
    return errors + _mode_errors(item, "mode", where)


def _projected_errors(source: Object, where: str) -> list[FieldError]:
    errors = _mode_errors(source, "defaultMode", where)
    for one, place in each(parts(source, "sources"), f"{where}.sources"):
        kinds = [key for key in one if one[key] is not None]
        for key in ("secret", "configMap"):
            if given(one, key) is not None:
                errors += _named("name")(one[key], f"{place}.{key}")
                errors += _items_errors(one[key], f"{place}.{key}")
        if given(one, "downwardAPI") is not None:
            for item in parts(one, "downwardAPI", "items"):
                errors += _fact_errors(item, f"{place}.downwardAPI")
        token = given(one, "serviceAccountToken")
        if token is not None:
            errors += _token_errors(token, f"{place}.serviceAccountToken", f"{where}.path")
        if len(kinds) > 1:
            why = "may not specify more than 1 volume type per source"
            errors.append(forbidden(place, why))
    return errors


def _token_errors(token: Object, where: str, path_where: str) -> list[FieldError]:
    seconds, path = token.get("expirationSeconds") or 0, text(token, "path")
    place, errors = f"{where}.expirationSeconds", []
    if seconds < _TOKEN_MIN_S:
        why = "may not specify a duration less than 10 minutes"
        errors.append(invalid(place, seconds, why))
    if seconds > _TOKEN_MAX_S:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(place, seconds, why))
    if not path:
        return [*errors, required(path_where)]
    return errors + _local_errors(path, path_where)


_SOURCES: dict[str, Callable[[Object, str], list[FieldError]]] = {
    "hostPath": _host_errors,
    "configMap": _files_of("name"),
    "secret": _files_of("secretName"),
    "persistentVolumeClaim": _named("claimName"),
    "emptyDir": _empty_errors,
    "nfs": _nfs_errors,
    "csi": _csi_errors,
    "downwardAPI": _downward_errors,
    "projected": _projected_errors,
}


def mounts_errors(container: Object, where: str, volumes: dict[str, bool]) -> list[FieldError]:
    """Where a container sees its volumes; `volumes` says of each whether it can be a device."""
    errors: list[FieldError] = []
    devices = {
        text(device, "name"): text(device, "devicePath")
        for device in parts(container, "volumeDevices")
    }
    seen: set[str] = set()
    mounts, path = parts(container, "volumeMounts"), f"{where}.volumeMounts"
    for mount, place in each(mounts, path):
        errors += _mount_errors(mount, place, volumes)
        name, point = text(mount, "name"), text(mount, "mountPath")
        if point in seen:
            errors.append(invalid(f"{place}.mountPath", point, "must be unique"))
        seen.add(point)
        if name in devices:
            why = "must not already exist in volumeDevices"
            errors.append(invalid(f"{place}.name", name, why))
        if point in devices.values():
            why = "must not already exist as a path in volumeDevices"
            errors.append(invalid(f"{place}.mountPath", point, why))
        errors += _refined_errors(mount, path, container)
    if devices:
        errors += _devices_errors(container, f"{where}.volumeDevices", volumes)
    return errors


def _mount_errors(mount: Object, where: str, volumes: dict[str, bool]) -> list[FieldError]:
    name, errors = text(mount, "name"), []
    if not name:
        errors.append(required(f"{where}.name"))
    if name not in volumes:
        errors.append(FieldError("FieldValueNotFound", f"{where}.name", name, ""))
    if not text(mount, "mountPath"):
        errors.append(required(f"{where}.mountPath"))
    return errors


def _refined_errors(mount: Object, where: str, container: Object) -> list[FieldError]:
    """Kubernetes names these without the number of the mount."""
    errors: list[FieldError] = []
    for key in ("subPath", "subPathExpr"):
        if text(mount, key):
            errors += descending_errors(text(mount, key), f"{where}.{key}")
    propagation, place = mount.get("mountPropagation"), f"{where}.mountPropagation"
    if propagation is None:
        return errors
    if propagation not in _PROPAGATIONS:
        errors.append(not_supported(place, propagation, _PROPAGATIONS))
    if propagation == "Bidirectional" and not (given(container, "securityContext") or {}).get(
        "privileged"
    ):
        why = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(forbidden(place, why))
    return errors


def _devices_errors(container: Object, path: str, volumes: dict[str, bool]) -> list[FieldError]:
    mounts = {text(m, "name"): text(m, "mountPath") for m in parts(container, "volumeMounts")}
    points = Counter(mounts.values())
    errors: list[FieldError] = []
    for device, where in each(parts(container, "volumeDevices"), path):
        name, point = text(device, "name"), text(device, "devicePath")
        if not name:
            errors.append(required(f"{where}.name"))
        if volumes.get(name) is False:
            why = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block"
                " mode"
            )
            errors.append(invalid(f"{where}.name", name, why))
        if name not in volumes:
            errors.append(FieldError("FieldValueNotFound", f"{where}.name", name, ""))
        if not point:
            errors.append(required(f"{where}.devicePath"))
        if name in mounts:
            why = "must not already exist in volumeMounts"
            errors.append(invalid(f"{where}.name", name, why))
        if points[point] > (mounts.get(name) == point):  # of another volume
            why = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{where}.devicePath", point, why))
    return errors
