"""The columns of core/v1, but for pods and volumes, and of what controls access and admission.

Those of events are those of core/v1, whatever group an event is read from.
"""

from dataclasses import replace
from typing import Any

from atoll.apiserver.kinds.columns.cells import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    human,
    name_of,
    shortened,
    since,
    wide,
)
from atoll.apiserver.kinds.events import to_core
from atoll.apiserver.kinds.labels import printed, printed_labels
from atoll.apiserver.kinds.reading import at, given, items, number, part, parts, text
from atoll.apiserver.resource import Column
from atoll.wire import Wire

_ROLE = "node-role.kubernetes.io/"


def _data_size(obj: Wire) -> int:
    return len(part(obj, "data")) + len(part(obj, "binaryData"))


def _cluster_ip(service: Wire) -> str:
    addresses = items(service, "spec", "clusterIPs")
    return str(addresses[0]) if addresses else text(service, "spec", "clusterIP") or NONE


def _external_ip(service: Wire) -> str:
    spec = part(service, "spec")
    given = [str(address) for address in items(spec, "externalIPs")]
    match spec.get("type"):
        case "ExternalName":
            return text(spec, "externalName")
        case "LoadBalancer":
            ingress = parts(service, "status", "loadBalancer", "ingress")
            assigned = [text(i, "ip") or text(i, "hostname") for i in ingress]
            return ",".join([*assigned, *given]) or "<pending>"
    return ",".join(given) or NONE


def _ports(service: Wire) -> str:
    shown = []
    for port in parts(service, "spec", "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{number(port, 'port')}{node}/{text(port, 'protocol')}")
    return ",".join(shown) or NONE


def _endpoints(endpoints: Wire) -> str:
    found = []
    for subset in parts(endpoints, "subsets"):
        addresses = [text(address, "ip") for address in parts(subset, "addresses")]
        ports = parts(subset, "ports")
        if ports:
            found += [f"{ip}:{number(port, 'port')}" for port in ports for ip in addresses]
        else:
            found += addresses
    return shortened(found, NONE)


def _node_status(node: Wire) -> str:
    ready = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in parts(node, "status", "conditions")
        if condition.get("type") == "Ready"
    ]
    shown = ready or ["Unknown"]
    if part(node, "spec").get("unschedulable"):
        shown = [*shown, "SchedulingDisabled"]
    return ",".join(shown)


def _roles(node: Wire) -> str:
    labels = part(node, "metadata", "labels")
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles)) or NONE


def _address(kind: str) -> Column:
    def cell(node: Wire) -> str:
        addresses = parts(node, "status", "addresses")
        found = (text(a, "address") for a in addresses if a.get("type") == kind)
        return next(found, NONE)

    return wide(kind.replace("IP", "-IP"), cell)


def _info(name: str, key: str) -> Column:
    return wide(name, lambda node: text(node, "status", "nodeInfo", key) or "<unknown>")


def _kernel(node: Wire) -> str:
    info = part(node, "status", "nodeInfo")
    kernel, machine = text(info, "kernelVersion") or "<unknown>", text(info, "architecture")
    return f"{kernel} ({machine})" if machine else kernel


def _used(quota: Wire, *, limits: bool) -> str:
    hard, used = part(quota, "status", "hard"), part(quota, "status", "used")
    names = (name for name in sorted(hard) if name.startswith("limits.") is limits)
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


NAMESPACE = (NAME, Column("Status", lambda obj: text(obj, "status", "phase")), AGE)
CONFIG_MAP = (NAME, Column("Data", _data_size), AGE)
SECRET = (
    NAME,
    Column("Type", lambda obj: text(obj, "type")),
    Column("Data", lambda obj: len(part(obj, "data"))),
    AGE,
)
SERVICE = (
    NAME,
    Column("Type", lambda obj: text(obj, "spec", "type")),
    Column("Cluster-IP", _cluster_ip),
    Column("External-IP", _external_ip),
    Column("Port(s)", _ports),
    AGE,
    wide("Selector", lambda obj: printed_labels(part(obj, "spec", "selector"))),
)
ENDPOINTS = (NAME, Column("Endpoints", _endpoints), AGE)
LIMIT_RANGE = (NAME, CREATED_AT)
RESOURCE_QUOTA = (
    NAME,
    Column("Request", lambda obj: _used(obj, limits=False)),
    Column("Limit", lambda obj: _used(obj, limits=True)),
    AGE,
)
NODE = (
    NAME,
    Column("Status", _node_status),
    Column("Roles", _roles),
    AGE,
    Column("Version", lambda obj: text(obj, "status", "nodeInfo", "kubeletVersion")),
    _address("InternalIP"),
    _address("ExternalIP"),
    _info("OS-Image", "osImage"),
    wide("Kernel-Version", _kernel),
    _info("Container-Runtime", "containerRuntimeVersion"),
)
PLAIN = (NAME, AGE)


def _last_seen(event: Wire) -> Any:
    last = at(event, "series", "lastObservedTime") or at(event, "lastTimestamp")
    return since(last) if last else _first_seen(event)


def _first_seen(event: Wire) -> Any:
    return since(at(event, "firstTimestamp") or at(event, "eventTime"))


def _count(event: Wire) -> int:
    if event.get("series"):
        return number(event, "series", "count")
    return number(event, "count") or (0 if at(event, "firstTimestamp") else 1)


