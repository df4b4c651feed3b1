"""A small API server behind the one under test: real TLS, one resource, and a memory of who asked.

It serves `fish` in one group version, in plain and aggregated discovery, a watch that says what it
is told to, and OpenAPI. Whom it believes as front proxy it reads from where all such servers do.
"""

import json
import queue
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from https_server import Quiet, listening

from atoll.apiserver.certificates import ensure_credentials
from atoll.wire import Wire

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; header names are in lower case, values in the order they came."""

    method: str
    path: str
    headers: dict[str, list[str]]
    certificate: str  # the common name of the client's, if it is believed
    body: bytes


@dataclass
class BehindServer:
    """A running server, and what it was asked."""

    group: str
    ca: bytes
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    events: "queue.Queue[Wire | None]" = field(default_factory=queue.Queue)
    modern: bool = True  # whether it has the aggregated form of discovery

    def of_callers(self) -> list[Asked]:
        """What was asked on behalf of somebody, and not to see how the server is."""
        probes = (["system:kube-aggregator"], ["system:aggregator"])
        return [each for each in self.asked if each.headers.get("x-remote-user") not in probes]


@contextmanager
def behind(
    directory: Path, group: str, service: str, namespace: str, front_ca: str
) -> Iterator[BehindServer]:
    """A server of this group that believes front proxies of this authority."""
    names = [f"{service}.{namespace}.svc"]
    pki = ensure_credentials(directory / "pki", datetime.now(UTC), more_names=names)
    server = BehindServer(group, pki.ca.read_bytes())
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=front_ca)
    tls.load_cert_chain(pki.server, pki.server_key)
    tls.verify_mode = ssl.CERT_OPTIONAL
    with listening(_handler(server), tls) as server.port:
        try:
            yield server
        finally:
            server.events.put(None)


def _handler(server: BehindServer) -> type[Quiet]:
    version = f"{server.group}/v1"
    fish = {
        "name": "fish",
        "singularName": "fish",
        "namespaced": True,
        "kind": "Fish",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "watch"],
        "shortNames": ["fi"],
    }
    documents: dict[str, Wire] = {
        f"/apis/{version}": {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": version,
            "resources": [
                fish,
                {**fish, "name": "fish/fins", "singularName": "", "verbs": ["get"]},
            ],
        },
        "/openapi/v3": {
            "paths": {
                f"apis/{version}": {"serverRelativeURL": f"/openapi/v3/apis/{version}?hash=7"}
            }
        },
        f"/openapi/v3/apis/{version}": {"openapi": "3.0.0", "info": {"title": "fish"}},
    }

    class Handler(Quiet, BaseHTTPRequestHandler):
        def _note(self) -> str:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers: dict[str, list[str]] = {}
            for name, value in self.headers.items():
                headers.setdefault(name.lower(), []).append(value)
            shown = self.connection.getpeercert() or {}
            names = dict(pair[0] for pair in shown.get("subject", ()))
            common = names.get("commonName", "")
            server.asked.append(Asked(self.command, self.path, headers, common, body))
            return self.path.partition("?")[0]

        def do_GET(self) -> None:
            path = self._note()
            if self.headers.get("upgrade"):
                self._echo()
            elif "watch=" in self.path:
                self._watch()
            elif path == "/apis":
                self._discovery()
            elif path in documents:
                self._send(200, documents[path])
            elif path.endswith("/fish/huge"):
                self._send(200, {"kind": "Fish", "padding": "x" * 3_000_000})
            elif path.endswith("/fish/moved"):
                self._send(302, {}, location="https://example.com/")
            elif path.endswith("/fish/nemo"):
                self._send(
                    200, {"apiVersion": version, "kind": "Fish", "metadata": {"name": "nemo"}}
                )
            else:
                self._send(418, {"kind": "Status", "apiVersion": "v1", "code": 418})

        def do_POST(self) -> None:
            self._note()
            self._send(201, {"apiVersion": version, "kind": "Fish"})

        def do_DELETE(self) -> None:
            self._note()
            self._send(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

        def _send(self, code: int, document: Wire, **headers: str) -> None:
            self._send_bytes(code, json.dumps(document).encode(), "application/json", headers)

        def _send_bytes(self, code: int, body: bytes, kind: str, more: dict[str, str]) -> None:
            self.send_response(code)
            headers = {"content-type": kind, "content-length": str(len(body)), **more}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _discovery(self) -> None:
            if not server.modern:
                self._send(404, {})
                return
            item = {
                "resource": "fish",
                "responseKind": {"group": server.group, "version": "v1", "kind": "Fish"},
                "scope": "Namespaced",
                "singularResource": "fish",
                "verbs": ["get", "list"],
            }
            versions = [{"version": "v1", "resources": [item], "freshness": "Current"}]
            document = {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {},
                "items": [{"metadata": {"name": server.group}, "versions": versions}],
            }
            self._send_bytes(200, json.dumps(document).encode(), AGGREGATED, {})

        def _echo(self) -> None:
            """Speak another protocol: every line comes back, until there are no more."""
            self.send_response(101)
            self.send_header("connection", "upgrade")
            self.send_header("upgrade", self.headers["upgrade"])
            self.end_headers()
            while line := self.rfile.readline():
                self.wfile.write(line.upper())
            self.close_connection = True

        def _watch(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            while (event := server.events.get(timeout=120)) is not None:
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")

    return Handler
