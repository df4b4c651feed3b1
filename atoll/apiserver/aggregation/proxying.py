"""Handing a request on to a server behind this one, and its answer back, whatever it is.

Watches, uploads and changed protocols go through as they come. The caller's credentials stay here;
the server behind is shown this one's certificate as front proxy, and told who asks.
"""

from dataclasses import dataclass

from atoll.apiserver.access.front_proxy import headers_of, is_claim, sent_on, told_back
from atoll.apiserver.aggregation.aggregator import Aggregator
from atoll.apiserver.aggregation.remote import Remote
from atoll.apiserver.authentication import Identity
from atoll.apiserver.responding import text_response
from atoll.apiserver.routing import ResourceRoute, Route
from atoll.client.transport import Unreachable, closing
from atoll.errors import UsageError
from atoll.exchange import Request, Response

_REDIRECTED = b"the backend attempted to redirect this request, which is not permitted"


@dataclass(frozen=True, slots=True)
class Proxy:
    """Answers for the servers behind this one."""

    aggregator: Aggregator

    def find(self, target: Route) -> Remote | None:
        """The server behind this one that a path leads to; None for a path that ends here."""
        remotes = self.aggregator.behind.remotes
        if not remotes:  # as mostly
            return None
        if isinstance(target, ResourceRoute):
            return remotes.get((target.group, target.version))
        match target.parts:
            case ("apis", group, version) | ("openapi", "v3", "apis", group, version):
                return remotes.get((group, version))
            case ("api", version):
                return remotes.get(("", version))
        return None

    async def serve(
        self, request: Request, identity: Identity, remote: Remote, audit_id: str
    ) -> Response:
        """What the server behind answers; that it cannot be asked is said as plain text."""
        if not remote.available:
            return _unavailable()
        try:
            way = await self.aggregator.way(remote)
            if way is None:
                return _unavailable()
            response = await way.carrying.send(_forwarded(request, identity, audit_id))
        except (Unreachable, UsageError) as error:
            self.aggregator.doubt(remote)
            return text_response(f"error trying to reach service: {error}\n", 503)
        if 300 <= response.status < 400 and "location" in response.headers:
            # A client would follow it with its credentials, wherever it leads.
            if response.stream is not None:
                async with closing(response.stream):
                    return Response(502, {}, _REDIRECTED)
            return Response(502, {}, _REDIRECTED)
        return told_back(response)


def _unavailable() -> Response:
    return text_response("service unavailable\n", 503)


def _forwarded(request: Request, identity: Identity, audit_id: str) -> Request:
    """The request as the server behind shall see it."""
    sent = sent_on(request.headers)
    kept = {name: value for name, value in sent.items() if not is_claim(name)}
    headers = {**kept, **headers_of(identity), "audit-id": audit_id}
    return Request(request.method, request.path, request.query, headers, request.body)
