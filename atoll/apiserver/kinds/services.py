"""Service and Endpoints: how they are written.

On this plane services are templates for other clusters, so no addresses and no node ports are
given out: what the user asks for stays, and what is left open stays open.
"""

from ipaddress import ip_address
from typing import Any

from atoll.apiserver.fields.error import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import Object, each, fill, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import port_errors, port_name_errors
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_STICKY_S = 10800


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
    """An update that does not mention the cluster IP and its family keeps them."""
    spec, before = dict(part(service, "spec")), part(old, "spec")
    if spec.get("type") == "ExternalName" or before.get("type") == "ExternalName":
        return
    for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if not spec.get(key) and before.get(key):
            spec[key] = before[key]
    service["spec"] = spec
    _settle_addresses(service)


def _service_errors(service: Object) -> list[FieldError]:
    spec = part(service, "spec")
    kind, ports = spec.get("type"), parts(spec, "ports")
    errors = []
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    names: set[str] = set()
    for port, where in each(ports, "spec.ports"):
        errors += _port_errors(port, where, names, alone=len(ports) == 1)
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        affinity = spec.get("sessionAffinity")
        errors.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
    if kind not in _TYPES:
        errors.append(not_supported("spec.type", kind, _TYPES))
    if kind == "ExternalName" and not text(spec, "externalName"):
        errors.append(required("spec.externalName"))
    return errors


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
    target = port.get("targetPort")
    if isinstance(target, str):
        return errors + port_name_errors(target, f"{where}.targetPort")
    return errors + port_errors(target, f"{where}.targetPort")


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
    try:
        ip_address(address)
    except ValueError:
        reasons = (
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "must be a valid IP address",
        )
        return [invalid(where, address, reason) for reason in reasons]
    return []


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
