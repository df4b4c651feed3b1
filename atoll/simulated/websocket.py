"""WebSocket from the server's side: bytes in, messages out, and back. No socket, no clock.

Just what the programs of Kubernetes need of RFC 6455: no extensions, text and binary alike.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha1

MESSAGE_BYTES_MAX = 1024 * 1024
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MASKED, _FINAL = 0x80, 0x80


class Opcode(IntEnum):
    """What a frame is."""

    MORE = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class Broken(ValueError):
    """What the client sent is no WebSocket, or too much of one."""


@dataclass(frozen=True, slots=True)
class Message:
    """One whole message."""

    opcode: Opcode
    content: bytes


def is_offered(headers: Mapping[str, str]) -> bool:
    """Whether a request offers to go on in WebSocket."""
    return headers.get("upgrade", "").lower() == "websocket" and bool(_key(headers))


def accepted(headers: Mapping[str, str], protocol: str) -> dict[str, str]:
    """The headers that accept such an offer, with the protocol inside that was chosen."""
    digest = sha1(_key(headers).encode() + _GUID, usedforsecurity=False).digest()
    return {
        "Upgrade": "websocket",
        "Sec-WebSocket-Accept": base64.b64encode(digest).decode(),
        "Sec-WebSocket-Protocol": protocol,
    }


def protocols(headers: Mapping[str, str]) -> list[str]:
    """The protocols inside that the client knows."""
    offered = headers.get("sec-websocket-protocol", "")
    return [each.strip() for each in offered.split(",") if each.strip()]


def _key(headers: Mapping[str, str]) -> str:
    return headers.get("sec-websocket-key", "")


def frame(opcode: Opcode, content: bytes) -> bytes:
    """A message in one frame, as a server writes it."""
    length = len(content)
    head = bytes([_FINAL | opcode])
    if length < 126:
        return head + bytes([length]) + content
    if length < 1 << 16:
        return head + bytes([126]) + length.to_bytes(2, "big") + content
    return head + bytes([127]) + length.to_bytes(8, "big") + content


class Messages:
    """Puts a client's frames together."""

    def __init__(self) -> None:
        self._bytes = b""
        self._begun: Opcode | None = None
        self._pieces = b""

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole now; Broken if they never will be."""
        self._bytes += data
        while (found := self._frame()) is not None:
            final, opcode, content = found
            if opcode >= Opcode.CLOSE:
                yield Message(opcode, content)
                continue
            if (opcode is Opcode.MORE) is (self._begun is None):
                raise Broken("frames are out of order")
            self._begun = self._begun or opcode
            self._pieces += content
            if len(self._pieces) > MESSAGE_BYTES_MAX:
                raise Broken("a message is too large")
            if final:
                yield Message(self._begun, self._pieces)
                self._begun, self._pieces = None, b""

    def _frame(self) -> tuple[bool, Opcode, bytes] | None:
        """The next frame, if all of it is there."""
        known = self._bytes
        if len(known) < 2:
            return None
        extra = {126: 2, 127: 8}.get(known[1] & 0x7F, 0)
        if len(known) < 2 + extra + 4:
            return None
        length = int.from_bytes(known[2 : 2 + extra], "big") if extra else known[1] & 0x7F
        if not known[1] & _MASKED or length > MESSAGE_BYTES_MAX:
            raise Broken("a frame is not masked, or too large")
        begin = 2 + extra + 4
        if len(known) < begin + length:
            return None
        mask, content = known[begin - 4 : begin], known[begin : begin + length]
        self._bytes = known[begin + length :]
        try:
            opcode = Opcode(known[0] & 0x0F)
        except ValueError as error:
            raise Broken("a frame of an unknown kind") from error
        return bool(known[0] & _FINAL), opcode, _unmasked(content, mask)


def _unmasked(content: bytes, mask: bytes) -> bytes:
    repeated = (mask * (len(content) // 4 + 1))[: len(content)]
    whole = int.from_bytes(content, "big") ^ int.from_bytes(repeated, "big")
    return whole.to_bytes(len(content), "big")
