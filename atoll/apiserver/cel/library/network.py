"""Addresses: URLs, IP addresses and networks."""

import ipaddress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from urllib.parse import parse_qs, quote, unquote, urlsplit

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import Failed, can
from atoll.apiserver.cel.values import Frame, named

Ip = IPv4Address | IPv6Address
Network = IPv4Interface | IPv6Interface

_SAFE_IN_PATH = "/$&+,:;=@-._~!*'()%"


@named("kubernetes.URL")
@dataclass(frozen=True, slots=True)
class Url:
    """A URL, taken apart."""

    text: str
    scheme: str
    host: str
    path: str
    query: str


def _url(frame: Frame, text: str) -> Url:
    frame.pay(len(text) // 10)
    why = _url_fault(text)
    if why is not None:
        problem = f'parse "{text}": {why}'
        raise Failed(f"URL parse error during conversion from string: {problem}")
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    return Url(text, parts.scheme, host, parts.path, parts.query)


def _url_fault(text: str) -> str | None:
    if not text:
        return "empty url"
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        return "net/url: invalid control character in URL"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "invalid port after host"
    del port
    if not parts.scheme and not text.startswith("/"):
        return "invalid URI for request"
    if parts.scheme and not parts.netloc and not parts.path.startswith("/"):
        return "invalid URI for request"
    if " " in parts.netloc:
        return 'invalid character " " in host name'
    return None


def _is_url(frame: Frame, text: str) -> bool:
    frame.pay(len(text) // 10)
    return _url_fault(text) is None


def _hostname(_: Frame, url: Url) -> str:
    if url.host.startswith("["):
        return url.host[1:].partition("]")[0]
    return url.host.partition(":")[0]


def _port(_: Frame, url: Url) -> str:
    behind = url.host.rpartition("]")[2]
    return behind.rpartition(":")[2] if ":" in behind else ""


def _path(_: Frame, url: Url) -> str:
    return quote(unquote(url.path), safe=_SAFE_IN_PATH) if "%" not in url.path else url.path


def _read_ip(text: str) -> Ip:
    if "%" in text:
        raise Failed(f'IP address "{text}" with zone value is not allowed')
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        why = f'ParseAddr("{text}"): unable to parse IP'
        said = f'IP Address "{text}" parse error during conversion from string: {why}'
        raise Failed(said) from None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        raise Failed(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return found


def _read_cidr(text: str) -> Network:
    address, slash, length = text.partition("/")
    digits = length.isascii() and length.isdigit() and (length == "0" or length[0] != "0")
    try:
        if not slash or not digits or "%" in text:
            raise ValueError
        found = ipaddress.ip_interface(text)
    except ValueError:
        why = "no '/'" if not slash else "prefix length out of range"
        if slash and not can(_read_ip, address):
            why = f'ParseAddr("{address}"): unable to parse IP'
        # Said twice, as Kubernetes says it.
        said = "network address parse error during conversion from string: " * 2
        raise Failed(f'{said}netip.ParsePrefix("{text}"): {why}') from None
    if isinstance(found, IPv6Interface) and found.ip.ipv4_mapped is not None:
        raise Failed(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return found


def _holds_ip(_: Frame, network: Network, ip: Ip) -> bool:
    return ip.version == network.version and ip in network.network


def _holds_cidr(_: Frame, network: Network, other: Network) -> bool:
    if network.version != other.version:
        return False
    inside = other.network.network_address in network.network
    return inside and other.network.prefixlen >= network.network.prefixlen


def _is_global(_: Frame, ip: Ip) -> bool:
    special = ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local
    return not special and ip != IPv4Address("255.255.255.255")


def _link_local_multicast(_: Frame, ip: Ip) -> bool:
    if isinstance(ip, IPv4Address):
        return ip in ipaddress.ip_network("224.0.0.0/24")
    return ip.packed[0] == 0xFF and ip.packed[1] & 0x0F == 2


TABLE: Table = {
    "url(string) -> URL": _url,
    "isURL(string) -> bool": _is_url,
    "URL.getScheme() -> string": lambda _, url: url.scheme,
    "URL.getHost() -> string": lambda _, url: url.host,
    "URL.getHostname() -> string": _hostname,
    "URL.getPort() -> string": _port,
    "URL.getEscapedPath() -> string": _path,
    "URL.getQuery() -> map(string, list(string))": lambda _, url: parse_qs(
        url.query, keep_blank_values=True
    ),
    "isIP(string) -> bool": lambda _, text: can(_read_ip, text),
    "ip(string) -> IP": lambda _, text: _read_ip(text),
    "ip.isCanonical(string) -> bool": lambda _, text: str(_read_ip(text)) == text,
    "string(IP) -> string": lambda _, ip: str(ip),
    "IP.family() -> int": lambda _, ip: ip.version,
    "IP.isUnspecified() -> bool": lambda _, ip: ip.is_unspecified,
    "IP.isLoopback() -> bool": lambda _, ip: ip.is_loopback,
    "IP.isLinkLocalMulticast() -> bool": _link_local_multicast,
    "IP.isLinkLocalUnicast() -> bool": lambda _, ip: ip.is_link_local,
    "IP.isGlobalUnicast() -> bool": _is_global,
    "isCIDR(string) -> bool": lambda _, text: can(_read_cidr, text),
    "cidr(string) -> CIDR": lambda _, text: _read_cidr(text),
    "string(CIDR) -> string": lambda _, network: str(network),
    "CIDR.containsIP(IP) -> bool": _holds_ip,
    "CIDR.containsIP(string) -> bool": lambda frame, network, text: _holds_ip(
        frame, network, _read_ip(text)
    ),
    "CIDR.containsCIDR(CIDR) -> bool": _holds_cidr,
    "CIDR.containsCIDR(string) -> bool": lambda frame, network, text: _holds_cidr(
        frame, network, _read_cidr(text)
    ),
    "CIDR.ip() -> IP": lambda _, network: network.ip,
    "CIDR.masked() -> CIDR": lambda _, network: ipaddress.ip_interface(str(network.network)),
    "CIDR.prefixLength() -> int": lambda _, network: network.network.prefixlen,
}
