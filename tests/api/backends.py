"""An API server as the behaviour suite sees it: requests in, answers and watches out.

What every server under test offers, and the short ways to ask that keep tests readable. How the
bytes get there is the transports' business (`transports.py`).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from streams import Watch

from atoll.wire import Wire

# The backends by name, and the fixture that starts each.
FIXTURES = {"in-process": "in_process", "https": "https", "kubernetes": "real"}
OURS = ("in-process", "https")

PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True)
class Answer:
    """A response, read to its end. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def warnings(self) -> str:
        return self.headers.get("warning", "")

    def object(self, status: int = 200) -> Wire:
        """The object in an answer that must have this status."""
        assert self.status == status, self.body.decode()
        found: Wire = self.json()
        return found

    def refusal(self, code: int, reason: str | None, message: str | None = None) -> Wire:
        """The details of a Status that must say this and nothing else; {} if it has none."""
        body = self.json()
        assert (self.status, body.get("reason"), body["code"]) == (code, reason, code), body
        assert (body["kind"], body["apiVersion"]) == ("Status", "v1")
        assert (body["metadata"], body["status"]) == ({}, "Failure")
        assert self.headers["content-type"] == "application/json"
        if message is not None:
            assert body["message"] == message
        details: Wire = body.get("details", {})
        return details


class Backend(ABC):
    """One API server, asked as its administrator."""

    name: str

    @abstractmethod
    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer: ...

    @abstractmethod
    def stranger(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        """The answer to somebody without a client certificate."""

    @abstractmethod
    def open(self, path: str, headers: Mapping[str, str]) -> Watch: ...

    @abstractmethod
    def forget(self) -> None:
        """Let go of what is kept for the thread that asks."""

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send bytes as they are, anything else as JSON."""
        return self.ask(method, path, encoded(body), dict(headers or {}))

    @contextmanager
    def watch(self, path: str, headers: Mapping[str, str] | None = None) -> Iterator[Watch]:
        opened = self.open(path, dict(headers or {}))
        try:
            yield opened
        finally:
            opened.close()

    def create(self, path: str, obj: Wire) -> Wire:
        return self.request("POST", path, body=obj).object(201)

    def read(self, path: str, accept: str = "application/json") -> Wire:
        return self.request("GET", path, headers={"accept": accept}).object()

    def update(self, path: str, obj: Wire) -> Wire:
        return self.request("PUT", path, body=obj).object()

    def patch(self, path: str, patch: object, kind: str = "merge") -> Wire:
        return self.try_patch(path, patch, kind).object()

    def try_patch(self, path: str, patch: object, kind: str = "merge") -> Answer:
        return self.request("PATCH", path, body=patch, headers={"content-type": PATCHES[kind]})

    def apply(self, path: str, obj: Wire, manager: str, query: str = "") -> Answer:
        return self.try_patch(f"{path}?fieldManager={manager}{query}", obj, "apply")

    def delete(self, path: str, options: Wire | None = None) -> Wire:
        return self.request("DELETE", path, body=options).object()


def encoded(body: object) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return json.dumps(body).encode()
