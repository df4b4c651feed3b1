"""A metrics server for a member: what pods and nodes use, behind its API server as others are.

It says the same of every pod in the namespace that it is asked about: that of one name, and of
nobody else. Its TLS is real, and nobody looks at who signed it, as in many clusters.
"""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from https_server import Quiet, listening
from plane_api import Api
from world import expect

from atoll.apiserver.certificates import ensure_credentials
from atoll.wire import Wire

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
USED = {"cpu": "250m", "memory": "64Mi"}
_ROOT = f"/apis/{GROUP}/{VERSION}"
_SEEN = {"timestamp": "2026-01-01T00:00:00Z", "window": "30s"}
_KINDS = (("pods", "PodMetrics", True), ("nodes", "NodeMetrics", False))


@contextmanager
def measured(member: Api, directory: Path, space: str, pod: str) -> Iterator[None]:
    """Have a member tell what a pod uses, for as long as the block lasts."""
    pki = ensure_credentials(directory / "metrics-pki", datetime.now(UTC))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pki.server, pki.server_key)
    with listening(_answering(space, pod), tls) as port:
        known = _registration(port, space)
        try:
            for wire in known:
                member.create(wire)
            expect(lambda: _is_available(member.find(known[-1]) or {}), True)
            yield
        finally:
            # A group that nobody serves keeps namespaces from ending.
            for wire in reversed(known):
                member.delete(wire)


def _registration(port: int, space: str) -> list[Wire]:
    service = {"namespace": space, "name": "metrics"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": service,
            "spec": {"type": "ExternalName", "externalName": "127.0.0.1"},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{VERSION}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {**service, "port": port},
            },
        },
    ]


def _is_available(registered: Wire) -> bool:
    conditions = (registered.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Available", "True") for each in conditions)


def _answering(space: str, pod: str) -> type[Quiet]:
    version = f"{GROUP}/{VERSION}"
    resources = [
        {"name": name, "kind": kind, "namespaced": inside, "singularName": "", "verbs": ["list"]}
        for name, kind, inside in _KINDS
    ]
    described = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version}
    container = {"name": "main", "usage": USED}
    used = {"metadata": {"name": pod, "namespace": space}, "containers": [container], **_SEEN}
    listed = {"kind": "PodMetricsList", "apiVersion": version, "metadata": {}, "items": [used]}
    documents: dict[str, dict[str, Any]] = {
        _ROOT: {**described, "resources": resources},
        f"{_ROOT}/namespaces/{space}/pods": listed,
    }

    class Answering(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = documents.get(self.path.partition("?")[0])
            body = json.dumps(found or {"kind": "Status", "apiVersion": "v1"}).encode()
            self.send_response(200 if found else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Answering
