"""APIService, the one kind of apiregistration.k8s.io/v1: who serves a version of a group.

One without a service is served here; the others by whoever is behind the service. Whether they
answer, and how they are asked, is the business of `aggregation`.
"""

import binascii
from base64 import b64decode

from atoll.apiserver.fields.error import Errors, faulty, invalid, optional, required
from atoll.apiserver.kinds.columns.cells import AGE, NAME
from atoll.apiserver.kinds.reading import at, each, fill, given, grown, number, parts, text
from atoll.apiserver.kinds.rules import chosen, needed, port_errors
from atoll.apiserver.objects.conditions import condition
from atoll.apiserver.resource import Column, Strategy
from atoll.dialects.kubernetes.names import path_segment_faults, rfc1035_faults, subdomain_faults
from atoll.wire import Wire

GROUP = "apiregistration.k8s.io"

_STATUSES = ("True", "False", "Unknown")


def _default_service(service: Wire) -> None:
    reference = given(service, "spec", "service")
    if reference is not None:
        fill(reference, port=443)


def _service_errors(service: Wire) -> Errors:
    spec = given(service, "spec") or {}
    name, group = text(service, "metadata", "name"), text(spec, "group")
    version = text(spec, "version")
    if name != f"{version}.{group}" and not path_segment_faults(name):
        why = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
        yield invalid("metadata.name", name, why)
    if not group and version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    yield from optional("spec.group", group, subdomain_faults)
    yield from faulty("spec.version", version, rfc1035_faults(version))
    yield from _priority_errors(spec)
    yield from _backend_errors(spec)


def _priority_errors(spec: Wire) -> Errors:
    limits = {"groupPriorityMinimum": 20_000, "versionPriority": 1000}
    return [
        invalid(f"spec.{key}", number(spec, key), f"must be positive and less than {most}")
        for key, most in limits.items()
        if not 0 < number(spec, key) <= most
    ]


def _backend_errors(spec: Wire) -> Errors:
    service, bundle = given(spec, "service"), text(spec, "caBundle")
    careless = spec.get("insecureSkipTLSVerify") is True
    if service is None:
        if bundle:
            why = "local APIServices may not have a caBundle"
            yield invalid("spec.caBundle", f"{_length(bundle)} bytes", why)
        if careless:
            why = "local APIServices may not have insecureSkipTLSVerify"
            yield invalid("spec.insecureSkipTLSVerify", careless, why)
        return
    yield from needed(service, "spec.service", "namespace", "name")
    for error in port_errors(service.get("port"), "spec.service.port"):
        yield invalid(error.field, error.value, f"port is not valid: {error.detail}")
    if careless and bundle:
        why = "may not be true if caBundle is present"
        yield invalid("spec.insecureSkipTLSVerify", careless, why)


def _length(encoded: str) -> int:
    try:
        return len(b64decode(encoded))
    except binascii.Error:
        return len(encoded)


def _status_errors(service: Wire) -> Errors:
    for one, where in each(parts(service, "status", "conditions"), "status.conditions"):
        yield from chosen({"status": text(one, "status")}, where, "status", _STATUSES)


def _begin(service: Wire) -> None:
    """What is served here is available from the start."""
    status = grown(service, "status")
    if given(service, "spec", "service") is None:
        told = "Local APIServices are always available"
        local = condition("Available", "Local", told, holds=True)
        since = at(service, "metadata", "creationTimestamp")
        status["conditions"] = [{**local, "lastTransitionTime": since}]


def _place(service: Wire) -> str:
    reference = given(service, "spec", "service")
    if reference is None:
        return "Local"
    return f"{text(reference, 'namespace')}/{text(reference, 'name')}"


def _available(service: Wire) -> str:
    """Whether it is, and if not, why."""
    conditions = parts(service, "status", "conditions")
    found = next((one for one in conditions if one.get("type") == "Available"), None)
    if found is None:
        return "Unknown"
    status, reason = text(found, "status"), text(found, "reason")
    return f"{status} ({reason})" if reason and status != "True" else status


API_SERVICE = Strategy(
    has_status=True,
    unconditional_update=False,
    name_errors=path_segment_faults,
    default=_default_service,
    errors=_service_errors,
    status_errors=_status_errors,
    prepare_create=_begin,
)
COLUMNS = (NAME, Column("Service", _place), Column("Available", _available), AGE)
