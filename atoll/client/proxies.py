"""Proxies: which one leads to a server, by the rules of all Kubernetes tools; and SOCKS5.

A URL and the environment come in; the proxy's URL, taken apart, goes out. Of the talk
with a SOCKS5 proxy (RFC 1928, 1929) here is what to say and how much to hear. Nothing is connected.
"""

import base64
import ipaddress
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from atoll.errors import UsageError

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and as whom to speak to it."""

    scheme: str
    host: str
    port: int
    username: str | None = None
    password: str | None = None

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks5")

    @property
    def url(self) -> str:
        """Where it is, without the password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def headers(self) -> dict[str, str]:
        """What a proxy that speaks HTTP wants to know."""
        if self.username is None:
            return {}
        both = f"{self.username}:{self.password or ''}".encode()
        return {"Proxy-Authorization": f"Basic {base64.b64encode(both).decode()}"}


def read_proxy(url: str) -> Proxy:
    """A proxy's URL taken apart; UsageError if there is no such proxy."""
    try:
        # As in curl and kubectl, a mere address speaks HTTP.
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise UsageError(f'"{_harmless(url)}" is no URL of a proxy: {error}') from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError(
            f'"{_harmless(url)}" is no URL of a proxy; '
            "it must be like http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT"
        )
    return Proxy(
        parts.scheme,
        parts.hostname,
        port or _PORTS[parts.scheme],
        unquote(parts.username) if parts.username is not None else None,
        unquote(parts.password) if parts.password is not None else None,
    )


def _harmless(url: str) -> str:
    """A URL without what may be a password."""
    before, at, after = url.rpartition("@")
    return f"{before.partition('://')[0]}://...@{after}" if at else url


def usual_proxy(server: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that HTTPS_PROXY and NO_PROXY mean for a server, if any."""
    address = urlsplit(server)
    name = "HTTP_PROXY" if address.scheme == "http" else "HTTPS_PROXY"
    url = _either(environment, name)
    if not url or _goes_direct(address, _either(environment, "NO_PROXY")):
        return None
    return url


def _either(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.lower()) or ""


def _goes_direct(address: SplitResult, exceptions: str) -> bool:
    host = (address.hostname or "").rstrip(".")
    port = address.port or (80 if address.scheme == "http" else 443)
    number = _number(host)
    if host == "localhost" or (number is not None and number.is_loopback):
        return True
    return any(
        _is_excepted(exception.strip().lower(), host, port, number)
        for exception in exceptions.split(",")
        if exception.strip()
    )


_Number = ipaddress.IPv4Address | ipaddress.IPv6Address


def _number(text: str) -> _Number | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_excepted(exception: str, host: str, port: int, number: _Number | None) -> bool:
    if exception == "*":
        return True
    if "/" in exception:
        try:
            return number is not None and number in ipaddress.ip_network(exception, strict=False)
        except ValueError:
            return False
    name, _, only = exception.rpartition(":")
    if name and only.isdigit() and _number(exception) is None:
        if int(only) != port:
            return False
        exception = name.removeprefix("[").removesuffix("]")
    if number is not None:
        return _number(exception) == number
    bare = exception.removeprefix("*").removeprefix(".")
    # example.com means itself and all below it; .example.com only those below.
    is_itself = host == bare and not exception.startswith((".", "*."))
    return is_itself or host.endswith(f".{bare}")


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
