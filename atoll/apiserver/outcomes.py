"""Who serves a verb, and what it comes to in the form the client asked for.

In: a call that is allowed. Out: its Response. The verbs themselves give and take objects; which of
them a path means, and how objects go out, is put together here.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from atoll.apiserver.fields import error as fields
from atoll.apiserver.negotiation import MEDIA_TYPES, negotiate
from atoll.apiserver.options import first, flag, list_options
from atoll.apiserver.resource import Resource
from atoll.apiserver.responding import (
    ANSWER_SHAPES,
    ITEM_SHAPES,
    LIST_SHAPES,
    list_response,
    object_response,
    objects_response,
    record_response,
    stream_response,
    written_response,
)
from atoll.apiserver.routing import ResourceRoute
from atoll.apiserver.shaping import Shaper
from atoll.apiserver.status import bad_request, misshapen, not_acceptable
from atoll.apiserver.verbs.answering import answer
from atoll.apiserver.verbs.binding import bind
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.creating import create
from atoll.apiserver.verbs.deleting import delete, delete_collection
from atoll.apiserver.verbs.evicting import evict
from atoll.apiserver.verbs.patching import patch
from atoll.apiserver.verbs.reading import get_as_asked, list_records
from atoll.apiserver.verbs.scaling import get_scale, patch_scale, update_scale
from atoll.apiserver.verbs.tokens import request_token
from atoll.apiserver.verbs.updating import finalize, update
from atoll.apiserver.verbs.watching import watch
from atoll.apiserver.verbs.writing import Written
from atoll.exchange import Request, Response
from atoll.wire import Wire

_INCLUDES = ("None", "Metadata", "Object")

Verb = Callable[[Api, Call], Awaitable[Response]]


def serving(resource: Resource, target: ResourceRoute, verb: str) -> Verb | None:
    """Who serves this verb at this depth of the path; None if nobody does."""
    if target.subresource:
        return _SUBRESOURCES[target.subresource].get(verb)
    if target.name:
        return _ONE.get(verb) if verb in resource.verbs else None
    # Objects of a namespaced kind are made and swept away inside a namespace only.
    if resource.namespaced and not target.namespace and verb in ("create", "deletecollection"):
        return None
    if verb not in resource.verbs:
        return None
    if not resource.stored:
        return _answer if resource.answer is not None else _bind
    return _MANY.get(verb)


def _is_a_person(request: Request) -> bool:
    """Whether a person is likely to read the answer as it is."""
    return request.headers.get("user-agent", "").startswith(("curl", "Wget", "Mozilla/5.0"))


def _shaper(api: Api, call: Call, shapes: frozenset[str]) -> Shaper:
    wanted = negotiate(call.request.headers.get("accept", ""))
    if wanted.shape and wanted.shape not in shapes:
        if wanted.shape == "Table":
            raise not_acceptable(MEDIA_TYPES, understood=True)
        raise misshapen(wanted.shape, _go_type(call.resource))
    if flag(call.query, "pretty") or _is_a_person(call.request):
        wanted = replace(wanted, pretty=True)
    include = first(call.query, "includeObject") or "Metadata"
    if include not in _INCLUDES:
        allowed = "must be 'Metadata', 'Object', 'None', or empty"
        error = fields.invalid("includeObject", include, allowed)
        raise bad_request(f"Unable to convert to Table as requested: {error}")
    return Shaper(call.resource, wanted, api.now, include)


def _go_type(resource: Resource) -> str:
    """What Kubernetes calls the kind inside, without its star."""
    if resource.definition is not None:
        return "unstructured.Unstructured"
    return f"{resource.group.partition('.')[0] or 'core'}.{resource.kind}"


async def _get(api: Api, call: Call) -> Response:
    return record_response(_shaper(api, call, ITEM_SHAPES), await get_as_asked(api, call))


async def _list(api: Api, call: Call) -> Response:
    accepted = call.request.headers.get("accept-encoding", "")
    return list_response(_shaper(api, call, LIST_SHAPES), await list_records(api, call), accepted)


async def _watch(api: Api, call: Call) -> Response:
    shaper = _shaper(api, call, ITEM_SHAPES)
    if shaper.content_type != "application/json":
        raise not_acceptable(["application/json"], understood=True)
    return stream_response(shaper, await watch(api, call, shaper))


def _writing(act: Callable[[Api, Call], Awaitable[Written]]) -> Verb:
    """Answers with what was written."""

    async def serve(api: Api, call: Call) -> Response:
        shaper = _shaper(api, call, ITEM_SHAPES)
        written = await act(api, call)
        return written_response(shaper, written, 201 if written.created else 200)

    return serve


def _giving(act: Callable[[Api, Call], Awaitable[Wire]], status: int) -> Verb:
    """Answers with an object."""

    async def serve(api: Api, call: Call) -> Response:
        return object_response(_shaper(api, call, ITEM_SHAPES), await act(api, call), status)

    return serve


async def _answer(api: Api, call: Call) -> Response:
    return object_response(_shaper(api, call, ANSWER_SHAPES), answer(api, call), 201)


async def _delete_collection(api: Api, call: Call) -> Response:
    list_options(call.query)
    shaper = _shaper(api, call, LIST_SHAPES)
    objects = await delete_collection(api, call)
    return objects_response(shaper, objects, api.store.revision)


async def _token(api: Api, call: Call) -> Response:
    return object_response(_shaper(api, call, ITEM_SHAPES), request_token(api, call), 201)


_bind = _giving(bind, 201)
_CHANGED: dict[str, Verb] = {"get": _get, "update": _writing(update), "patch": _writing(patch)}
_ONE: dict[str, Verb] = {**_CHANGED, "delete": _giving(delete, 200), "watch": _watch}
_MANY: dict[str, Verb] = {
    "list": _list,
    "watch": _watch,
    "create": _writing(create),
    "deletecollection": _delete_collection,
}
_SUBRESOURCES: dict[str, dict[str, Verb]] = {
    **dict.fromkeys(("status", "approval", "ephemeralcontainers", "resize"), _CHANGED),
    "binding": {"create": _bind},
    "eviction": {"create": _giving(evict, 201)},
    "scale": {
        "get": _giving(get_scale, 200),
        "update": _giving(update_scale, 200),
        "patch": _giving(patch_scale, 200),
    },
    "finalize": {"update": _writing(finalize)},
    "token": {"create": _token},
}
