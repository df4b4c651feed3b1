"""A client for short commands: an API server by verbs, with what the standard library has.

Takes an Endpoint; raises what the other client raises. It waits for every answer, holds one
connection, and imports nothing that takes long to import.
"""

import http.client
import json
import select
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from atoll import __version__
from atoll.client.collection import Collection
from atoll.client.dialling import dial
from atoll.client.endpoint import Endpoint
from atoll.client.identity import Identity
from atoll.client.refusals import Missing, Refused, refusal
from atoll.client.tls import client_context
from atoll.client.transport import Unreachable
from atoll.exchange import Headers
from atoll.wire import Wire

MERGE = "application/merge-patch+json"
_APPLY = {"content-type": "application/apply-patch+yaml"}
_MANAGER = "atoll-cli"
_PAGE = 500
_USUAL = {"accept": "application/json", "user-agent": f"atoll/{__version__}"}
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, read to its end, whatever its status; header names are lower case."""

    status: int
    headers: Headers = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        """The object in the body; Refused if the status is no success, or there is no object."""
        if self.status >= 300:
            raise refusal(self.status, self.body)
        try:
            found = json.loads(self.body) if self.body else {}
        except (ValueError, RecursionError) as error:
            raise Refused(self.status, {"message": "the answer is not JSON"}) from error
        if not isinstance(found, dict):
            raise Refused(self.status, {"message": "the answer is no object"})
        return found


class PlainClient:
    """One API server, as one user. Where there is no answer in time, Unreachable is raised."""

    def __init__(self, endpoint: Endpoint, patience_s: float = _PATIENCE_S) -> None:
        self.endpoint = endpoint
        self._patience_s = patience_s
        self._address = urlsplit(endpoint.server)
        self._identity = Identity(endpoint)
        self._kept: _Connection | None = None

    def close(self) -> None:
        """Let go of the connection; the next request makes another."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def request(
        self,
        method: str,
        path: str,
        query: str = "",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """What the server answers, refusals included; a body is JSON unless the headers differ."""
        sent = self._headers(body, headers)
        answer = self._exchange(method, _target(path, query), body, sent)
        if answer.status == 401 and self._identity.doubt():
            sent = self._headers(body, headers)
            answer = self._exchange(method, _target(path, query), body, sent)
        return answer

    @contextmanager
    def stream(
        self,
        path: str,
        query: str = "",
        silence_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Iterator[bytes]]:
        """The lines of an answer as they come, until the server ends it, as of a watch or a log.

        A connection of its own; it ends as Unreachable after `silence_s`, None: never.
        """
        connection, response = self._begin(_target(path, query), headers)
        if response.status == 401 and self._identity.doubt():
            connection.close()
            connection, response = self._begin(_target(path, query), headers)
        try:
            if response.status >= 300:
                with self._reporting():
                    raise refusal(response.status, response.read())
            if connection.sock is not None:
                connection.sock.settimeout(silence_s)
            yield self._lines(response)
        finally:
            connection.close()

    def _begin(
        self, target: str, headers: Mapping[str, str] | None
    ) -> tuple["_Connection", http.client.HTTPResponse]:
        """Ask on a connection of its own, and hear how the answer begins."""
        sent = self._headers(None, headers)
        connection = self._connect()
        try:
            with self._reporting():
                self._send(connection, "GET", target, None, sent)
                return connection, connection.getresponse()
        except Unreachable:
            connection.close()
            raise

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """What comes; only what goes wrong in coming is the server's fault."""
        with self._reporting():
            yield from response

    def get(self, path: str, query: str = "") -> Wire:
        """An object, or whatever else is at a path."""
        answer: Wire = self.request("GET", path, query).json()
        return answer

    def find(self, path: str) -> Wire | None:
        """An object; None if it is not there."""
        try:
            return self.get(path)
        except Missing:
            return None

    def list(
        self, collection: Collection, namespace: str = "", query: Mapping[str, str] | None = None
    ) -> list[Wire]:
        """All objects, or those of a namespace, each with its kind; `query` may select."""
        kind = {"apiVersion": collection.api_version, "kind": collection.kind}
        asked = {"limit": str(_PAGE), **(query or {})}
        items: list[Wire] = []
        while True:
            answer = self.get(collection.path(namespace), urlencode(asked))
            items += [{**kind, **item} for item in answer.get("items") or ()]
            rest = answer.get("metadata", {}).get("continue")
            if not rest:
                return items
            asked["continue"] = rest

    def create(self, collection: Collection, wire: Wire, query: str = "") -> Wire:
        """Create an object, and give what was stored."""
        namespace = wire["metadata"].get("namespace", "")
        return self._write("POST", collection.path(namespace), wire, query)

    def replace(self, collection: Collection, wire: Wire, subresource: str = "") -> Wire:
        """Replace an object, and give what was stored."""
        return self._write("PUT", collection.path_of(wire, subresource), wire)

    def patch(self, path: str, changes: Any, kind: str = MERGE, query: str = "") -> Wire:
        """Change part of an object, by a merge patch unless `kind` says otherwise."""
        return self._write("PATCH", path, changes, query, kind)

    def apply(self, path: str, wire: Mapping[str, Any], *, is_trial: bool = False) -> Answer:
        """Have an object say this, whoever else has said otherwise; Refused if it may not."""
        asked = {"fieldManager": _MANAGER, "force": "true"}
        query = urlencode(asked | ({"dryRun": "All"} if is_trial else {}))
        answer = self.request("PATCH", path, query, json.dumps(wire).encode(), _APPLY)
        if answer.status >= 300:
            raise refusal(answer.status, answer.body)
        return answer

    def delete(self, path: str, uid: str | None = None) -> Wire:
        """Delete an object in the background, if it still has this uid; give what is answered."""
        options: Wire = {"propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        return self._write("DELETE", path, options)

    def _write(
        self, method: str, path: str, body: Any, query: str = "", kind: str = "application/json"
    ) -> Wire:
        content = json.dumps(body).encode()
        answer: Wire = self.request(method, path, query, content, {"content-type": kind}).json()
        return answer

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: Sequence[tuple[str, str]]
    ) -> Answer:
        with self._reporting():
            connection, self._kept = self._kept_or_new(), None
            try:
                self._send(connection, method, target, body, headers)
                response = connection.getresponse()
                answer = Answer(response.status, _headers(response), response.read())
                self._kept = connection
                return answer
            finally:
                if self._kept is None:
                    connection.close()

    def _kept_or_new(self) -> "_Connection":
        """The connection of the last request, unless the server let go of it, or knows it wrong."""
        kept, pair = self._kept, self._identity.pair()
        # Nothing should come that nobody asked for; what does is the end of the connection.
        is_open = kept is not None and kept.sock and not select.select([kept.sock], [], [], 0)[0]
        if kept is not None and is_open and kept.pair == pair:
            return kept
        self.close()
        return self._connect()

    def _connect(self) -> "_Connection":
        return _Connection(self.endpoint, self._identity.pair(), self._patience_s)

    def _headers(
        self, body: bytes | None, headers: Mapping[str, str] | None
    ) -> Sequence[tuple[str, str]]:
        if self._identity.needs_plugin:
            # Few have one, and it takes a while to import.
            from atoll.client.plugins import ask

            self._identity.learn(ask(self.endpoint))
        given = {name.lower(): value for name, value in (headers or {}).items()}
        kind = {"content-type": "application/json"} if body is not None else {}
        own = [(name, value) for name, value in self._identity.headers() if name not in given]
        return [*({**_USUAL, **kind, **given}.items()), *own]

    def _send(
        self,
        connection: "_Connection",
        method: str,
        target: str,
        body: bytes | None,
        headers: Sequence[tuple[str, str]],
    ) -> None:
        whole = self._address.path.rstrip("/") + target
        connection.putrequest(method, whole, skip_accept_encoding=True)
        if body is not None or method in ("POST", "PUT", "PATCH"):
            connection.putheader("content-length", str(len(body or b"")))
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.endpoint} did not answer: {_why(error)}") from error


class _Connection(http.client.HTTPConnection):
    """One connection to the server of an endpoint, with this certificate and key shown there."""

    def __init__(
        self, endpoint: Endpoint, pair: tuple[bytes, bytes] | None, patience_s: float
    ) -> None:
        address = urlsplit(endpoint.server)
        usual = http.client.HTTP_PORT if address.scheme == "http" else http.client.HTTPS_PORT
        super().__init__(address.hostname or "", address.port or usual, timeout=patience_s)
        self.default_port = usual
        self.pair = pair
        self._endpoint = endpoint
        self._patience_s = patience_s
        self._tls = None if address.scheme == "http" else client_context(endpoint, pair)

    def connect(self) -> None:
        self.sock = dial(self._endpoint, self._tls, self._patience_s)


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted: {error.verify_message}"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _target(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _headers(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}
