"""EndpointSlice, the one kind of discovery.k8s.io/v1: who stands behind a Service."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from atoll.apiserver.fields.error import FieldError, duplicate, invalid, not_supported, required
from atoll.apiserver.kinds.reading import Object, each, fill, items, parts, text
from atoll.apiserver.kinds.rules import unchanged
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


def _slice_errors(piece: Object) -> list[FieldError]:
    kind = text(piece, "addressType")
    errors = []
    if not kind:
        errors.append(required("addressType"))
    elif kind not in _TYPES:
        errors.append(not_supported("addressType", kind, _TYPES))
    endpoints, ports = parts(piece, "endpoints"), parts(piece, "ports")
    errors += _too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)
    for endpoint, where in each(endpoints, "endpoints"):
        errors += _endpoint_errors(endpoint, where, kind)
    errors += _too_many("ports", len(ports), _PORTS_MAX)
    return errors + _ports_errors(ports)


def _too_many(where: str, count: int, most: int) -> list[FieldError]:
    if count <= most:
        return []
    return [FieldError("FieldValueTooMany", where, count, f"must have at most {most} items")]


def _endpoint_errors(endpoint: Object, where: str, kind: str) -> list[FieldError]:
    addresses = items(endpoint, "addresses")
    if not addresses:
        return [required(f"{where}.addresses", "must contain at least 1 address")]
    errors = _too_many(f"{where}.addresses", len(addresses), _ADDRESSES_MAX)
    for index, address in enumerate(addresses):
        errors += _address_errors(str(address), f"{where}.addresses[{index}]", kind)
    return errors


def _address_errors(address: str, where: str, kind: str) -> list[FieldError]:
    if kind not in ("IPv4", "IPv6"):
        return []
    try:
        found = ip_address(address)
    except ValueError:
        why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        return [invalid(where, address, why)]
    errors = []
    if f"IPv{found.version}" != kind:
        whole = where.rpartition("[")[0]
        errors.append(invalid(whole, address, f"must be an {kind} address"))
    return errors + [invalid(where, address, why) for why in _unfit(found)]


def _unfit(address: IPv4Address | IPv6Address) -> list[str]:
    """Why nobody can be reached at this address."""
    if address.is_unspecified:
        return [f"may not be unspecified ({address})"]
    if address.is_loopback:
        return ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]
    if address.is_link_local:
        return ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]
    return []


def _ports_errors(ports: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for port, where in each(ports, "ports"):
        name = text(port, "name")
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        elif name:
            errors += [invalid(f"{where}.name", name, why) for why in label_faults(name)]
        names.add(name)
        if port.get("protocol") not in _PROTOCOLS:
            errors.append(not_supported(f"{where}.protocol", port.get("protocol"), _PROTOCOLS))
    return errors


def _slice_update_errors(new: Object, old: Object) -> list[FieldError]:
    return unchanged(new, old, "addressType")


ENDPOINT_SLICE = Strategy(
    tracks_generation=True,
    counts=("labels",),
    default=_default_slice,
    errors=_slice_errors,
    update_errors=_slice_update_errors,
)
