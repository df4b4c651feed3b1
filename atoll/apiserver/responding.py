"""Responses: what a verb came to, as status, headers and bytes."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson

from atoll.apiserver.bodies import encode_yaml
from atoll.apiserver.negotiation import prefers_yaml
from atoll.apiserver.shaping import Shaper
from atoll.apiserver.status import ApiError
from atoll.apiserver.verbs.matching import served
from atoll.apiserver.verbs.reading import Listing, list_head
from atoll.apiserver.verbs.writing import Written
from atoll.exchange import Response
from atoll.store.record import Record

Object = dict[str, Any]

JSON = {"Content-Type": "application/json"}
# A browser is not to take such a text for a page: what it says may have come from who asked.
PLAIN = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
ITEM_SHAPES = frozenset(["Table", "PartialObjectMetadata"])
LIST_SHAPES = frozenset(["Table", "PartialObjectMetadataList"])


def json_response(document: Object, status: int = 200) -> Response:
    return Response(status, JSON, orjson.dumps(document))


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


def object_response(shaper: Shaper, obj: Object, status: int) -> Response:
    """An object, or a Status about it."""
    headers = {"Content-Type": shaper.content_type}
    if obj.get("kind") == shaper.resource.kind:
        return Response(status, headers, shaper.one(orjson.dumps(obj)))
    return Response(status, headers, shaper.encode(obj))


def list_response(shaper: Shaper, listing: Listing) -> Response:
    values = [served(shaper.resource, record) for record in listing.records]
    body = shaper.many(values, list_head(listing))
    return Response(200, {"Content-Type": shaper.content_type}, body)


def objects_response(shaper: Shaper, objects: Sequence[Object], revision: int) -> Response:
    values = [orjson.dumps(obj) for obj in objects]
    body = shaper.many(values, {"resourceVersion": str(revision)})
    return Response(200, {"Content-Type": shaper.content_type}, body)


def stream_response(shaper: Shaper, stream: AsyncIterator[bytes]) -> Response:
    return Response(200, {"Content-Type": shaper.content_type}, stream=stream)


def with_headers(response: Response, audit_id: str, warnings: Sequence[str]) -> Response:
    """The response with what every response carries."""
    headers = {"Cache-Control": "no-cache, private", "Audit-Id": audit_id, **response.headers}
    if warnings:
        headers["Warning"] = ", ".join(f'299 - "{_quoted(text)}"' for text in warnings)
    # Every response comes by here, and `replace` would take as long as all the rest.
    return Response(response.status, headers, response.body, response.stream, response.upgrade)


def _quoted(text: str) -> str:
    visible = "".join(mark if mark.isprintable() else " " for mark in text)
    return visible.replace("\\", "\\\\").replace('"', '\\"')
