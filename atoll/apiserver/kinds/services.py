"""Service and Endpoints: how they are written.

What a user asks for stays. Addresses that are left open are given out by admission, where all
Services are known (`admitting.addresses`).
"""

from typing import Any

from atoll.apiserver.fields.error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.addresses import address_errors, address_of, network_errors
from atoll.apiserver.kinds.labels import label_errors
from atoll.apiserver.kinds.reading import (
    Object,
    each,
    fill,
    grown,
    items,
    number,
    part,
    parts,
    text,
)
from atoll.apiserver.kinds.rules import port_errors, port_name_errors
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, qualified_faults, subdomain_faults

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_STICKY_S, _STICKY_MAX_S = 10800, 86400
_POLICIES = ("Cluster", "Local")
_ADDRESSES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def _default_service(service: Object) -> None:
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


def _settle_addresses(service: Object) -> None:
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


def _keep_addresses(service: Object, old: Object) -> None:
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


def _with_node_port(port: Object, known: dict[Any, Object]) -> Object:
    number = known.get((port.get("protocol"), port.get("port")), {}).get("nodePort")
    return port if port.get("nodePort") or not number else {**port, "nodePort": number}


def _drop_strangers(spec: Object, before: Object) -> None:
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


def _has_node_ports(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _service_errors(service: Object) -> list[FieldError]:
    spec = part(service, "spec")
    kind, ports = text(spec, "type"), parts(spec, "ports")
    errors = _type_errors(spec, kind)
    names: set[str] = set()
    for port, where in each(ports, "spec.ports"):
        errors += _port_errors(port, where, names, alone=len(ports) == 1)
    errors += label_errors(part(spec, "selector"), "spec.selector")
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        affinity = spec.get("sessionAffinity")
        errors.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
    elif spec["sessionAffinity"] == "ClientIP":
        errors += _stickiness_errors(spec)
    for index, address in enumerate(items(spec, "externalIPs")):
        errors += _external_errors(str(address), f"spec.externalIPs[{index}]")
    if kind not in _TYPES:
        errors.append(not_supported("spec.type", kind, _TYPES))
    if kind == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        for port, where in each(ports, "spec.ports"):
            errors += [forbidden(f"{where}.nodePort", why)] if port.get("nodePort") else []
    errors += _ports_twice(ports)
    errors += _source_range_errors(spec, kind)
    policy = spec.get("internalTrafficPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.internalTrafficPolicy", policy, _POLICIES))
    return errors + _outside_policy_errors(spec, kind)


def _type_errors(spec: Object, kind: str) -> list[FieldError]:
    headless = spec.get("clusterIP") == "None"
    errors = []
    if not parts(spec, "ports") and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind in ("NodePort", "LoadBalancer") and headless:
        why = f"may not be set to 'None' for {kind} services"
        errors.append(invalid("spec.clusterIPs[0]", "None", why))
    if kind == "ExternalName":
        if items(spec, "clusterIPs") or spec.get("clusterIP"):
            errors.append(forbidden("spec.clusterIPs", "may not be set for ExternalName services"))
        name = text(spec, "externalName").removesuffix(".")
        if name:
            faults = subdomain_faults(name)
            errors += [invalid("spec.externalName", name, reason) for reason in faults]
        else:
            errors.append(required("spec.externalName"))
    return errors


