"""A webhook server for the suite: real HTTPS on loopback, in a thread, answering as a test says.

Every AdmissionReview or ConversionReview that comes is kept. `registered` makes a configuration and
waits until the server under test acts by it, for kube-apiserver takes a moment to notice.
"""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from backends import Backend

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.http.tls import server_context
from atoll.effects import system_now
from atoll.wire import Wire

Say = Callable[[Wire], Wire]

ROOT = "/apis/admissionregistration.k8s.io/v1"
SERVICE_NAME = "hook.default.svc"
READY_S = 120.0
RULE = {
    "operations": ["*"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps", "configmaps/*"],
}


def allow(_: Wire) -> Wire:
    return {"allowed": True}


def deny(message: str = "", **status: Any) -> Say:
    said = {**({"message": message} if message else {}), **status}
    return lambda _: {"allowed": False, **({"status": said} if said else {})}


def patch(*operations: Wire) -> Say:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": text}


class WebhookServer:
    """Answers each path as `says` has it, and remembers what it was asked."""

    def __init__(self, directory: Path) -> None:
        pair = ensure_credentials(directory, system_now(), more_names=[SERVICE_NAME])
        self.ca = base64.b64encode(pair.ca.read_bytes()).decode()
        self.says: dict[str, Say] = {}
        self.reviews: dict[str, list[Wire]] = {}
        self.paths: dict[str, list[str]] = {}
        self.connections: set[socket.socket] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        tls = server_context(pair.server, pair.server_key, pair.ca)
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="webhooks")
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        for connection in list(self.connections):
            with suppress(OSError):  # whoever is at the other end may have been quicker
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()  # waits for all who still answer

    def client(self, path: str) -> Wire:
        """How this path is reached, as configurations say it."""
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": self.ca}

    def asked(self, path: str) -> list[Wire]:
        """The requests in all reviews that came to a path."""
        return [review["request"] for review in self.reviews.get(path, [])]

    def answer(self, path: str, review: Wire) -> tuple[int, bytes]:
        bare, _, _ = path.partition("?")
        self.paths.setdefault(bare, []).append(path)
        self.reviews.setdefault(bare, []).append(review)
        said = self.says.get(bare, allow)(review["request"])
        if "status-code" in said:
            return said["status-code"], said["body"].encode()
        if "review" in said:
            return 200, json.dumps(said["review"]).encode()
        head = {"kind": review["kind"], "apiVersion": review["apiVersion"]}
        response = {"uid": review["request"]["uid"], **said}
        return 200, json.dumps({**head, "response": response}).encode()


def _handler(owner: WebhookServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            owner.connections.add(self.connection)

        def finish(self) -> None:
            owner.connections.discard(self.connection)
            super().finish()
            self.connection.close()

        def do_POST(self) -> None:
            assert self.headers["content-type"] == "application/json"
            body = self.rfile.read(int(self.headers["content-length"]))
            code, answer = owner.answer(self.path, json.loads(body))
            self.send_response(code)
            kind = "application/json" if code == 200 else "text/plain"
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            with suppress(OSError):  # who asked may have given up
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing: the suite's output is its own."""

    return Handler


def webhook(server: WebhookServer, path: str, **changes: Any) -> Wire:
    """A webhook at this path; its name is made of it."""
    written = {
        "name": f"{path.strip('/').replace('/', '-')}.example.io",
        "clientConfig": server.client(path),
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 20,
    }
    return written | changes


@contextmanager
def registered(
    api: Backend, server: WebhookServer, kind: str, name: str, webhooks: list[Wire]
) -> Iterator[None]:
    """These webhooks, in force until the end of the block."""
    path = f"{ROOT}/{kind}webhookconfigurations"
    ready = f"/ready/{name}"
    mark = {"matchLabels": {"ready": name}}
    last = webhook(server, ready, objectSelector=mark, rules=[RULE | {"operations": ["CREATE"]}])
    made = {"metadata": {"name": name}, "webhooks": [*webhooks, last]}
    api.create(path, made)
    try:
        probe = {"metadata": {"name": f"ready-{name}", "labels": {"ready": name}}}
        deadline = time.monotonic() + READY_S
        while not server.reviews.get(ready):
            assert time.monotonic() < deadline, "the webhooks are not in force"
            api.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body=probe)
            time.sleep(0.05)
        yield
    finally:
        api.delete(f"{path}/{name}")


class Register(Protocol):
    """Puts webhooks in force that are asked about one test's namespace only."""

    def __call__(self, kind: str, *webhooks: Wire) -> AbstractContextManager[None]: ...
