"""IP addresses and networks as text: what is one, what is one in its proper form, and why not."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from atoll.apiserver.fields.error import Errors, faulty

Network = IPv4Network | IPv6Network
NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def address_of(written: str) -> IPv4Address | IPv6Address | None:
    """The address; leading zeros are overlooked, as old manifests have them."""
    try:
        found = ip_address(_without_zeros(written))
    except ValueError:
        return None
    return None if "%" in written else found


def _without_zeros(written: str) -> str:
    if ":" in written:
        return written
    return ".".join(part.lstrip("0") or part[-1:] for part in written.split("."))


def address_faults(written: str) -> list[str]:
    """Why this is no address in an acceptable form."""
    found = address_of(written)
    if found is None:
        return [NO_ADDRESS]
    if "." in written and ":" not in written and written != str(found):
        return ["must not have leading 0s"]
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    return []


def unreachable(address: IPv4Address | IPv6Address) -> list[str]:
    """Why nobody can be reached at this address."""
    if address.is_unspecified:
        return [f"may not be unspecified ({address})"]
    if address.is_loopback:
        return ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]
    if address.is_link_local:
        return ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]
    return []


def canonical_address_faults(written: str) -> list[str]:
    """Why this is no address in the one form that Kubernetes writes."""
    faults, found = address_faults(written), address_of(written)
    if faults or str(found) == written:
        return faults
    return [f'must be in canonical form ("{found}")']


def address_errors(written: str, where: str) -> Errors:
    return faulty(where, written, address_faults(written))


def network_of(written: str) -> Network | None:
    """The network that a CIDR names."""
    address, slash, bits = written.partition("/")
    found = address_of(address)
    if found is None or not slash or not (bits.isascii() and bits.isdigit()):
        return None
    try:
        return ip_network((found, int(bits)), strict=False)
    except ValueError:
        return None


def network_faults(written: str) -> list[str]:
    """Why this is no CIDR in an acceptable form."""
    network = network_of(written)
    if network is None:
        return [_NO_NETWORK]
    address, _, bits = written.partition("/")
    found = address_of(address)
    if address_faults(address)[:1] == ["must not have leading 0s"] or bits != str(int(bits)):
        return ["must not have leading 0s in IP or prefix length"]
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    if found != network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return []


def network_errors(written: str, where: str) -> Errors:
    return faulty(where, written, network_faults(written))


def canonical_network_errors(written: str, where: str) -> Errors:
    """A CIDR in the one form that Kubernetes writes."""
    faults, network = network_faults(written), network_of(written)
    if not faults and str(network) != written:
        faults = [f'must be in canonical form ("{network}")']
    return faulty(where, written, faults)
