"""What the server tells about itself: discovery, OpenAPI, health, numbers, keys and version.

In: a path's parts and the request's headers. Out: a Response. What is served is the catalog's
business; here are only the paths and the rules of caching (ETag, hash, 304).
"""

import gzip
import platform
from dataclasses import dataclass

from atoll import __version__
from atoll.apiserver.access.issuing import KEPT, KEYS_TYPE, PATHS, configuration, keys
from atoll.apiserver.access.signing import Signing
from atoll.apiserver.discovery import Discovery, Document
from atoll.apiserver.health import ENDPOINTS, Health
from atoll.apiserver.metrics import Metrics
from atoll.apiserver.negotiation import accepts_gzip, wants_aggregated_discovery
from atoll.apiserver.openapi import OpenApi
from atoll.apiserver.options import first, parse_query
from atoll.apiserver.responding import json_response, text_response
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.status import method_not_allowed, unknown_resource
from atoll.exchange import Request, Response
from atoll.instruments.families import CONTENT_TYPE

_COUNTED = frozenset([*ENDPOINTS, "metrics", "version", "api", "apis", "openapi"])
_GO_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_FOREVER = "public, immutable"

_V2_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_V2_TYPE = _V2_ASKED.replace("@", ".")  # the one that is asked for cannot be read as a type


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of one server."""

    discovery: Discovery
    openapi: OpenApi
    health: Health
    metrics: Metrics
    signing: Signing

    def respond(self, request: Request, parts: tuple[str, ...]) -> Response:
        """Answer a request for a document; a path that has none is answered in plain text."""
        response = self._find(request, parts)
        if response is None:
            return self.missing()
        if request.method != "GET":
            raise method_not_allowed()
        return response

    def missing(self) -> Response:
        return text_response("404 page not found\n", 404)

    def _find(self, request: Request, parts: tuple[str, ...]) -> Response | None:
        match parts:
            case ("version",):
                return json_response(version())
            case (endpoint, *name) if endpoint in ENDPOINTS:
                return self.health.respond(endpoint, request.query, "/".join(name))
            case ("metrics",):
                return Response(200, {"Content-Type": CONTENT_TYPE}, self.metrics.text().encode())
            case (".well-known", "openid-configuration"):
                return _kept(json_response(configuration(self.signing)))
            case ("openid", "v1", "jwks"):
                return _kept(json_response(keys(self.signing)), KEYS_TYPE)
            case ():
                return json_response({"paths": self._paths()})
            case ("api" | "apis", *_):
                return self._discovery(request, parts)
            case ("openapi", "v2"):
                asked = request.headers.get("accept", "")
                wanted = any(each in asked for each in (_V2_ASKED, _V2_TYPE))
                document = self.openapi.swagger(_V2_TYPE if wanted else "application/json")
                return _unzipped(request, document, {"Vary": "Accept"})
            case ("openapi", "v3"):
                return _document(self.openapi.index(self.discovery.behind().openapi()))
            case ("openapi", "v3", *rest):
                return self._openapi(request, "/".join(rest))
        return None

    def counted_as(self, parts: tuple[str, ...]) -> str:
        """What a path is counted as among requests; one that nobody serves, as nothing."""
        return f"/{parts[0]}" if parts and parts[0] in _COUNTED else ""

    def _paths(self) -> list[str]:
        """Where there is something to be had, besides objects."""
        found = ["/apis", "/apis/", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/"]
        for endpoint in ENDPOINTS:
            found += [f"/{endpoint}", *(f"/{endpoint}/{n}" for n in self.health.of(endpoint))]
        return sorted([*found, "/api", "/version", *PATHS, *self.discovery.paths()])

    def _discovery(self, request: Request, parts: tuple[str, ...]) -> Response | None:
        aggregated = wants_aggregated_discovery(request.headers.get("accept", ""))
        document = self.discovery.document(parts, aggregated)
        if document is None:
            if self.discovery.document(parts[:-1]) is not None and parts[:-1] != ("apis",):
                raise unknown_resource()  # a version that a group we serve does not have
            return None
        headers = {"Content-Type": document.content_type}
        if not document.etag:
            return Response(200, headers, document.body)
        headers |= {"ETag": document.etag, "Vary": "Accept", "Cache-Control": "public"}
        if request.headers.get("if-none-match") == document.etag:
            return Response(304, headers)
        return Response(200, headers, document.body)

    def _openapi(self, request: Request, path: str) -> Response | None:
        document = self.openapi.document(path)
        if document is None:
            return None
        asked = first(parse_query(request.query), "hash")
        if asked and asked != self.openapi.hash_of(path):
            return Response(
                301, {"Location": f"/openapi/v3/{path}?hash={self.openapi.hash_of(path)}"}
            )
        return _unzipped(request, document, {"Cache-Control": _FOREVER} if asked else {})


def _unzipped(request: Request, document: Document, more: dict[str, str]) -> Response:
    """A gzipped document, in the form in which the client takes it."""
    headers = {"Content-Type": document.content_type, "ETag": document.etag, **more}
    if request.headers.get("if-none-match") == document.etag:
        return Response(304, headers)
    if not accepts_gzip(request.headers.get("accept-encoding", "")):
        return Response(200, headers, gzip.decompress(document.body))
    vary = ", ".join(each for each in (headers.get("Vary"), "Accept-Encoding") if each)
    zipped = {"Content-Encoding": "gzip", "Vary": vary}
    return Response(200, headers | zipped, document.body)


def _kept(response: Response, kind: str = "application/json") -> Response:
    """An answer that others may keep for a while."""
    headers = {"Content-Type": kind, "Cache-Control": KEPT}
    return Response(response.status, headers, response.body)


def _document(document: Document) -> Response:
    return Response(200, {"Content-Type": document.content_type}, document.body)


def version() -> dict[str, str]:
    # The Kubernetes whose behaviour is served; clients compare it with what they need.
    kubernetes = load().kubernetes
    machine = platform.machine()
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{kubernetes}+atoll-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"{platform.python_implementation()} {platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_GO_MACHINES.get(machine, machine)}",
    }
