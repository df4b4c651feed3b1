"""TLS inside another TLS connection, for an API server behind a proxy that is spoken to by TLS.

A connected socket comes in, whatever it is; what http.client needs of one goes out.
"""

import io
import socket
import ssl
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE = 64 * 1024


class Line(Protocol):
    """What http.client asks of a connection; every socket is one."""

    def sendall(self, data: bytes, /) -> None: ...

    def makefile(self, mode: Literal["rb"], /) -> io.BufferedReader: ...

    def settimeout(self, seconds: float | None, /) -> None: ...

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class Nested(Line):
    """A connection inside another."""

    def __init__(self, outer: socket.socket, tls: ssl.SSLContext, name: str) -> None:
        self._outer = outer
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._inner = tls.wrap_bio(self._coming, self._going, server_hostname=name)
        while True:
            try:
                self._inner.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._exchange()
        self._flush()

    def sendall(self, data: bytes, /) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._inner.write(rest) :]
            self._flush()

    def receive(self, count: int) -> bytes:
        """Some bytes, at most so many; none at the end."""
        while True:
            try:
                return self._inner.read(count)
            except ssl.SSLWantReadError:
                self._exchange()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def makefile(self, mode: Literal["rb"], /) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def settimeout(self, seconds: float | None, /) -> None:
        self._outer.settimeout(seconds)

    def fileno(self) -> int:
        return self._outer.fileno()

    def close(self) -> None:
        self._outer.close()

    def _exchange(self) -> None:
        """Send what is due, and wait for more from the other side."""
        self._flush()
        piece = self._outer.recv(_PIECE)
        if piece:
            self._coming.write(piece)
        else:
            self._coming.write_eof()

    def _flush(self) -> None:
        due = self._going.read()
        if due:
            self._outer.sendall(due)


class _Reader(io.RawIOBase):
    def __init__(self, nested: Nested) -> None:
        self._nested = nested

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        piece = self._nested.receive(len(view))
        view[: len(piece)] = piece
        return len(piece)
