"""Spans as a collector reads them."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from atoll import __version__
from atoll.tracing.context import Context
from atoll.tracing.encoding import encode
from atoll.tracing.span import Span

CONTEXT = Context("a" * 32, "b" * 16)


def written(*spans: Span) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(encode({}, spans))["resourceSpans"][0]["scopeSpans"]
    return [each for scope in found for each in scope["spans"]]


def test_a_request_is_as_the_protocol_wants_it() -> None:
    span = Span(
        name="deliver",
        context=CONTEXT,
        parent="c" * 16,
        began_ns=1_700_000_000_000_000_001,
        ended_ns=1_700_000_000_000_000_002,
        attributes={"text": "a", "yes": True, "count": 3, "part": 0.5, "all": ("x", "y")},
        problem="no way",
    )
    assert json.loads(encode({"service.name": "atoll"}, [span])) == {
        "resourceSpans": [
            {
                "resource": {
                    "attributes": [{"key": "service.name", "value": {"stringValue": "atoll"}}]
                },
                "scopeSpans": [
                    {
                        "scope": {"name": "atoll", "version": __version__},
                        "spans": [
                            {
                                "traceId": "a" * 32,
                                "spanId": "b" * 16,
                                "parentSpanId": "c" * 16,
                                "flags": 1,
                                "name": "deliver",
                                "kind": 1,
                                "startTimeUnixNano": "1700000000000000001",
                                "endTimeUnixNano": "1700000000000000002",
                                "attributes": [
                                    {"key": "text", "value": {"stringValue": "a"}},
                                    {"key": "yes", "value": {"boolValue": True}},
                                    {"key": "count", "value": {"intValue": "3"}},
                                    {"key": "part", "value": {"doubleValue": 0.5}},
                                    {
                                        "key": "all",
                                        "value": {
                                            "arrayValue": {
                                                "values": [
                                                    {"stringValue": "x"},
                                                    {"stringValue": "y"},
                                                ]
                                            }
                                        },
                                    },
                                ],
                                "status": {"code": 2, "message": "no way"},
                            }
                        ],
                    }
                ],
            }
        ]
    }


def test_a_first_span_has_no_parent_and_one_that_went_well_no_status() -> None:
    (found,) = written(Span(name="detect", context=CONTEXT, began_ns=1, ended_ns=2))
    assert "parentSpanId" not in found
    assert "status" not in found


@given(st.text(st.characters()) | st.just("half a \ud800 letter") | st.just("x" * 5000))
def test_whatever_a_server_said_can_be_written(said: str) -> None:
    span = Span(
        name="deliver",
        context=CONTEXT,
        began_ns=1,
        ended_ns=2,
        attributes={"one": said, "all": (said,)},
        problem=said,
    )
    (found,) = written(span)
    message = found["status"]["message"]
    assert len(message) == min(len(said), 1024)
    assert found["attributes"][0]["value"] == {"stringValue": message}
