"""EndpointSlice, the one kind of discovery.k8s.io/v1: who stands behind a Service."""

from ipaddress import ip_address

from atoll.apiserver.fields.error import Errors, duplicate, faulty, invalid, required, too_many
from atoll.apiserver.kinds.addresses import NO_ADDRESS, unreachable
from atoll.apiserver.kinds.reading import Object, each, fill, items, parts, text
from atoll.apiserver.kinds.rules import chosen, fixed
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
    yield from chosen(piece, "", "addressType", _TYPES) if kind else [required("addressType")]
    endpoints, ports = parts(piece, "endpoints"), parts(piece, "ports")
    yield from _too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)
    for endpoint, where in each(endpoints, "endpoints"):
        yield from _endpoint_errors(endpoint, where, kind)
    yield from _too_many("ports", len(ports), _PORTS_MAX)
    yield from _ports_errors(ports)


def _too_many(where: str, count: int, most: int) -> Errors:
    return [too_many(where, count, most)] if count > most else []


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
        yield invalid(where, address, NO_ADDRESS)
        return
    if f"IPv{found.version}" != kind:
        whole = where.rpartition("[")[0]
        yield invalid(whole, address, f"must be an {kind} address")
    yield from faulty(where, address, unreachable(found))


def _ports_errors(ports: list[Object]) -> Errors:
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
