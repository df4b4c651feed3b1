"""A collector of traces: a small HTTP server that takes spans by OTLP and keeps them for a test.

It answers as it is told, each answer once, and with 200 when there is nothing more to be told.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_VALUES = {"intValue": int, "stringValue": str, "boolValue": bool, "doubleValue": float}


@dataclass(frozen=True)
class Answer:
    """What the collector says to one request, and how long it takes to."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0


@dataclass(frozen=True)
class Told:
    """A span as a collector sees it, with the name of the service that sent it."""

    service: str
    name: str
    trace: str
    span: str
    parent: str
    began_ns: int
    ended_ns: int
    attributes: Mapping[str, Any]
    problem: str | None


@dataclass
class Collector:
    """A running collector: where it is, what it was sent and when, and what it took."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[float, str, Mapping[str, str], dict[str, Any]]] = field(default_factory=list)
    spans: list[Told] = field(default_factory=list)


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector for the length of the block."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    collector = Collector(f"http://127.0.0.1:{listening.server_port}")
    listening.RequestHandlerClass = _handler(collector)
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield collector
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {key.lower(): value for key, value in self.headers.items()}
            collector.asked.append((time.monotonic(), self.path, headers, body))
            answer = collector.answers.pop(0) if collector.answers else Answer()
            time.sleep(answer.after_s)
            if answer.status == 200:
                collector.spans.extend(_told(body))
            self.send_response(answer.status)
            for key, value in answer.headers.items():
                self.send_header(key, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            return

    return Handler


def _told(body: dict[str, Any]) -> Iterator[Told]:
    for resource in body["resourceSpans"]:
        service = _attributes(resource["resource"])["service.name"]
        for scope in resource["scopeSpans"]:
            for each in scope["spans"]:
                yield Told(
                    service=service,
                    name=each["name"],
                    trace=each["traceId"],
                    span=each["spanId"],
                    parent=each.get("parentSpanId", ""),
                    began_ns=int(each["startTimeUnixNano"]),
                    ended_ns=int(each["endTimeUnixNano"]),
                    attributes=_attributes(each),
                    problem=each.get("status", {}).get("message"),
                )


def _attributes(described: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: _value(each["value"]) for each in described["attributes"]}


def _value(written: dict[str, Any]) -> Any:
    ((kind, value),) = written.items()
    return list(map(_value, value["values"])) if kind == "arrayValue" else _VALUES[kind](value)
