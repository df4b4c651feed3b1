"""A connected socket to an API server, straight or through a proxy, for clients that wait.

An Endpoint and a TLS context come in; what http.client can write to and read from goes out. What
goes wrong is an OSError that says where.
"""

import socket
import ssl
from urllib.parse import urlsplit

from atoll.client.endpoint import Endpoint
from atoll.client.nested import Line, Nested
from atoll.client.proxies import Proxy, read_proxy, socks_steps

_HEAD_MAX = 64 * 1024


def dial(endpoint: Endpoint, tls: ssl.SSLContext | None, timeout_s: float) -> Line:
    """A connection to the server of an endpoint, by TLS where there is a context for it."""
    address = urlsplit(endpoint.server)
    host = address.hostname or ""
    port = address.port or (80 if address.scheme == "http" else 443)
    if endpoint.proxy is None:
        plain = socket.create_connection((host, port), timeout_s)
    else:
        plain = _through(read_proxy(endpoint.proxy), endpoint, tls, (host, port), timeout_s)
    if tls is None:
        return plain
    name = endpoint.server_name or host
    try:
        if isinstance(plain, ssl.SSLSocket):
            # Python's own sockets cannot have TLS inside TLS.
            return Nested(plain, tls, name)
        return tls.wrap_socket(plain, server_hostname=name)
    except OSError:
        plain.close()
        raise


def _through(
    proxy: Proxy,
    endpoint: Endpoint,
    tls: ssl.SSLContext | None,
    target: tuple[str, int],
    timeout_s: float,
) -> socket.socket:
    try:
        line = socket.create_connection((proxy.host, proxy.port), timeout_s)
    except OSError as error:
        raise OSError(f"proxy {proxy.url}: {error.strerror or error}") from error
    try:
        if proxy.scheme == "https":
            line = (tls or ssl.create_default_context()).wrap_socket(
                line, server_hostname=proxy.host
            )
        if proxy.is_socks:
            _ask_socks(line, proxy, target)
        else:
            _ask_http(line, {**proxy.headers(), **endpoint.proxy_headers}, target)
    except OSError as error:
        line.close()
        raise OSError(f"proxy {proxy.url}: {error}") from error
    return line


def _ask_http(line: socket.socket, headers: dict[str, str], target: tuple[str, int]) -> None:
    host, port = target
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    words = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
    words += [f"{name}: {value}" for name, value in headers.items()]
    line.sendall("\r\n".join([*words, "", ""]).encode())
    head = b""
    # Byte by byte: what comes after the empty line is not ours to read.
    while not head.endswith(b"\r\n\r\n"):
        piece = line.recv(1)
        if not piece or len(head) > _HEAD_MAX:
            raise OSError("it gave no answer that can be understood")
        head += piece
    status = head.split(b"\r\n")[0].decode(errors="replace").partition(" ")[2]
    if not status.startswith("2"):
        raise OSError(f"it answered {status}")


def _ask_socks(line: socket.socket, proxy: Proxy, target: tuple[str, int]) -> None:
    steps = socks_steps(proxy, target)
    send, count = next(steps)
    while True:
        if send:
            line.sendall(send)
        got = _exactly(line, count)
        try:
            send, count = steps.send(got)
        except StopIteration:
            return


def _exactly(line: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        piece = line.recv(count - len(got))
        if not piece:
            raise OSError("it hung up")
        got += piece
    return got
