"""Where a container's environment comes from: fields, amounts, keys of ConfigMaps and Secrets."""

import re

from atoll.apiserver.fields.error import (
    Errors,
    faulty,
    invalid,
    named,
    not_supported,
    optional,
    required,
)
from atoll.apiserver.kinds.reading import each, given, text
from atoll.apiserver.kinds.rules import Check, config_key_faults
from atoll.dialects.kubernetes.names import subdomain_faults
from atoll.wire import Wire

_NAME = re.compile("[ -<>-~]+")
_NAMES = re.compile("[ -<>-~]+(?:=[ -<>-~]+)*")
_NAME_WHY = (
    "a valid environment variable name must consist only of printable ASCII characters"
    " other than '='"
)
_FIELDS = frozenset(
    [
        *("metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels"),
        *("metadata.annotations", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName"),
        *("spec.schedulerName", "spec.hostIP", "status.phase", "status.hostIP", "status.hostIPs"),
        *("status.podIP", "status.podIPs"),
    ]
)
_SUBSCRIPTED = re.compile(r"metadata\.(annotations|labels)\['.*'\]")
_AMOUNTS = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu"),
    *("requests.ephemeral-storage", "requests.memory"),
)
_PAGES = ("limits.hugepages-", "requests.hugepages-")


def are_plain(variables: list[Wire]) -> bool:
    """Whether these are well named and have no source: nothing can be wrong with them."""
    try:
        names = "=".join([variable["name"] for variable in variables])
    except (KeyError, TypeError):
        return False
    # None of them has such a sign in its name if there are only those between the names.
    if not _NAMES.fullmatch(names) or names.count("=") >= len(variables):
        return False
    return not [variable for variable in variables if "valueFrom" in variable]


def variable_errors(variable: Wire, where: str) -> Errors:
    yield from named(f"{where}.name", text(variable, "name"), _name_faults)
    source = given(variable, "valueFrom")
    if source is not None:
        yield from _source_errors(source, f"{where}.valueFrom", text(variable, "value"))


def _name_faults(name: str) -> list[str]:
    return [] if _NAME.fullmatch(name) else [_NAME_WHY]


def _source_errors(source: Wire, where: str, value: str) -> Errors:
    present = [kind for kind in _SOURCES if given(source, kind) is not None]
    for kind in present:
        yield from _SOURCES[kind](source[kind], f"{where}.{kind}")
    if not present:
        *listed, last = (f"`{kind}`" for kind in _SOURCES)
        yield invalid(where, "", f"must specify one of: {', '.join(listed)} or {last}")
    elif value:
        yield invalid(where, "", "may not be specified when `value` is not empty")
    elif len(present) > 1:
        yield invalid(where, "", "may not have more than one field specified at a time")


def field_errors(reference: Wire, where: str) -> Errors:
    """A field of the pod itself, by its path."""
    path = text(reference, "fieldPath")
    if not path:
        return [required(f"{where}.fieldPath")]
    if path in _FIELDS or _SUBSCRIPTED.fullmatch(path):
        return []
    why = f"error converting fieldPath: field label not supported: {path}"
    return [invalid(f"{where}.fieldPath", path, why)]


def amount_errors(reference: Wire, where: str) -> Errors:
    """What a container requests or is limited to."""
    resource = text(reference, "resource")
    if not resource:
        return [required(f"{where}.resource")]
    if resource in _AMOUNTS or resource.startswith(_PAGES):
        return []
    return [not_supported(f"{where}.resource", resource, _AMOUNTS)]


def _key_errors(reference: Wire, where: str) -> Errors:
    name, key = text(reference, "name"), text(reference, "key")
    yield from faulty(f"{where}.name", name, subdomain_faults(name))
    yield from named(f"{where}.key", key, config_key_faults)


_SOURCES: dict[str, Check] = {
    "fieldRef": field_errors,
    "resourceFieldRef": amount_errors,
    "configMapKeyRef": _key_errors,
    "secretKeyRef": _key_errors,
    "fileKeyRef": lambda _, _where: [],
}


def sources_errors(sources: list[Wire], path: str) -> Errors:
    """ConfigMaps and Secrets of which every key is a variable."""
    for source, where in each(sources, path):
        yield from optional(f"{where}.prefix", text(source, "prefix"), _name_faults)
        present = [k for k in ("configMapRef", "secretRef") if given(source, k) is not None]
        for kind in present:
            yield from named(f"{where}.{kind}.name", text(source, kind, "name"), subdomain_faults)
        if not present:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(present) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")
