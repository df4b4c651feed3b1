"""What a request wants to do, in the words of authorization: a verb, and to what.

The method and the route come in, attributes go out. Whether that is served, or allowed, is not
known here.
"""

from atoll.apiserver.authorization import Attributes
from atoll.apiserver.options import Query, flag, parse_query
from atoll.apiserver.routing import DocumentRoute, ResourceRoute, Route
from atoll.exchange import Request

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
