"""One question to all clusters at once: `clusters/*/proxy/...`.

A request and a way to ask each cluster come in; lists are put together into one, an object is asked
for where it is. Clusters that do not answer, or have no such thing, are left out.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from atoll.apiserver.responding import json_response
from atoll.apiserver.routing import ResourceRoute, route
from atoll.apiserver.status import ApiError, method_not_allowed, unknown_resource
from atoll.client.transport import closing, whole
from atoll.exchange import Request, Response
from atoll.runtime.children import Children

CACHED_FROM = "resource.karmada.io/cached-from-cluster"
Ask = Callable[[str], Awaitable[Response]]


async def ask_all(clusters: Sequence[str], request: Request, ask: Ask) -> Response:
    """What all of them have together; of a single object, what the one that has it answers."""
    target = route(request.path)
    if not isinstance(target, ResourceRoute):
        raise unknown_resource()
    if request.method != "GET" or "watch=1" in request.query or "watch=true" in request.query:
        raise method_not_allowed()
    names = sorted(clusters)
    async with Children("all clusters") as children:
        asked = {name: children.spawn(_answer(ask, name), name) for name in names}
        answers = {name: await task for name, task in asked.items()}
    found = {name: one for name, one in answers.items() if one is not None}
    if not found:
        raise ApiError(404, "NotFound", "no cluster has it, or lets you see it", details={})
    if not target.name:
        return json_response(_together(found))
    if len(found) > 1:
        message = f"it is in more than one cluster: {', '.join(found)}; ask one of them"
        raise ApiError(409, "Conflict", message, details={})
    return next(iter(found.values()))


async def _answer(ask: Ask, name: str) -> Response | None:
    try:
        response = await ask(name)
    except ApiError:
        return None
    if response.status == 200:
        return await whole(response)
    if response.stream is not None:
        async with closing(response.stream):
            pass
    return None


def _together(answers: dict[str, Response]) -> dict[str, Any]:
    """One list of all, each item saying where it is from."""
    lists = {name: orjson.loads(answer.body) for name, answer in answers.items()}
    first = next(iter(lists.values()))
    items = [
        _said_from(name, item) for name, each in lists.items() for item in each.get("items") or ()
    ]
    return {**first, "metadata": {"resourceVersion": ""}, "items": items}


def _said_from(cluster: str, item: dict[str, Any]) -> dict[str, Any]:
    metadata = item.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), CACHED_FROM: cluster}
    return {**item, "metadata": {**metadata, "annotations": annotations}}
