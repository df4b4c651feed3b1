"""Spans as OTLP writes them in JSON: the body of one request to a collector.

Spans and what they are of come in, bytes go out. Ids are hexadecimal, 64-bit numbers are texts and
enumerations are numbers, as the protocol says.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from atoll import __version__
from atoll.tracing.span import Attributes, Span, Value

_INTERNAL = 1
_ERROR = 2
_TEXT_MOST = 1024


def encode(resource: Attributes, spans: Iterable[Span]) -> bytes:
    """The spans of one process, which these attributes describe."""
    scope = {"name": "atoll", "version": __version__}
    told = {"scope": scope, "spans": [_span(each) for each in spans]}
    return orjson.dumps(
        {"resourceSpans": [{"resource": _described(resource), "scopeSpans": [told]}]}
    )


def _span(span: Span) -> dict[str, Any]:
    written: dict[str, Any] = {
        "traceId": span.context.trace,
        "spanId": span.context.span,
        "flags": int(span.context.sampled),
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(span.began_ns),
        "endTimeUnixNano": str(span.ended_ns),
        **_described(span.attributes),
    }
    if span.parent:
        written["parentSpanId"] = span.parent
    if span.problem is not None:
        written["status"] = {"code": _ERROR, "message": _text(span.problem)}
    return written


def _described(attributes: Attributes) -> dict[str, Any]:
    return {"attributes": [{"key": key, "value": _value(each)} for key, each in attributes.items()]}


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": _text(value)}
        case _:
            return {"arrayValue": {"values": [{"stringValue": _text(each)} for each in value]}}


def _text(text: str) -> str:
    """A text of bearable length that can be written, whatever a server has put into it."""
    return text[:_TEXT_MOST].encode(errors="replace").decode()
