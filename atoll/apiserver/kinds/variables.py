"""Where a container's environment comes from: fields, amounts, keys of ConfigMaps and Secrets."""

import re

from atoll.apiserver.fields.error import Errors, faulty, invalid, named, not_supported, required
from atoll.apiserver.kinds.reading import Object, each, given, text
from atoll.apiserver.kinds.rules import config_key_faults
from atoll.dialects.kubernetes.names import subdomain_faults

_NAME = re.compile("[ -<>-~]+")
_NAMES = re.compile("[ -<>-~]+(?:=[ -<>-~]+)*")
_NAME_WHY = (
    "a valid environment variable name must consist only of printable ASCII characters"
    " other than '='"
)
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELDS = frozenset(
    [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.labels",
        "metadata.annotations",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "spec.hostIP",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ]
)
_SUBSCRIPTED = re.compile(r"metadata\.(annotations|labels)\['.*'\]")
_AMOUNTS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_PAGES = ("limits.hugepages-", "requests.hugepages-")


def are_plain(variables: list[Object]) -> bool:
    """Whether these are well named and have no source: nothing can be wrong with them."""
    try:
        names = "=".join([variable["name"] for variable in variables])
    except (KeyError, TypeError):
        return False
    # None of them has such a sign in its name if there are only those between the names.
    if not _NAMES.fullmatch(names) or names.count("=") >= len(variables):
        return False
    return not [variable for variable in variables if "valueFrom" in variable]


def variable_errors(variable: Object, where: str) -> Errors:
    name = text(variable, "name")
    if not name:
        yield required(f"{where}.name")
    elif not _NAME.fullmatch(name):
        yield invalid(f"{where}.name", name, _NAME_WHY)
    source = given(variable, "valueFrom")
    if source is not None:
        yield from _source_errors(source, f"{where}.valueFrom", text(variable, "value"))


def _source_errors(source: Object, where: str, value: str) -> Errors:
    present = [kind for kind in _SOURCES if given(source, kind) is not None]
    for kind in present:
        place = f"{where}.{kind}"
        if kind == "fieldRef":
            yield from field_errors(source[kind], place)
        elif kind == "resourceFieldRef":
            yield from amount_errors(source[kind], place)
        elif kind != "fileKeyRef":
            yield from _key_errors(source[kind], place)
    if not present:
        listed = ", ".join(f"`{kind}`" for kind in _SOURCES[:-1])
        yield invalid(where, "", f"must specify one of: {listed} or `{_SOURCES[-1]}`")
    elif value:
        yield invalid(where, "", "may not be specified when `value` is not empty")
    elif len(present) > 1:
        yield invalid(where, "", "may not have more than one field specified at a time")


def field_errors(reference: Object, where: str) -> Errors:
    """A field of the pod itself, by its path."""
    path = text(reference, "fieldPath")
    if not path:
        return [required(f"{where}.fieldPath")]
    if path in _FIELDS or _SUBSCRIPTED.fullmatch(path):
        return []
    why = f"error converting fieldPath: field label not supported: {path}"
    return [invalid(f"{where}.fieldPath", path, why)]


def amount_errors(reference: Object, where: str) -> Errors:
    """What a container requests or is limited to."""
    resource = text(reference, "resource")
    if not resource:
        return [required(f"{where}.resource")]
    if resource in _AMOUNTS or resource.startswith(_PAGES):
        return []
    return [not_supported(f"{where}.resource", resource, _AMOUNTS)]


def _key_errors(reference: Object, where: str) -> Errors:
    name, key = text(reference, "name"), text(reference, "key")
    yield from faulty(f"{where}.name", name, subdomain_faults(name))
    yield from named(f"{where}.key", key, config_key_faults)


def sources_errors(sources: list[Object], path: str) -> Errors:
    """ConfigMaps and Secrets of which every key is a variable."""
    for source, where in each(sources, path):
        prefix = text(source, "prefix")
        if prefix and not _NAME.fullmatch(prefix):
            yield invalid(f"{where}.prefix", prefix, _NAME_WHY)
        present = [k for k in ("configMapRef", "secretRef") if given(source, k) is not None]
        for kind in present:
            name, place = text(source, kind, "name"), f"{where}.{kind}.name"
            yield from named(place, name, subdomain_faults)
        if not present:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(present) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")
