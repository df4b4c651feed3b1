"""The talk with a SOCKS5 proxy (RFC 1928, 1929), without the wire: what to say, how much to hear.

Names are left to the proxy to look up: it may know hosts that are not known here.
"""

import ipaddress
from collections.abc import Generator

from atoll.client.proxies import Proxy

Step = tuple[bytes, int]
"""Bytes to send, and how many to read then."""

_NO_NEED, _BY_PASSWORD = 0, 2
_BY_IPV4, _BY_NAME, _BY_IPV6 = 1, 3, 4
_REFUSALS = {
    1: "it failed",
    2: "that is not allowed",
    3: "the network cannot be reached",
    4: "the host cannot be reached",
    5: "the connection was refused",
    6: "that took too long",
}


def socks_steps(proxy: Proxy, target: tuple[str, int]) -> Generator[Step, bytes, None]:
    """Ask a proxy for a connection; OSError if it does not make one."""
    ways = bytes([_NO_NEED]) if proxy.username is None else bytes([_NO_NEED, _BY_PASSWORD])
    version, way = yield bytes([5, len(ways)]) + ways, 2
    if version != 5:
        raise OSError("it does not speak SOCKS5")
    if way == _BY_PASSWORD and proxy.username is not None:
        user, password = proxy.username.encode(), (proxy.password or "").encode()
        said = bytes([1, len(user)]) + user + bytes([len(password)]) + password
        _, refused = yield said, 2
        if refused:
            raise OSError("it does not accept the user name and password")
    elif way != _NO_NEED:
        raise OSError("it wants a user name and password; give them in the URL of the proxy")
    asked = b"\5\1\0" + _address(target[0]) + target[1].to_bytes(2, "big")
    _, refusal, _, kind = yield asked, 4
    if refusal:
        raise OSError(_REFUSALS.get(refusal, f"it gave the reason {refusal}"))
    length = {_BY_IPV4: 4, _BY_IPV6: 16}.get(kind)
    if length is None:
        (length,) = yield b"", 1
    yield b"", length + 2


def _address(host: str) -> bytes:
    try:
        number = ipaddress.ip_address(host)
        return bytes([_BY_IPV4 if number.version == 4 else _BY_IPV6]) + number.packed
    except ValueError:
        pass
    try:
        name = host.encode("idna")
    except UnicodeError as error:
        raise OSError(f'"{host}" is no name of a host') from error
    return bytes([_BY_NAME, len(name)]) + name
