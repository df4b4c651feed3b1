"""Watches as a test reads them: one event at a time, each within a time limit.

HTTP is read by hand here, because http.client cannot go on after a read that timed out, and a test
must be able to say that nothing comes.
"""

import json
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

Event = dict[str, Any]
EVENT_TIMEOUT_S = 120.0


class Watch(ABC):
    """A stream of events. `status` and `headers` are there from the start."""

    status: int
    headers: dict[str, str]

    def __init__(self) -> None:
        self._buffer = b""
        self._ended = False

    @abstractmethod
    def _receive(self, timeout: float) -> bytes:
        """The next bytes, none at the end; TimeoutError if there are none in time."""

    @abstractmethod
    def close(self) -> None: ...

    def next(self, timeout: float = EVENT_TIMEOUT_S) -> Event:
        """The next event; EOFError after the last one, TimeoutError if none comes in time."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            if self._ended:
                raise EOFError
            chunk = self._receive(max(0.0, deadline - time.monotonic()))
            self._ended = not chunk
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        event: Event = json.loads(line)
        return event

    def take(self, count: int, timeout: float = EVENT_TIMEOUT_S) -> list[Event]:
        return [self.next(timeout) for _ in range(count)]

    def until(self, wanted: Callable[[Event], bool], timeout: float = EVENT_TIMEOUT_S) -> Event:
        """The first event that is wanted; those before it are passed over."""
        deadline = time.monotonic() + timeout
        while True:
            event = self.next(max(0.0, deadline - time.monotonic()))
            if wanted(event):
                return event

    def rest(self, timeout: float = EVENT_TIMEOUT_S) -> list[Event]:
        """All events up to the end of the stream, which must come in time."""
        events = []
        deadline = time.monotonic() + timeout
        while True:
            try:
                events.append(self.next(max(0.0, deadline - time.monotonic())))
            except EOFError:
                return events

    def is_quiet(self, seconds: float) -> bool:
        """Say if nothing comes for that long, not even the end."""
        try:
            self.next(seconds)
        except TimeoutError:
            return True
        except EOFError:
            return False
        return False

    def body(self) -> Any:
        """The whole body of a refusal."""
        while not self._ended:
            chunk = self._receive(EVENT_TIMEOUT_S)
            self._ended = not chunk
            self._buffer += chunk
        return json.loads(self._buffer)


class HttpWatch(Watch):
    """A watch on a connection of its own."""

    def __init__(
        self,
        address: tuple[str, int],
        tls: ssl.SSLContext,
        path: str,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__()
        plain = socket.create_connection(address, timeout=EVENT_TIMEOUT_S)
        self._socket = tls.wrap_socket(plain, server_hostname=address[0])
        self._raw = b""
        lines = [f"GET {path} HTTP/1.1", f"host: {address[0]}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._read_head()
        self._left: int | None = None
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            self._left = int(self.headers.get("content-length", "0"))

    def _read_head(self) -> None:
        while b"\r\n\r\n" not in self._raw:
            self._more(EVENT_TIMEOUT_S)
        head, _, self._raw = self._raw.partition(b"\r\n\r\n")
        first, *rest = head.decode().split("\r\n")
        self.status = int(first.split()[1])
        pairs = (line.partition(": ") for line in rest)
        self.headers = {name.lower(): value for name, _, value in pairs}

    def _more(self, timeout: float) -> None:
        self._socket.settimeout(max(timeout, 0.001))
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("the connection ended in the middle of a response")
        self._raw += received

    def _receive(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        while True:
            complete = self._plain() if self._left is not None else self._chunk()
            if complete is not None:
                return complete
            self._more(deadline - time.monotonic())

    def _plain(self) -> bytes | None:
        if self._left == 0:
            return b""
        if not self._raw:
            return None
        assert self._left is not None
        body, self._raw = self._raw[: self._left], self._raw[self._left :]
        self._left -= len(body)
        return body

    def _chunk(self) -> bytes | None:
        """The next whole chunk, b"" for the last; None if it is not all there yet."""
        size_line, found, rest = self._raw.partition(b"\r\n")
        if not found:
            return None
        size = int(size_line.split(b";")[0], 16)
        if len(rest) < size + 2:
            return None
        assert rest[size : size + 2] == b"\r\n"
        self._raw = rest[size + 2 :]
        return rest[:size]

    def close(self) -> None:
        self._socket.close()
