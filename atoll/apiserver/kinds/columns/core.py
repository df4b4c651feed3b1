"""The columns of core/v1, but for pods and events."""

from atoll.apiserver.kinds.columns.cells import AGE, CREATED_AT, NAME, NONE, wide
from atoll.apiserver.kinds.labels import printed_labels
from atoll.apiserver.kinds.reading import Object, items, number, part, parts, text
from atoll.apiserver.resource import Column

_ROLE = "node-role.kubernetes.io/"
_SHOWN_ENDPOINTS = 3


def _data_size(obj: Object) -> int:
    return len(part(obj, "data")) + len(part(obj, "binaryData"))


def _cluster_ip(service: Object) -> str:
    addresses = items(service, "spec", "clusterIPs")
    return str(addresses[0]) if addresses else text(service, "spec", "clusterIP") or NONE


def _external_ip(service: Object) -> str:
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


def _ports(service: Object) -> str:
    shown = []
    for port in parts(service, "spec", "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{number(port, 'port')}{node}/{text(port, 'protocol')}")
    return ",".join(shown) or NONE


def _endpoints(endpoints: Object) -> str:
    found = []
    for subset in parts(endpoints, "subsets"):
        addresses = [text(address, "ip") for address in parts(subset, "addresses")]
        ports = parts(subset, "ports")
        if ports:
            found += [f"{ip}:{number(port, 'port')}" for port in ports for ip in addresses]
        else:
            found += addresses
    shown = ",".join(found[:_SHOWN_ENDPOINTS])
    more = len(found) - _SHOWN_ENDPOINTS
    return f"{shown} + {more} more..." if more > 0 else shown or NONE


def _node_status(node: Object) -> str:
    ready = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in parts(node, "status", "conditions")
        if condition.get("type") == "Ready"
    ]
    shown = ready or ["Unknown"]
    if part(node, "spec").get("unschedulable"):
        shown = [*shown, "SchedulingDisabled"]
    return ",".join(shown)


def _roles(node: Object) -> str:
    labels = part(node, "metadata", "labels")
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles)) or NONE


def _address(kind: str) -> Column:
    def cell(node: Object) -> str:
        addresses = parts(node, "status", "addresses")
        found = (text(a, "address") for a in addresses if a.get("type") == kind)
        return next(found, NONE)

    return wide(kind.replace("IP", "-IP"), cell)


def _info(name: str, key: str) -> Column:
    return wide(name, lambda node: text(node, "status", "nodeInfo", key) or "<unknown>")


def _kernel(node: Object) -> str:
    info = part(node, "status", "nodeInfo")
    kernel, machine = text(info, "kernelVersion") or "<unknown>", text(info, "architecture")
    return f"{kernel} ({machine})" if machine else kernel


def _used(quota: Object, *, limits: bool) -> str:
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
