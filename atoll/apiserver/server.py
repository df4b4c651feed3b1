"""The API server: a function from Request to Response.

authenticate -> speak for another, perhaps -> take a turn -> authorize -> whoever serves the path: a
server behind this one, a document, a branch, or a verb (`outcomes`). Whatever goes wrong on the way
ends as a Status. HTTP is not known here; `http` is a shell around `handle`.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from atoll.apiserver.access.impersonation import impersonated
from atoll.apiserver.aggregation.proxying import Proxy
from atoll.apiserver.audit.recording import Audit
from atoll.apiserver.authentication import MASTERS, Bearers, Identity, authenticate
from atoll.apiserver.authorization import Authorize
from atoll.apiserver.catalog import subresources
from atoll.apiserver.documents import Documents
from atoll.apiserver.metrics import Metrics, Trail
from atoll.apiserver.options import flag, parse_query, time_limit
from atoll.apiserver.outcomes import serving
from atoll.apiserver.resource import Branch, Errand, Resource
from atoll.apiserver.responding import status_response, with_headers
from atoll.apiserver.routing import DocumentRoute, ResourceRoute, Route, beyond_subresource, route
from atoll.apiserver.status import (
    ApiError,
    internal_error,
    method_not_allowed,
    timed_out,
    too_large,
    unavailable,
    unknown_resource,
)
from atoll.apiserver.turns import Turns
from atoll.apiserver.verbs.answering import admit_way
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.wanting import (
    attributes_of,
    authorize_as,
    document_attributes,
    seen_by,
    verb_of,
    wanted_by,
    watching_query,
)
from atoll.effects import stopwatch
from atoll.errors import NotDurable
from atoll.exchange import Request, Response
from atoll.interpreting.asking import Known, Unanswered
from atoll.runtime.stalls import Cause, doing_meanwhile

log = logging.getLogger("atoll.apiserver")

BODY_MAX = 3 * 1024 * 1024
QUESTIONS_MAX = 16
READING = ("GET", "HEAD", "OPTIONS")


@dataclass(slots=True)
class ApiServer:
    """A Kubernetes API over a store and a catalog of resources."""

    api: Api
    documents: Documents
    bearers: Bearers
    authorize: Authorize
    proxy: Proxy
    metrics: Metrics
    audit: Audit | None = None
    turns: Turns = field(default_factory=Turns)

    async def handle(self, request: Request) -> Response:
        """Answer one request. Never raises: what goes wrong is a Status too."""
        audit_id = request.headers.get("audit-id") or self.api.effects.chance.uuid("audit")
        trail = Trail(audit_id)
        metrics = self.metrics
        metrics.begin(request.method)
        started, code = stopwatch(), 0
        try:
            with doing_meanwhile(partial(_cause, request, trail)):
                response = await self._outcome(request, trail)
            code = response.status
        finally:
            metrics.end(request.method, request.query, trail, code, stopwatch() - started)
        response = with_headers(response, audit_id, trail.warnings)
        return response if trail.record is None else trail.record.answered(response, trail.resource)

    async def _outcome(self, request: Request, trail: Trail) -> Response:
        """What is answered, be it a refusal."""
        accept = request.headers.get("accept", "")
        try:
            return await self._answered(request, trail)
        except ApiError as error:
            return status_response(error, accept)
        except NotDurable as error:
            return status_response(unavailable(str(error)), accept)
        except Exception as error:
            said = {"method": request.method, "path": request.path}
            log.exception("%(method)s %(path)s failed", said)
            return status_response(internal_error(f"{type(error).__name__}: {error}"), accept)

    async def _answered(self, request: Request, trail: Trail) -> Response:
        """The response. What a hook has to ask others first is asked, and all is begun anew."""
        held: list[Known] = []
        while True:
            try:
                return await self._respond(request, trail)
            except Unanswered as question:
                if len(held) == QUESTIONS_MAX:
                    raise
                trail.warnings.clear()
                held.append(await question.find_out())

    async def _respond(self, request: Request, trail: Trail) -> Response:
        if len(request.body) > BODY_MAX:
            raise too_large(f"Request entity too large: limit is {BODY_MAX}")
        target = route(request.path)
        sender = self._sender(request, target, trail)
        identity = impersonated(request.headers, sender, self.authorize)
        if trail.record is not None:
            trail.record.speaks_as(identity)
        if MASTERS in sender.groups:
            return await self._served(request, target, identity, trail)
        places = self.turns.reading if request.method in READING else self.turns.writing
        if not places.take(sender.name):
            await places.wait_for(sender.name)
        try:
            return await self._served(request, target, identity, trail)
        finally:
            places.give_back(sender.name)

    async def _served(
        self, request: Request, target: Route | None, identity: Identity, trail: Trail
    ) -> Response:
        if target is None:
            return self.documents.missing()
        remote = self.proxy.find(target)
        if remote is not None:
            self.authorize(identity, wanted_by(request, target))
            return await self.proxy.serve(request, identity, remote, trail.audit_id)
        if isinstance(target, DocumentRoute):
            self.authorize(identity, document_attributes(request.method, target))
            trail.subresource = self.documents.counted_as(target.parts)
            return self.documents.respond(request, target.parts)
        return await self._resource(request, target, identity, trail)

    def _sender(self, request: Request, target: Route | None, trail: Trail) -> Identity:
        """Who sends this; ApiError 401 if that is not known. The audit is told either way."""
        if self.audit is None:
            return authenticate(request, self.bearers)
        try:
            sender = authenticate(request, self.bearers)
        except ApiError:
            trail.record = self.audit.begun(request, target, None, trail.audit_id)
            raise
        if trail.record is None:
            trail.record = self.audit.begun(request, target, sender, trail.audit_id)
        return sender

    async def _resource(
        self, request: Request, target: ResourceRoute, identity: Identity, trail: Trail
    ) -> Response:
        query = parse_query(request.query)
        if target.watched:
            query = watching_query(query, target.name)
        verb = verb_of(request.method, target, watching=flag(query, "watch"))
        known = self.api.catalog.find(target.group, target.version, target.plural)
        trail.resource, trail.verb = known, verb
        trail.scope = "resource" if target.name else "namespace" if target.namespace else "cluster"
        reading = known.reading if known is not None else None
        authorize_as(reading, self.authorize, identity, attributes_of(verb, target))
        resource = self._checked(known, target)
        if resource is None:
            return self.documents.missing()
        if resource.deprecation:
            trail.warnings.append(resource.deprecation)
        if reading is not None:
            resource = seen_by(resource, reading, self.authorize, identity, verb)
        trail.subresource = target.subresource
        branch = _branch(resource, target.subresource)
        if branch is not None:
            beyond = beyond_subresource(request.path, target)
            errand = Errand(request, identity, target.namespace, target.name, beyond)
            await admit_way(self.api, resource, branch, errand, query)
            return await branch.serve(errand)
        limit_s = time_limit(query)
        call = Call(
            request=request,
            resource=resource,
            identity=identity,
            query=query,
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            warnings=trail.warnings,
        )
        serve = serving(resource, target, verb)
        # Authorization takes HEAD for a GET, but nobody serves it.
        if serve is None or request.method == "HEAD" or _only_watched(request, target):
            raise method_not_allowed()
        if limit_s is None:  # as mostly
            return await serve(self.api, call)
        try:
            async with asyncio.timeout(limit_s):
                return await serve(self.api, call)
        except TimeoutError:
            raise timed_out() from None

    def _checked(self, resource: Resource | None, target: ResourceRoute) -> Resource | None:
        """The resource a path names; None if its group is not served, ApiError if it is."""
        if resource is None:
            if not self.api.catalog.versions(target.group):
                return None
            raise unknown_resource()
        branch = _branch(resource, target.subresource)
        if target.rest and (branch is None or not branch.goes_on):
            raise unknown_resource()
        if target.namespace and not resource.namespaced:
            raise unknown_resource()
        if target.subresource and target.watched:
            raise unknown_resource()
        if resource.answer is not None and resource.namespaced and not target.namespace:
            raise unknown_resource()
        if target.name and not (resource.stored and (target.namespace or not resource.namespaced)):
            raise unknown_resource()
        below = target.subresource
        if below and below not in [each.name for each in subresources(resource)]:
            raise unknown_resource()
        return resource


def _cause(request: Request, trail: Trail) -> Cause:
    """What a stall counts as that happens while a request is answered."""
    served = trail.resource
    return f"request: {trail.verb} {served.plural}" if served else "request", request.path


def _only_watched(request: Request, target: ResourceRoute) -> bool:
    """Whether this wants something else at a path of the old form, where one can only watch."""
    return target.watched and request.method != "GET"


def _branch(resource: Resource, name: str) -> Branch | None:
    if not name:  # as mostly
        return None
    return next((each for each in resource.branches if each.name == name), None)
