"""Messages over a socket between processes: four bytes of length, then so many bytes."""

import socket

MESSAGE_MAX = 64 << 20
_HEAD = 4


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(_HEAD, "big") + message


def receive(channel: socket.socket) -> bytes | None:
    """The next message; None if the other side has gone."""
    head = _exactly(channel, _HEAD)
    return None if head is None else _exactly(channel, int.from_bytes(head, "big"))


def length_of(head: bytes) -> int:
    return int.from_bytes(head, "big")


def _exactly(channel: socket.socket, count: int) -> bytes | None:
    found = bytearray()
    while len(found) < count:
        more = channel.recv(min(count - len(found), 1 << 20))
        if not more:
            return None
        found += more
    return bytes(found)
