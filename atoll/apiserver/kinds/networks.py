"""NetworkPolicy, IPAddress and ServiceCIDR of networking.k8s.io/v1: how they are written."""

from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    faulty,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.addresses import (
    canonical_address_faults,
    canonical_network_errors,
    network_errors,
    network_of,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import Object, each, fill, given, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import (
    IMMUTABLE,
    fixed,
    named_errors,
    port_errors,
    port_name_errors,
)
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import path_segment_faults, subdomain_faults

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_POLICY_TYPES = ("Ingress", "Egress")
_WAYS = (("ingress", "from"), ("egress", "to"))


def _default_policy(policy: Object) -> None:
    spec = grown(policy, "spec")
    for way, _ in _WAYS:
        for rule in parts(spec, way):
            for port in parts(rule, "ports"):
                fill(port, protocol="TCP")
    if not items(spec, "policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if items(spec, "egress") else [])]


def _policy_errors(policy: Object) -> Errors:
    spec = part(policy, "spec")
    yield from selector_errors(part(spec, "podSelector"), "spec.podSelector")
    for way, peers in _WAYS:
        for rule, where in each(parts(spec, way), f"spec.{way}"):
            for port, place in each(parts(rule, "ports"), f"{where}.ports"):
                yield from _port_errors(port, place)
            for peer, place in each(parts(rule, peers), f"{where}.{peers}"):
                yield from _peer_errors(peer, place)
    types = items(spec, "policyTypes")
    if len(types) > len(_POLICY_TYPES):
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    yield from (
        not_supported(f"spec.policyTypes[{index}]", kind, _POLICY_TYPES)
        for index, kind in enumerate(types)
        if kind not in _POLICY_TYPES
    )


def _port_errors(port: Object, where: str) -> Errors:
    protocol, number, last = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        yield not_supported(f"{where}.protocol", protocol, _PROTOCOLS)
    place = f"{where}.endPort"
    if number is None:
        if last is not None:
            yield invalid(place, last, "may not be specified when `port` is not specified")
    elif isinstance(number, int):
        yield from port_errors(number, f"{where}.port")
        if last is not None and last < number:
            yield invalid(place, number, "must be greater than or equal to `port`")
        yield from port_errors(last, place)
    else:
        if last is not None:
            yield invalid(place, last, "may not be specified when `port` is non-numeric")
        yield from port_name_errors(str(number), f"{where}.port")


def _peer_errors(peer: Object, where: str) -> Errors:
    given_kinds = 0
    for key in ("podSelector", "namespaceSelector"):
        selector = given(peer, key)
        if selector is not None:
            given_kinds += 1
            yield from selector_errors(selector, f"{where}.{key}")
    block = given(peer, "ipBlock")
    if block is not None:
        yield from _block_errors(block, f"{where}.ipBlock")
        if given_kinds:
            yield forbidden(where, "may not specify both ipBlock and another peer")
    elif not given_kinds:
        yield required(where, "must specify a peer")


def _block_errors(block: Object, where: str) -> Errors:
    written = text(block, "cidr")
    if not written:
        yield required(f"{where}.cidr")
        return
    yield from network_errors(written, f"{where}.cidr")
    network = network_of(written)
    if network is None:
        return
    for index, hole in enumerate(items(block, "except")):
        place = f"{where}.except[{index}]"
        yield from network_errors(str(hole), place)
        inner = network_of(str(hole))
        if inner is not None and not _strictly_within(inner, network):
            yield invalid(place, hole, "must be a strict subset of `cidr`")


def _strictly_within(inner: Any, outer: Any) -> bool:
    same_kind: bool = inner.version == outer.version
    return same_kind and inner.prefixlen > outer.prefixlen and inner.subnet_of(outer)


def _address_errors(address: Object) -> Errors:
    where, parent = "spec.parentRef", given(address, "spec", "parentRef")
    if parent is None:
        yield required(where)
        return
    group, namespace = text(parent, "group"), text(parent, "namespace")
    faults = subdomain_faults(group) if group else []
    yield from faulty(f"{where}.group", group, faults)
    yield from named_errors(parent, where, "resource", "name")
    faults = path_segment_faults(namespace) if namespace else []
    yield from faulty(f"{where}.namespace", namespace, faults)


def _range_errors(service_range: Object) -> Errors:
    cidrs, where = [str(cidr) for cidr in items(service_range, "spec", "cidrs")], "spec.cidrs"
    if not cidrs:
        yield required(where, "at least one CIDR required")
        return
    if len(cidrs) > 2:
        yield invalid(where, {"CIDRs": cidrs}, "may only hold up to 2 values")
        return
    for index, cidr in enumerate(cidrs):
        yield from canonical_network_errors(cidr, f"{where}[{index}]")
    versions = [network.version for cidr in cidrs if (network := network_of(cidr)) is not None]
    if len(versions) == 2 and versions[0] == versions[1]:
        why = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and"
            " 2001:db8::/64"
        )
        yield invalid(where, cidrs, why)


def _range_update_errors(new: Object, old: Object) -> Errors:
    """A range may get a second family; what is there stays."""
    after, before = items(new, "spec", "cidrs"), items(old, "spec", "cidrs")
    if len(after) != len(before) and (len(before), len(after)) != (1, 2):
        return [invalid("spec.cidrs", after, IMMUTABLE)]
    return [
        invalid(f"spec.cidrs[{index}]", after[index], IMMUTABLE)
        for index, cidr in enumerate(before)
        if after[index] != cidr
    ]


NETWORK_POLICY = Strategy(
    tracks_generation=True,
    default=_default_policy,
    errors=_policy_errors,
)
IP_ADDRESS = Strategy(
    name_errors=canonical_address_faults,
    errors=_address_errors,
    update_errors=fixed(["spec", "parentRef"]),
)
SERVICE_CIDR = Strategy(
    has_status=True,
    errors=_range_errors,
    update_errors=_range_update_errors,
)
