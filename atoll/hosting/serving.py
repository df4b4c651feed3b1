"""What we serve at the host's request: our API, webhooks, and how we are.

Requests come in, responses go out. Only the host may ask for our API, which it does for callers it
has let in; whether we are well may be asked by anybody, how much we do by whom the host lets.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from atoll.apiserver.access.front_proxy import is_claim
from atoll.apiserver.access.signing import Signing
from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes, refusal
from atoll.apiserver.catalog import Catalog
from atoll.apiserver.custom import resources_of
from atoll.apiserver.discovery import Discovery
from atoll.apiserver.documents import Documents
from atoll.apiserver.health import ENDPOINTS, Health
from atoll.apiserver.metrics import Metrics
from atoll.apiserver.openapi import OpenApi
from atoll.apiserver.resource import Branch, Errand
from atoll.apiserver.responding import status_response, text_response
from atoll.apiserver.routing import ResourceRoute, beyond_subresource, route
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.status import ApiError, unauthorized, unavailable, unknown_resource
from atoll.client.api import ApiClient, Refused
from atoll.client.collection import Collection
from atoll.client.transport import Transport, Unreachable
from atoll.effects import Effects
from atoll.exchange import Request, Response
from atoll.hosting.admitting import Admitting
from atoll.hosting.definitions import cluster_definition
from atoll.hosting.enrolling import REVIEWS
from atoll.hosting.hosted import translated
from atoll.hosting.translating import SHOWN
from atoll.instruments.families import More
from atoll.wire import Wire

_TOKENS = Collection("authentication.k8s.io/v1", "TokenReview", "tokenreviews", namespaced=False)
_TOLD = ("uid", "groups", "extra")


async def check_reader(api: ApiClient, request: Request) -> None:
    """ApiError 401 or 403 unless a request is from somebody whom the host lets read its path."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthorized()
    try:
        reader = await _whose(api, token.strip())
        if reader is None:
            raise unauthorized()
        if not await _may(api, reader, request.path):
            raise refusal(Identity(reader["username"], ()), Attributes("get", path=request.path))
    except Refused as problem:
        raise unavailable(f"the host does not say who may read this: {problem}") from problem


async def _whose(api: ApiClient, token: str) -> Wire | None:
    """Whose token it is; None if nobody's."""
    answer = await api.create(_TOKENS, {"metadata": {}, "spec": {"token": token}})
    status = answer["status"]
    return status["user"] if status.get("authenticated") else None


async def _may(api: ApiClient, reader: Wire, path: str) -> bool:
    told = {key: reader[key] for key in _TOLD if key in reader}
    wanted = {"nonResourceAttributes": {"verb": "get", "path": path}}
    spec = {"user": reader["username"], **told, **wanted}
    answer = await api.create(REVIEWS, {"metadata": {}, "spec": spec})
    return bool(answer["status"]["allowed"])


_FOR_ALL = frozenset([*ENDPOINTS, "version"])
_FOR_READERS = "metrics"
_FOR_HOST = frozenset(["apis", "openapi"])


def documents_of(
    effects: Effects, health: Health, way: Branch, more: tuple[More, ...] = ()
) -> Documents:
    """What our API says of itself: one group, one version, one kind, and the way to clusters."""
    facts = load()
    (resource,) = resources_of(cluster_definition())
    catalog = Catalog([replace(resource, branches=(way,))], facts)
    signing = Signing.by_chance(effects.chance)  # nothing is signed here
    return Documents(Discovery(catalog), OpenApi(catalog, facts), health, Metrics(more), signing)


def resources_in(documents: Documents) -> bytes:
    """The list of what our version serves."""
    found = documents.discovery.document(("apis", SHOWN.group, SHOWN.version))
    assert found is not None, "it is the one version there is"
    return found.body


@dataclass(frozen=True, slots=True)
class Serving:
    """Answers the host. `who` says for whom it asks, or raises ApiError 401."""

    host: Transport
    documents: Documents
    who: Callable[[Request], Identity]
    admitting: Admitting
    way: Branch

    async def handle(self, request: Request) -> Response:
        """The answer to any request; never an exception."""
        try:
            return await self._answer(request)
        except ApiError as refusal:
            return status_response(refusal, request.headers.get("accept", ""))
        except Unreachable as problem:
            return status_response(unavailable(f"the host cannot be asked: {problem}"))

    async def _answer(self, request: Request) -> Response:
        parts = tuple(unquote(each) for each in request.path.split("/") if each)
        if parts and parts[0] in _FOR_ALL:
            return self.documents.respond(request, parts)
        if parts == (_FOR_READERS,):
            await check_reader(ApiClient(self.host), request)
            return self.documents.respond(request, parts)
        if not parts or parts[0] not in _FOR_HOST:
            if request.method == "POST" and (review := await self.admitting.serve(request)):
                return review
            return text_response("404 page not found\n", 404)
        identity = self.who(request)
        target = route(request.path)
        if not isinstance(target, ResourceRoute):
            return self.documents.respond(request, parts)
        shown = (SHOWN.group, SHOWN.version, SHOWN.plural)
        if target.namespace or (target.group, target.version, target.plural) != shown:
            raise unknown_resource()
        if target.subresource == self.way.name:
            beyond = beyond_subresource(request.path, target)
            said = {name: value for name, value in request.headers.items() if not is_claim(name)}
            errand = Errand(replace(request, headers=said), identity, "", target.name, beyond)
            return await self.way.serve(errand)
        if target.rest or target.subresource not in ("", "status"):
            raise unknown_resource()
        return await translated(self.host, request)
