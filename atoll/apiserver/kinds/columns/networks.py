"""The columns of networking.k8s.io/v1 and of endpoint slices."""

from atoll.apiserver.kinds.columns.cells import AGE, NAME, NONE, class_name, shortened
from atoll.apiserver.kinds.labels import printed
from atoll.apiserver.kinds.reading import given, items, part, parts, text
from atoll.apiserver.resource import Column
from atoll.wire import Wire

_HOSTS_SHOWN = 3


def _hosts(ingress: Wire) -> str:
    rules = parts(ingress, "spec", "rules")
    shown: list[str] = []
    for rule in rules:
        if len(shown) == _HOSTS_SHOWN:
            return f"{','.join(shown)} + {len(rules) - _HOSTS_SHOWN} more..."
        if host := text(rule, "host"):
            shown.append(host)
    return ",".join(shown) or "*"


def _address(ingress: Wire) -> str:
    found = {
        text(entry, "ip") or text(entry, "hostname")
        for entry in parts(ingress, "status", "loadBalancer", "ingress")
    }
    return ",".join(sorted(found - {""}))


def _parameters(ingress_class: Wire) -> str:
    parameters = given(ingress_class, "spec", "parameters")
    if parameters is None:
        return NONE
    group = parameters.get("apiGroup")
    kind = text(parameters, "kind") + (f".{group}" if group is not None else "")
    return f"{kind}/{text(parameters, 'name')}"


def _parent(address: Wire) -> str:
    parent = given(address, "spec", "parentRef")
    if parent is None:
        return NONE
    group, namespace = text(parent, "group"), text(parent, "namespace")
    resource = text(parent, "resource") + (f".{group}" if group else "")
    middle = f"{namespace}/" if namespace else ""
    return f"{resource.lower()}/{middle}{text(parent, 'name')}"


INGRESS = (
    NAME,
    Column("Class", lambda obj: part(obj, "spec").get("ingressClassName", NONE)),
    Column("Hosts", _hosts),
    Column("Address", _address),
    Column("Ports", lambda obj: "80, 443" if items(obj, "spec", "tls") else "80"),
    AGE,
)
INGRESS_CLASS = (
    class_name("ingressclass.kubernetes.io/is-default-class"),
    Column("Controller", lambda obj: text(obj, "spec", "controller")),
    Column("Parameters", _parameters),
    AGE,
)
NETWORK_POLICY = (
    NAME,
    Column("Pod-Selector", lambda obj: printed(part(obj, "spec", "podSelector"))),
    AGE,
)
IP_ADDRESS = (NAME, Column("ParentRef", _parent))
SERVICE_CIDR = (
    NAME,
    Column("CIDRs", lambda obj: ",".join(map(str, items(obj, "spec", "cidrs")))),
    AGE,
)


_UNSET = "<unset>"


def _ports(piece: Wire) -> str:
    ports = [port.get("port") for port in parts(piece, "ports")]
    return shortened(["*" if port is None else str(port) for port in ports], _UNSET)


def _endpoints(piece: Wire) -> str:
    endpoints = parts(piece, "endpoints")
    found = [str(one) for each in endpoints for one in items(each, "addresses")]
    return shortened(found, _UNSET)


ENDPOINT_SLICE = (
    NAME,
    Column("AddressType", lambda obj: text(obj, "addressType")),
    Column("Ports", _ports),
    Column("Endpoints", _endpoints),
    AGE,
)
