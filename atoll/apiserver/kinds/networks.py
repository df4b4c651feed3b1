"""NetworkPolicy, IPAddress and ServiceCIDR of networking.k8s.io/v1: how they are written."""

from typing import Any

from atoll.apiserver.fields.error import Errors, forbidden, invalid, optional, required
from atoll.apiserver.kinds.addresses import (
    canonical_address_faults,
    canonical_network_errors,
    network_errors,
    network_of,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import each, fill, given, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import (
    IMMUTABLE,
    all_of,
    fixed,
    if_given,
    in_each,
    named_errors,
    one_of,
    port_errors,
    port_name_errors,
)
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import path_segment_faults, subdomain_faults
from atoll.wire import Wire

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_POLICY_TYPES = ("Ingress", "Egress")
_WAYS = (("ingress", "from"), ("egress", "to"))


def _default_policy(policy: Wire) -> None:
    spec = grown(policy, "spec")
    for way, _ in _WAYS:
        for rule in parts(spec, way):
            for port in parts(rule, "ports"):
                fill(port, protocol="TCP")
    if not items(spec, "policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if items(spec, "egress") else [])]


def _policy_errors(policy: Wire) -> Errors:
    spec = part(policy, "spec")
    yield from selector_errors(part(spec, "podSelector"), "spec.podSelector")
    for way, peers in _WAYS:
        for rule, where in each(parts(spec, way), f"spec.{way}"):
            yield from in_each(rule, where, "ports", _port_errors)
            yield from in_each(rule, where, peers, _peer_errors)
    types = items(spec, "policyTypes")
    if len(types) > len(_POLICY_TYPES):
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    yield from all_of(spec, "spec", "policyTypes", _POLICY_TYPES)


def _port_errors(port: Wire, where: str) -> Errors:
    number, last, place = port.get("port"), port.get("endPort"), f"{where}.endPort"
    yield from one_of(port, where, "protocol", _PROTOCOLS)
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


def _peer_errors(peer: Wire, where: str) -> Errors:
    selectors = ("podSelector", "namespaceSelector")
    for key in selectors:
        yield from if_given(peer, where, key, selector_errors)
    yield from if_given(peer, where, "ipBlock", _block_errors)
    selects, blocks = any(given(peer, key) is not None for key in selectors), given(peer, "ipBlock")
    if blocks is not None and selects:
        yield forbidden(where, "may not specify both ipBlock and another peer")
    if blocks is None and not selects:
        yield required(where, "must specify a peer")


def _block_errors(block: Wire, where: str) -> Errors:
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


def _address_errors(address: Wire) -> Errors:
    where, parent = "spec.parentRef", given(address, "spec", "parentRef")
    if parent is None:
        yield required(where)
        return
    yield from optional(f"{where}.group", text(parent, "group"), subdomain_faults)
    yield from named_errors(parent, where, "resource", "name")
    yield from optional(f"{where}.namespace", text(parent, "namespace"), path_segment_faults)


def _range_errors(service_range: Wire) -> Errors:
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


def _range_update_errors(new: Wire, old: Wire) -> Errors:
    """A range may get a second family; what is there stays."""
    after, before = items(new, "spec", "cidrs"), items(old, "spec", "cidrs")
    if len(after) != len(before) and (len(before), len(after)) != (1, 2):
        return [invalid("spec.cidrs", after, IMMUTABLE)]
    return [
        invalid(f"spec.cidrs[{index}]", after[index], IMMUTABLE)
        for index, cidr in enumerate(before)
        if after[index] != cidr
    ]


NETWORK_POLICY = Strategy(tracks_generation=True, default=_default_policy, errors=_policy_errors)
IP_ADDRESS = Strategy(
    name_errors=canonical_address_faults,
    errors=_address_errors,
    update_errors=fixed(["spec", "parentRef"]),
)
SERVICE_CIDR = Strategy(has_status=True, errors=_range_errors, update_errors=_range_update_errors)
