"""Responses: what a verb came to, as status, headers and bytes.

A large list is a stream: others are served between two of its pieces, and a client that reads it
slowly keeps nothing in memory but what is stored anyway.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence

import orjson

from atoll.apiserver.bodies.encoding import encode_yaml
from atoll.apiserver.negotiation import accepts_gzip, prefers_yaml
from atoll.apiserver.shaping import Shaper
from atoll.apiserver.status import ApiError
from atoll.apiserver.verbs.matching import served
from atoll.apiserver.verbs.reading import Listing, list_head
from atoll.apiserver.verbs.writing import Written
from atoll.exchange import Response
from atoll.store.record import Record
from atoll.wire import Wire

JSON = {"Content-Type": "application/json"}
# A browser is not to take such a text for a page: what it says may have come from who asked.
PLAIN = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
_GZIP_LEVEL = 1
_GZIP_FORMAT = 31  # zlib's number for a gzip header and the largest window
_WHOLE_MAX = 1024 * 1024  # bytes of objects that go out as they are stored
_WORK_MAX = 128 * 1024  # bytes of objects that are read and written anew before others are served
ANSWER_SHAPES = frozenset(["PartialObjectMetadata"])
ITEM_SHAPES = frozenset(["Table", "PartialObjectMetadata"])
LIST_SHAPES = frozenset(["Table", "PartialObjectMetadataList"])


def json_response(document: Wire) -> Response:
    return Response(200, JSON, orjson.dumps(document))


def text_response(text: str, status: int = 200) -> Response:
    return Response(status, PLAIN, text.encode())


def status_response(error: ApiError, accept: str = "") -> Response:
    """The Status a failed request ends with. It is never shaped: tools look for `kind: Status`."""
    if prefers_yaml(accept):
        headers = {"Content-Type": "application/yaml", **error.headers}
        return Response(error.code, headers, encode_yaml(error.status()))
    return Response(error.code, {**JSON, **error.headers}, orjson.dumps(error.status()))


def record_response(shaper: Shaper, record: Record) -> Response:
    body = shaper.one(served(shaper.resource, record))
    return Response(200, {"Content-Type": shaper.content_type}, body)


def written_response(shaper: Shaper, written: Written, status: int) -> Response:
    """An object that was just written, in the bytes it was written in where it is served so."""
    if written.value is None:
        return object_response(shaper, written.object, status)
    return Response(status, {"Content-Type": shaper.content_type}, shaper.one(written.value))


def object_response(shaper: Shaper, obj: Wire, status: int) -> Response:
    """An object, or a Status about it."""
    headers = {"Content-Type": shaper.content_type}
    if obj.get("kind") == shaper.resource.kind:
        return Response(status, headers, shaper.one(orjson.dumps(obj)))
    return Response(status, headers, shaper.encode(obj))


def list_response(shaper: Shaper, listing: Listing, accept_encoding: str) -> Response:
    headers = {"Content-Type": shaper.content_type}
    size = sum(len(record.value) for record in listing.records)
    if size <= (_WHOLE_MAX if shaper.plain and not shaper.wanted.pretty else _WORK_MAX):
        values = [served(shaper.resource, record) for record in listing.records]
        return Response(200, headers, shaper.many(values, list_head(listing)))
    stream = _in_pieces(shaper, listing)
    if accepts_gzip(accept_encoding):
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        stream = _compressed(stream)
    return Response(200, headers, stream=stream)


async def _in_pieces(shaper: Shaper, listing: Listing) -> AsyncIterator[bytes]:
    opening, between, ending = shaper.frame(list_head(listing))
    held, work = [opening], 0
    for record in listing.records:
        held += (shaper.item(served(shaper.resource, record)), between)
        work += len(record.value)
        if work >= _WORK_MAX:
            last = held.pop()
            yield b"".join(held)
            held, work = [last], 0
            await asyncio.sleep(0)  # others are served between two pieces
    held[-1] = ending
    yield b"".join(held)


async def _compressed(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
    async for piece in stream:
        yield compressor.compress(piece)
    yield compressor.flush()


def objects_response(shaper: Shaper, objects: Sequence[Wire], revision: int) -> Response:
    values = [orjson.dumps(obj) for obj in objects]
    body = shaper.many(values, {"resourceVersion": str(revision)})
    return Response(200, {"Content-Type": shaper.content_type}, body)


def stream_response(shaper: Shaper, stream: AsyncIterator[bytes]) -> Response:
    return Response(200, {"Content-Type": shaper.content_type}, stream=stream)


def with_headers(response: Response, audit_id: str, warnings: Sequence[str]) -> Response:
    """The response with what every response carries."""
    headers = {"Cache-Control": "no-cache, private", "Audit-Id": audit_id, **response.headers}
    if warnings:
        different = dict.fromkeys(map(_quoted, warnings))  # what is said twice is told once
        headers["Warning"] = ", ".join(f'299 - "{text}"' for text in different)
    # Every response comes by here, and `replace` would take as long as all the rest.
    return Response(response.status, headers, response.body, response.stream, response.upgrade)


def _quoted(text: str) -> str:
    visible = "".join(mark if mark.isprintable() else " " for mark in text)
    return visible.replace("\\", "\\\\").replace('"', '\\"')
