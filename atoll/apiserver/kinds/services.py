"""Service, Endpoints and EndpointSlice: how they are written.

What a user asks for stays. Addresses that are left open are given out by admission, where all
Services are known (`admitting.addresses`).
"""

from ipaddress import ip_address
from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    duplicate,
    faulty,
    forbidden,
    invalid,
    named,
    required,
    too_many,
)
from atoll.apiserver.kinds.addresses import (
    NO_ADDRESS,
    address_errors,
    address_faults,
    address_of,
    network_errors,
    unreachable,
)
from atoll.apiserver.kinds.labels import label_errors
from atoll.apiserver.kinds.reading import each, fill, grown, items, number, part, parts, text
from atoll.apiserver.kinds.rules import chosen, fixed, one_of, port_errors, port_name_errors
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, qualified_faults, subdomain_faults
from atoll.wire import Wire

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_STICKY_S, _STICKY_MAX_S = 10800, 86400
_POLICIES = ("Cluster", "Local")
_ADDRESSES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def _default_service(service: Wire) -> None:
    spec = grown(service, "spec")
    fill(spec, type="ClusterIP", sessionAffinity="None")
    if spec["sessionAffinity"] == "ClientIP":
        fill(grown(spec, "sessionAffinityConfig", "clientIP"), timeoutSeconds=_STICKY_S)
    for port in parts(spec, "ports"):
        fill(port, protocol="TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in ("NodePort", "LoadBalancer"):
        fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)
    if spec["type"] != "ExternalName":
        fill(spec, internalTrafficPolicy="Cluster")
    if not spec.get("healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)
    grown(service, "status", "loadBalancer")


def _settle_addresses(service: Wire) -> None:
    """The families and the list of addresses follow from what is asked for; IPv4 unless it says."""
    spec = part(service, "spec")
    if spec.get("type") == "ExternalName":
        return
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif items(spec, "clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    both = spec.get("clusterIP") == "None" and not part(spec, "selector")
    families = [_family(address) for address in items(spec, "clusterIPs")] or ["IPv4"]
    if both:
        families = ["IPv4", "IPv6"]
    if not spec.get("ipFamilies"):
        spec["ipFamilies"] = families
    fill(spec, ipFamilyPolicy="RequireDualStack" if both else "SingleStack")


def _family(address: Any) -> str:
    return "IPv6" if ":" in str(address) else "IPv4"


def _keep_addresses(service: Wire, old: Wire) -> None:
    """An update that does not mention its addresses and node ports keeps them.

    What a Service of its new type cannot have goes, if the update has it only from before.
    """
    spec, before = dict(part(service, "spec")), part(old, "spec")
    service["spec"] = spec
    _drop_strangers(spec, before)
    if spec.get("type") == "ExternalName" or before.get("type") == "ExternalName":
        return
    for key in _ADDRESSES:
        if not spec.get(key) and before.get(key):
            spec[key] = before[key]
    if _has_node_ports(spec) and _has_node_ports(before):
        known = {(p.get("protocol"), p.get("port")): p for p in parts(before, "ports")}
        spec["ports"] = [_with_node_port(port, known) for port in parts(spec, "ports")]
    _settle_addresses(service)


def _with_node_port(port: Wire, known: dict[Any, Wire]) -> Wire:
    number = known.get((port.get("protocol"), port.get("port")), {}).get("nodePort")
    return port if port.get("nodePort") or not number else {**port, "nodePort": number}


def _drop_strangers(spec: Wire, before: Wire) -> None:
    """Take out what only another type of Service has, in place."""
    kind = spec.get("type")
    gone: list[str] = []
    if kind == "ExternalName":
        gone += _ADDRESSES
    if kind != "LoadBalancer":
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]
    if kind not in ("NodePort", "LoadBalancer") and not items(spec, "externalIPs"):
        gone.append("externalTrafficPolicy")
    for key in gone:
        if key in spec and spec[key] == before.get(key):
            del spec[key]
    if _has_node_ports(before) and not _has_node_ports(spec):
        had = {port.get("nodePort") for port in parts(before, "ports")}
        if all(port.get("nodePort") in (None, 0, *had) for port in parts(spec, "ports")):
            spec["ports"] = [
                {key: value for key, value in port.items() if key != "nodePort"}
                for port in parts(spec, "ports")
            ]


def _has_node_ports(spec: Wire) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _service_errors(service: Wire) -> Errors:
    spec = part(service, "spec")
    kind, ports = text(spec, "type"), parts(spec, "ports")
    yield from _type_errors(spec, kind)
    names: set[str] = set()
    for port, where in each(ports, "spec.ports"):
        yield from _port_errors(port, where, names, alone=len(ports) == 1)
    yield from label_errors(part(spec, "selector"), "spec.selector")
    yield from chosen(spec, "spec", "sessionAffinity", ("ClientIP", "None"))
    if spec.get("sessionAffinity") == "ClientIP":
        yield from _stickiness_errors(spec)
    for index, address in enumerate(items(spec, "externalIPs")):
        yield from _external_errors(str(address), f"spec.externalIPs[{index}]")
    yield from chosen(spec, "spec", "type", _TYPES)
    if kind == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        for port, where in each(ports, "spec.ports"):
            if port.get("nodePort"):
                yield forbidden(f"{where}.nodePort", why)
    yield from _ports_twice(ports)
    yield from _source_range_errors(spec, kind)
    yield from one_of(spec, "spec", "internalTrafficPolicy", _POLICIES)
    yield from _outside_policy_errors(spec, kind)


def _type_errors(spec: Wire, kind: str) -> Errors:
    headless = spec.get("clusterIP") == "None"
    if not parts(spec, "ports") and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("NodePort", "LoadBalancer") and headless:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        if items(spec, "clusterIPs") or spec.get("clusterIP"):
            yield forbidden("spec.clusterIPs", "may not be set for ExternalName services")
        name = text(spec, "externalName").removesuffix(".")
        yield from named("spec.externalName", name, subdomain_faults)


def _stickiness_errors(spec: Wire) -> Errors:
    seconds = number(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if 0 < seconds <= _STICKY_MAX_S:
        return []
    where = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
    return [invalid(where, seconds, f"must be greater than 0 and less than {_STICKY_MAX_S}")]


def _external_errors(address: str, where: str) -> Errors:
    faults, found = address_faults(address), address_of(address)
    return faulty(where, address, faults or ([] if found is None else unreachable(found)))


def _ports_twice(ports: list[Wire]) -> Errors:
    """Ports of one protocol must differ in their number."""
    seen = set()
    for port, where in each(ports, "spec.ports"):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate(where, shown)
        seen.add(key)


def _source_range_errors(spec: Wire, kind: str) -> Errors:
    ranges, where = items(spec, "loadBalancerSourceRanges"), "spec.LoadBalancerSourceRanges"
    if not ranges:
        return
    if kind != "LoadBalancer":
        yield forbidden(where, "may only be used when `type` is 'LoadBalancer'")
    for index, cidr in enumerate(ranges):
        yield from network_errors(str(cidr).strip(), f"{where}[{index}]")


def _outside_policy_errors(spec: Wire, kind: str) -> Errors:
    policy = text(spec, "externalTrafficPolicy")
    if not policy:
        return []
    if kind not in ("NodePort", "LoadBalancer") and not items(spec, "externalIPs"):
        why = "may only be set for externally-accessible services"
        return [invalid("spec.externalTrafficPolicy", policy, why)]
    return chosen(spec, "spec", "externalTrafficPolicy", _POLICIES)


def _port_errors(port: Wire, where: str, names: set[str], *, alone: bool) -> Errors:
    name = text(port, "name")
    if not name:
        if not alone:
            yield required(f"{where}.name")
    elif reasons := label_faults(name):
        yield from faulty(f"{where}.name", name, reasons)
    elif name in names:
        yield duplicate(f"{where}.name", name)
    names.add(name)
    yield from port_errors(port.get("port", 0), f"{where}.port")
    yield from chosen(port, where, "protocol", _PROTOCOLS)
    target: Any = port.get("targetPort")
    speaks = port.get("appProtocol")
    check = port_name_errors if isinstance(target, str) else port_errors
    yield from check(target, f"{where}.targetPort")
    faults = qualified_faults(speaks) if isinstance(speaks, str) else ()
    yield from faulty(f"{where}.appProtocol", speaks, faults)


def _service_update_errors(new: Wire, old: Wire) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    if "ExternalName" in (after.get("type"), before.get("type")):
        return []
    address = before.get("clusterIP")
    if address and after.get("clusterIP") != address:
        why = "may not change once set"
        return [invalid("spec.clusterIPs[0]", items(after, "clusterIPs"), why)]
    return []


def _default_endpoints(endpoints: Wire) -> None:
    for subset in parts(endpoints, "subsets"):
        for port in parts(subset, "ports"):
            fill(port, protocol="TCP")


def _endpoints_errors(endpoints: Wire) -> Errors:
    for subset, where in each(parts(endpoints, "subsets"), "subsets"):
        if not items(subset, "addresses") and not items(subset, "notReadyAddresses"):
            yield required(where, "must specify `addresses` or `notReadyAddresses`")
        for kind in ("addresses", "notReadyAddresses"):
            for address, place in each(parts(subset, kind), f"{where}.{kind}"):
                yield from _address_errors(text(address, "ip"), f"{place}.ip")
        ports = parts(subset, "ports")
        for port, place in each(ports, f"{where}.ports"):
            if not text(port, "name") and len(ports) > 1:
                yield required(f"{place}.name")
            yield from port_errors(port.get("port", 0), f"{place}.port")


def _address_errors(address: str, where: str) -> Errors:
    yield from address_errors(address, where)
    if address_of(address) is None:
        yield invalid(where, address, "must be a valid IP address")


SERVICE = Strategy(
    has_status=True,
    creates_on_update=True,
    returns_deleted=True,
    name_errors=label_faults,
    selectable={"spec.clusterIP": ("spec", "clusterIP"), "spec.type": ("spec", "type")},
    default=_default_service,
    errors=_service_errors,
    update_errors=_service_update_errors,
    prepare_create=_settle_addresses,
    prepare_update=_keep_addresses,
)
ENDPOINTS = Strategy(creates_on_update=True, default=_default_endpoints, errors=_endpoints_errors)


_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_ENDPOINTS_MAX, _PORTS_MAX, _ADDRESSES_MAX = 1000, 20_000, 100


def _default_slice(piece: Wire) -> None:
    for key in ("endpoints", "ports"):
        piece[key] = piece.get(key) or None  # a slice without any says so
    for port in parts(piece, "ports"):
        fill(port, protocol="TCP")
        if port.get("name") is None:
            port["name"] = ""


def _slice_errors(piece: Wire) -> Errors:
    kind = text(piece, "addressType")
    yield from (
        chosen(piece, "", "addressType", _ADDRESS_TYPES) if kind else [required("addressType")]
    )
    endpoints, ports = parts(piece, "endpoints"), parts(piece, "ports")
    yield from _too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)
    for endpoint, where in each(endpoints, "endpoints"):
        yield from _endpoint_errors(endpoint, where, kind)
    yield from _too_many("ports", len(ports), _PORTS_MAX)
    yield from _slice_ports_errors(ports)


def _too_many(where: str, count: int, most: int) -> Errors:
    return [too_many(where, count, most)] if count > most else []


def _endpoint_errors(endpoint: Wire, where: str, kind: str) -> Errors:
    addresses = items(endpoint, "addresses")
    if not addresses:
        yield required(f"{where}.addresses", "must contain at least 1 address")
        return
    yield from _too_many(f"{where}.addresses", len(addresses), _ADDRESSES_MAX)
    for index, address in enumerate(addresses):
        yield from _slice_address_errors(str(address), f"{where}.addresses[{index}]", kind)


def _slice_address_errors(address: str, where: str, kind: str) -> Errors:
    if kind not in ("IPv4", "IPv6"):
        return
    try:
        found = ip_address(address)
    except ValueError:
        yield invalid(where, address, NO_ADDRESS)
        return
    if f"IPv{found.version}" != kind:
        whole = where.rpartition("[")[0]
        yield invalid(whole, address, f"must be an {kind} address")
    yield from faulty(where, address, unreachable(found))


def _slice_ports_errors(ports: list[Wire]) -> Errors:
    names: set[str] = set()
    for port, where in each(ports, "ports"):
        name = text(port, "name")
        if name in names:
            yield duplicate(f"{where}.name", name)
        elif name:
            yield from faulty(f"{where}.name", name, label_faults(name))
        names.add(name)
        yield from chosen(port, where, "protocol", _PROTOCOLS)


ENDPOINT_SLICE = Strategy(
    tracks_generation=True,
    counts=("labels",),
    default=_default_slice,
    errors=_slice_errors,
    update_errors=fixed(["addressType"]),
)
