"""EndpointSlice, the one kind of discovery.k8s.io/v1: who stands behind a Service."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from atoll.apiserver.fields.error import (
    Errors,
    FieldError,
    duplicate,
    faulty,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import Object, each, fill, items, parts, text
from atoll.apiserver.kinds.rules import fixed
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults

_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ENDPOINTS_MAX, _PORTS_MAX, _ADDRESSES_MAX = 1000, 20_000, 100


def _default_slice(piece: Object) -> None:
    for key in ("endpoints", "ports"):
        piece[key] = piece.get(key) or None  # a slice without any says so
    for port in parts(piece, "ports"):
        fill(port, protocol="TCP")
        if port.get("name") is None:
            port["name"] = ""


def _slice_errors(piece: Object) -> Errors:
    kind = text(piece, "addressType")
    if not kind:
        yield required("addressType")
    elif kind not in _TYPES:
        yield not_supported("addressType", kind, _TYPES)
    endpoints, ports = parts(piece, "endpoints"), parts(piece, "ports")
    yield from _too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)
    for endpoint, where in each(endpoints, "endpoints"):
        yield from _endpoint_errors(endpoint, where, kind)
    yield from _too_many("ports", len(ports), _PORTS_MAX)
    yield from _ports_errors(ports)


def _too_many(where: str, count: int, most: int) -> Errors:
    if count <= most:
        return []
    return [FieldError("FieldValueTooMany", where, count, f"must have at most {most} items")]


def _endpoint_errors(endpoint: Object, where: str, kind: str) -> Errors:
    addresses = items(endpoint, "addresses")
    if not addresses:
        yield required(f"{where}.addresses", "must contain at least 1 address")
        return
    yield from _too_many(f"{where}.addresses", len(addresses), _ADDRESSES_MAX)
    for index, address in enumerate(addresses):
        yield from _address_errors(str(address), f"{where}.addresses[{index}]", kind)


def _address_errors(address: str, where: str, kind: str) -> Errors:
    if kind not in ("IPv4", "IPv6"):
        return
    try:
        found = ip_address(address)
    except ValueError:
        why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield invalid(where, address, why)
        return
    if f"IPv{found.version}" != kind:
        whole = where.rpartition("[")[0]
        yield invalid(whole, address, f"must be an {kind} address")
    yield from faulty(where, address, _unfit(found))


def _unfit(address: IPv4Address | IPv6Address) -> list[str]:
    """Why nobody can be reached at this address."""
    if address.is_unspecified:
        return [f"may not be unspecified ({address})"]
    if address.is_loopback:
        return ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]
    if address.is_link_local:
        return ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]
    return []


def _ports_errors(ports: list[Object]) -> Errors:
    names: set[str] = set()
    for port, where in each(ports, "ports"):
        name = text(port, "name")
        if name in names:
            yield duplicate(f"{where}.name", name)
        elif name:
            yield from faulty(f"{where}.name", name, label_faults(name))
        names.add(name)
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{where}.protocol", port.get("protocol"), _PROTOCOLS)


ENDPOINT_SLICE = Strategy(
    tracks_generation=True,
    counts=("labels",),
    default=_default_slice,
    errors=_slice_errors,
    update_errors=fixed(["addressType"]),
)