def _about(event: Wire) -> str:
    target = part(event, "involvedObject")
    kind, name = text(target, "kind").lower(), text(target, "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Wire) -> str:
    source = part(event, "source")
    component = text(source, "component") or text(event, "reportingComponent")
    host = text(source, "host") or text(event, "reportingInstance")
    return f"{component}, {host}" if host else component


EVENT = (
    Column("Last Seen", _last_seen),
    Column("Type", lambda obj: text(obj, "type")),
    Column("Reason", lambda obj: text(obj, "reason")),
    Column("Object", _about),
    wide("Subobject", lambda obj: text(obj, "involvedObject", "fieldPath")),
    wide("Source", _source),
    Column("Message", lambda obj: text(obj, "message").strip()),
    wide("First Seen", _first_seen),
    wide("Count", _count),
    Column("Name", name_of, format="name", priority=1),
)


def _converted(column: Column) -> Column:
    return replace(column, cell=lambda event: column.cell(to_core(event)))


NEW_EVENT = tuple(map(_converted, EVENT))


def _role(binding: Wire) -> str:
    role = part(binding, "roleRef")
    return f"{text(role, 'kind')}/{text(role, 'name')}"


def _subjects(name: str, kind: str) -> Column:
    def shown(subject: Wire) -> str:
        who = text(subject, "name")
        return f"{text(subject, 'namespace')}/{who}" if kind == "ServiceAccount" else who

    def cell(binding: Wire) -> Any:
        found = (s for s in parts(binding, "subjects") if s.get("kind") == kind)
        return ", ".join(map(shown, found))

    return wide(name, cell)


def _condition(csr: Wire) -> str:
    kinds = [text(one, "type") for one in parts(csr, "status", "conditions")]
    decided = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    failed = ["Failed"] if "Failed" in kinds else []
    issued = ["Issued"] if text(csr, "status", "certificate") else []
    return ",".join([decided, *failed, *issued])


def _requested_duration(csr: Wire) -> str:
    seconds = part(csr, "spec").get("expirationSeconds")
    return human(seconds) if isinstance(seconds, int) else NONE


ROLE = (NAME, CREATED_AT)
BINDING = (
    NAME,
    Column("Role", _role),
    AGE,
    _subjects("Users", "User"),
    _subjects("Groups", "Group"),
    _subjects("ServiceAccounts", "ServiceAccount"),
)
LEASE = (NAME, Column("Holder", lambda obj: text(obj, "spec", "holderIdentity")), AGE)
CERTIFICATE_SIGNING_REQUEST = (
    NAME,
    AGE,
    Column("SignerName", lambda obj: text(obj, "spec", "signerName") or NONE),
    Column("Requestor", lambda obj: text(obj, "spec", "username")),
    Column("RequestedDuration", _requested_duration),
    Column("Condition", _condition),
)


_UNSET = "<unset>"


def _counted(name: str, *path: str) -> Column:
    return Column(name, lambda obj: len(parts(obj, *path)), type="integer")


def _param_kind(policy: Wire) -> str:
    kind = given(policy, "spec", "paramKind")
    return _UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"


def _param(binding: Wire) -> str:
    reference = given(binding, "spec", "paramRef") or {}
    if name := text(reference, "name"):
        return f"{text(reference, 'namespace') or '*'}/{name}"
    selector = given(reference, "selector")
    return _UNSET if selector is None else printed(selector)


_PARAM_KIND = Column("ParamKind", _param_kind)

WEBHOOKS = (NAME, _counted("Webhooks", "webhooks"), AGE)
VALIDATING_POLICY = (NAME, _counted("Validations", "spec", "validations"), _PARAM_KIND, AGE)
MUTATING_POLICY = (NAME, _counted("Mutations", "spec", "mutations"), _PARAM_KIND, AGE)
POLICY_BINDING = (
    NAME,
    Column("PolicyName", lambda obj: text(obj, "spec", "policyName")),
    Column("ParamRef", _param),
    AGE,
)


def _dangling(schema: Wire) -> str:
    conditions = parts(schema, "status", "conditions")
    return next((text(c, "status") for c in conditions if c.get("type") == "Dangling"), "?")


def _limit(name: str, *path: str) -> Column:
    """A number that only levels with limits have."""

    def cell(level: Wire) -> Any:
        found = at(level, "spec", "limited", *path)
        return NONE if found is None else found

    return Column(name, cell)


_QUEUING = ("limitResponse", "queuing")

FLOW_SCHEMA = (
    NAME,
    Column("PriorityLevel", lambda obj: text(obj, "spec", "priorityLevelConfiguration", "name")),
    Column("MatchingPrecedence", lambda obj: number(obj, "spec", "matchingPrecedence")),
    Column(
        "DistinguisherMethod",
        lambda obj: text(obj, "spec", "distinguisherMethod", "type") or NONE,
    ),
    AGE,
    Column("MissingPL", _dangling),
)
PRIORITY_LEVEL_CONFIGURATION = (
    NAME,
    Column("Type", lambda obj: text(obj, "spec", "type")),
    _limit("NominalConcurrencyShares", "nominalConcurrencyShares"),
    _limit("Queues", *_QUEUING, "queues"),
    _limit("HandSize", *_QUEUING, "handSize"),
    _limit("QueueLengthLimit", *_QUEUING, "queueLengthLimit"),
    AGE,
)


def _healthy(component: Wire) -> Wire:
    conditions = parts(component, "conditions")
    return next((one for one in conditions if one.get("type") == "Healthy"), {})


def _health(component: Wire) -> str:
    condition = _healthy(component)
    if not condition:
        return "Unknown"
    return "Healthy" if condition.get("status") == "True" else "Unhealthy"


COMPONENT_STATUS = (
    NAME,
    Column("Status", _health),
    Column("Message", lambda obj: text(_healthy(obj), "message")),
    Column("Error", lambda obj: text(_healthy(obj), "error")),
)