def _stickiness_errors(spec: Object) -> list[FieldError]:
    seconds = number(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if 0 < seconds <= _STICKY_MAX_S:
        return []
    where = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
    return [invalid(where, seconds, f"must be greater than 0 and less than {_STICKY_MAX_S}")]


def _external_errors(address: str, where: str) -> list[FieldError]:
    errors, found = address_errors(address, where), address_of(address)
    if errors or found is None:
        return errors
    if found.is_unspecified:
        why = f"may not be unspecified ({address})"
    elif found.is_loopback:
        why = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    elif found.is_link_local:
        why = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    else:
        return []
    return [invalid(where, address, why)]


def _ports_twice(ports: list[Object]) -> list[FieldError]:
    """Ports of one protocol must differ in their number."""
    errors, seen = [], set()
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
            errors.append(duplicate(where, shown))
        seen.add(key)
    return errors


def _source_range_errors(spec: Object, kind: str) -> list[FieldError]:
    ranges, where = items(spec, "loadBalancerSourceRanges"), "spec.LoadBalancerSourceRanges"
    if not ranges:
        return []
    errors = []
    if kind != "LoadBalancer":
        errors.append(forbidden(where, "may only be used when `type` is 'LoadBalancer'"))
    for index, cidr in enumerate(ranges):
        errors += network_errors(str(cidr).strip(), f"{where}[{index}]")
    return errors


def _outside_policy_errors(spec: Object, kind: str) -> list[FieldError]:
    policy, where = text(spec, "externalTrafficPolicy"), "spec.externalTrafficPolicy"
    reachable = kind in ("NodePort", "LoadBalancer") or bool(items(spec, "externalIPs"))
    if not policy:
        return []
    if not reachable:
        return [invalid(where, policy, "may only be set for externally-accessible services")]
    return [] if policy in _POLICIES else [not_supported(where, policy, _POLICIES)]


def _port_errors(port: Object, where: str, names: set[str], *, alone: bool) -> list[FieldError]:
    name = text(port, "name")
    errors = []
    if not name:
        errors += [] if alone else [required(f"{where}.name")]
    elif reasons := label_faults(name):
        errors += [invalid(f"{where}.name", name, reason) for reason in reasons]
    elif name in names:
        errors.append(duplicate(f"{where}.name", name))
    names.add(name)
    errors += port_errors(port.get("port", 0), f"{where}.port")
    if port.get("protocol") not in _PROTOCOLS:
        errors.append(not_supported(f"{where}.protocol", port.get("protocol"), _PROTOCOLS))
    target, speaks = port.get("targetPort"), port.get("appProtocol")
    if isinstance(target, str):
        errors += port_name_errors(target, f"{where}.targetPort")
    else:
        errors += port_errors(target, f"{where}.targetPort")
    faults = qualified_faults(speaks) if isinstance(speaks, str) else []
    return errors + [invalid(f"{where}.appProtocol", speaks, reason) for reason in faults]


def _service_update_errors(new: Object, old: Object) -> list[FieldError]:
    after, before = part(new, "spec"), part(old, "spec")
    if "ExternalName" in (after.get("type"), before.get("type")):
        return []
    address = before.get("clusterIP")
    if address and after.get("clusterIP") != address:
        why = "may not change once set"
        return [invalid("spec.clusterIPs[0]", items(after, "clusterIPs"), why)]
    return []


def _default_endpoints(endpoints: Object) -> None:
    for subset in parts(endpoints, "subsets"):
        for port in parts(subset, "ports"):
            fill(port, protocol="TCP")


def _endpoints_errors(endpoints: Object) -> list[FieldError]:
    errors = []
    for subset, where in each(parts(endpoints, "subsets"), "subsets"):
        if not items(subset, "addresses") and not items(subset, "notReadyAddresses"):
            why = "must specify `addresses` or `notReadyAddresses`"
            errors.append(required(where, why))
        for kind in ("addresses", "notReadyAddresses"):
            for address, place in each(parts(subset, kind), f"{where}.{kind}"):
                errors += _address_errors(text(address, "ip"), f"{place}.ip")
        ports = parts(subset, "ports")
        for port, place in each(ports, f"{where}.ports"):
            if not text(port, "name") and len(ports) > 1:
                errors.append(required(f"{place}.name"))
            errors += port_errors(port.get("port", 0), f"{place}.port")
    return errors


def _address_errors(address: str, where: str) -> list[FieldError]:
    errors = address_errors(address, where)
    if address_of(address) is None:
        errors.append(invalid(where, address, "must be a valid IP address"))
    return errors


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
