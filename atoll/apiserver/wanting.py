"""What a request wants to do, in the words of authorization: a verb, and to what; and who may.

The method and the route come in, attributes go out. Some resources are read by whoever may read
another: an explanation tells of a binding, so it is read by whoever may read that binding, and what
it tells of others is only for those who may read these.
"""

from dataclasses import replace
from functools import partial

from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes, Authorize, may
from atoll.apiserver.options import Query, flag, parse_query
from atoll.apiserver.resource import Reading, Resource
from atoll.apiserver.routing import DocumentRoute, ResourceRoute, Route
from atoll.exchange import Request
from atoll.wire import Wire

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def verb_of(method: str, target: ResourceRoute, *, watching: bool) -> str:
    """What authorization calls this request."""
    if target.watched:
        return "watch"
    one = bool(target.name)
    match method:
        case "GET" | "HEAD":
            return "get" if one else "watch" if watching else "list"
        case "DELETE":
            return "delete" if one else "deletecollection"
    return _VERBS.get(method, "")  # what is no verb for resources, nobody has a right to


def watching_query(query: Query, name: str) -> Query:
    """What a path of the old form says, said as a query: watch, and perhaps one object only."""
    one = [f"metadata.name={name}"] if name else []
    selected = [text for text in query.get("fieldSelector", ()) if text]
    return {**query, "watch": ["true"], "fieldSelector": [",".join([*selected, *one])]}


def attributes_of(verb: str, target: ResourceRoute) -> Attributes:
    namespace = target.namespace
    if not target.group and target.plural == "namespaces":
        namespace = target.name
    return Attributes(verb, target.group, target.plural, namespace, target.name, target.subresource)


def document_attributes(method: str, target: DocumentRoute) -> Attributes:
    return Attributes(method.lower(), path="/" + "/".join(target.parts))


def wanted_by(request: Request, target: Route) -> Attributes:
    """All that authorization looks at, of any request."""
    if isinstance(target, DocumentRoute):
        return document_attributes(request.method, target)
    watching = flag(parse_query(request.query), "watch")
    return attributes_of(verb_of(request.method, target, watching=watching), target)


_READS = frozenset(["get", "list", "watch"])


def authorize_as(
    reading: Reading | None, authorize: Authorize, identity: Identity, wanted: Attributes
) -> None:
    """ApiError 403 unless this identity may do this; `reading` says as what it is read."""
    if reading is None:
        authorize(identity, wanted)
    elif wanted.verb in _READS:
        authorize(identity, wanted._replace(group=reading.group, plural=reading.plural))
    else:
        authorize(identity, wanted)
        authorize(identity, Attributes("list", reading.group, reading.plural))


def seen_by(
    resource: Resource, reading: Reading, authorize: Authorize, identity: Identity, verb: str
) -> Resource:
    """The resource as this identity is shown it."""
    if verb not in _READS:
        return resource

    def from_stored(stored: Wire) -> Wire:
        return reading.shown(resource.from_stored(stored), partial(may, authorize, identity))

    return replace(resource, from_stored=from_stored, shared=False)
