"""Responses as bytes: the head, the framing of a chunk, and compression. Pure, but for yielding.

A header value with line breaks in it is written as that many headers of one name, which is how a
handler repeats a header; so nothing a value contains can start a header of another name.
"""

import asyncio
import zlib
from http import HTTPStatus

from atoll.apiserver.negotiation import accepts_gzip
from atoll.exchange import Headers, Response

SWITCHING = 101
LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

GZIP_FROM_BYTES = 128 * 1024
GZIP_LEVEL = 1
_GZIP_FORMAT = 31  # zlib's number for a gzip header and the largest window
_SLICE_BYTES = 256 * 1024  # about 3 ms of compression

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}" for status in HTTPStatus}

# These describe the transfer, which the handler does not know.
_OURS = frozenset(["connection", "content-length", "transfer-encoding", "date"])


def head(response: Response, date: str, length: int | None, *, close: bool, modern: bool) -> bytes:
    """The status line and headers; `length` is None for a stream, which is chunked if it may be."""
    status = response.status
    lines = [_STATUS_LINES.get(status) or f"HTTP/1.1 {status} Status", f"Date: {date}"]
    for name, value in response.headers.items():
        if name.lower() in _OURS:
            continue
        if "\n" in value or "\r" in value:
            lines.extend(_headers(name, value))
        else:
            lines.append(f"{name}: {value}")
    if length is not None:
        if not _is_bodiless(status):
            lines.append(f"Content-Length: {length}")
    elif modern:
        lines.append("Transfer-Encoding: chunked")
    if status == SWITCHING:
        lines.append("Connection: Upgrade")
    elif close:
        lines.append("Connection: close")
    elif not modern:
        lines.append("Connection: keep-alive")
    lines.append("\r\n")
    return "\r\n".join(lines).encode("utf-8", "replace")


def _headers(name: str, value: str) -> list[str]:
    return [
        f"{name}: {line.strip()}" for line in value.replace("\r", "\n").split("\n") if line.strip()
    ]


def _is_bodiless(status: int) -> bool:
    return status < 200 or status in (204, 304)


def has_body(method: str, status: int) -> bool:
    """Say if a body follows the head of such an answer."""
    return method != "HEAD" and not _is_bodiless(status)


def chunk(data: bytes) -> bytes:
    """One piece of a stream, framed; the piece must not be empty, for that would end the stream."""
    return b"%x\r\n%b\r\n" % (len(data), data)


async def compressed(response: Response, accept_encoding: str) -> Response:
    """The same answer, gzipped if it is large and the client asked for that."""
    if len(response.body) <= GZIP_FROM_BYTES or not accepts_gzip(accept_encoding):
        return response
    if any(name.lower() == "content-encoding" for name in response.headers):
        return response
    body = await _gzip(response.body)
    return Response(response.status, _encoded(response.headers), body)


def _encoded(headers: Headers) -> dict[str, str]:
    varied = [value for name, value in headers.items() if name.lower() == "vary"]
    kept = {name: value for name, value in headers.items() if name.lower() != "vary"}
    vary = ", ".join([*varied, "Accept-Encoding"])
    return {**kept, "Content-Encoding": "gzip", "Vary": vary}


async def _gzip(body: bytes) -> bytes:
    compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
    pieces = []
    for start in range(0, len(body), _SLICE_BYTES):
        pieces.append(compressor.compress(body[start : start + _SLICE_BYTES]))
        await asyncio.sleep(0)  # others are served between two slices
    pieces.append(compressor.flush())
    return b"".join(pieces)
