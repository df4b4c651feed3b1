"""Proxies: which one leads to a server, by the rules that all Kubernetes tools share.

A URL and the environment come in; the proxy's URL, taken apart, goes out. Nothing is connected.
"""

import base64
import ipaddress
from collections.abc import Mapping
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
