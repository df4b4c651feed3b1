"""Proxies of every kind, in threads, that write down where they were asked to connect to."""

import ipaddress
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, speak: type[socketserver.BaseRequestHandler], tls: ssl.SSLContext | None):
        super().__init__(("127.0.0.1", 0), speak)
        self.tls = tls
        self.asked: list[str] = []
        self.heads: list[str] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(socketserver.BaseRequestHandler):
    server: _Proxy

    def handle(self) -> None:
        line = self.request
        try:
            if self.server.tls is not None:
                line = self.server.tls.wrap_socket(line, server_side=True)
            host, port = self.agree(line)
            self.server.asked.append(f"{host}:{port}")
            with socket.create_connection((host, port), 30) as target:
                back = threading.Thread(target=_pump, args=(target, line), daemon=True)
                back.start()
                _pump(line, target)
                back.join(30)
        except (OSError, ValueError):
            return
        finally:
            line.close()

    def agree(self, line: socket.socket) -> tuple[str, int]:
        raise NotImplementedError


class _Http(_Handler):
    def agree(self, line: socket.socket) -> tuple[str, int]:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += line.recv(1)
        self.server.heads.append(head.decode())
        if "refuse-me" in head.decode():
            line.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            raise ValueError
        line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        return host, int(port)


class _Socks(_Handler):
    def agree(self, line: socket.socket) -> tuple[str, int]:
        _, count = line.recv(2)
        ways = line.recv(count)
        line.sendall(b"\x05\x02" if 2 in ways else b"\x05\x00")
        if 2 in ways:
            user = line.recv(line.recv(2)[1])
            password = line.recv(line.recv(1)[0])
            is_good = (user, password) == (b"me", b"secret")
            line.sendall(b"\x01\x00" if is_good else b"\x01\x01")
        kind = line.recv(4)[3]
        if kind == 3:
            host = line.recv(line.recv(1)[0]).decode()
        else:
            host = str(ipaddress.ip_address(line.recv(4 if kind == 1 else 16)))
        port = int.from_bytes(line.recv(2), "big")
        line.sendall(b"\x05\x00\x00\x01" + bytes(6))
        return host, port


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def proxy(scheme: str, tls: ssl.SSLContext | None = None) -> Iterator[_Proxy]:
    """A proxy that speaks this; give a context if it is to be spoken to by TLS."""
    server = _Proxy(_Socks if scheme == "socks5" else _Http, tls)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(30)
        server.server_close()
