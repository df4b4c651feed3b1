"""A host as a plane: the one way to it on which there are Clusters.

A transport to a real API server comes in, and one goes out on which `clusters.cluster.karmada.io`
is served too, by translation into what is kept there (`translating`). The controllers use it in
process, and our aggregated API answers with it; who asks is known elsewhere.
"""

from collections.abc import AsyncIterator
from typing import Any, cast

import orjson

from atoll.apiserver.fields.error import invalid as invalid_field
from atoll.apiserver.responding import status_response
from atoll.apiserver.status import ApiError, conflict, invalid
from atoll.client.transport import Closing, Transport, whole
from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.exchange import Request, Response
from atoll.hosting.translating import (
    SHOWN,
    inward,
    is_for_objects,
    line_outward,
    outward,
    told_headers,
)

_ATTEMPTS = 5


class Hosted:
    """The way to a host; requests for Clusters are translated, all others go on as they are."""

    def __init__(self, host: Transport, resources: bytes) -> None:
        self._host = host
        self._resources = resources  # the list of what our own group serves

    async def send(self, request: Request) -> Response:
        if request.path == SHOWN.root:
            return Response(200, {"content-type": "application/json"}, self._resources)
        if not is_for_objects(request.path):
            return await self._host.send(request)
        try:
            return await translated(self._host, request)
        except ApiError as refusal:
            return status_response(refusal, request.headers.get("accept", ""))

    async def close(self) -> None:
        await self._host.close()


async def translated(host: Transport, request: Request) -> Response:
    """What a host answers to a request for Clusters; ApiError, or Unreachable if it does not."""
    meant = inward(request)
    metadata = _metadata(meant.body)
    if request.method == "POST":
        _check_name(metadata)
    if request.method == "PUT" and metadata and not metadata.get("resourceVersion"):
        return outward(request, await _put_anyhow(host, meant))
    response = await host.send(meant)
    if response.stream is not None and response.status == 200 and _is_watch(request):
        return Response(200, told_headers(response.headers), stream=_Lines(response.stream))
    return outward(request, await whole(response))


def _is_watch(request: Request) -> bool:
    return any(each in ("watch=1", "watch=true", "watch=True") for each in request.query.split("&"))


def _check_name(metadata: dict[str, Any]) -> None:
    """ApiError 422 for a name that no cluster has: a host has other names in mind."""
    name = metadata.get("name")
    if isinstance(name, str) and (wrong := name_problems(name)):
        errors = [invalid_field("metadata.name", name, each) for each in wrong]
        raise invalid(SHOWN.kind, SHOWN.group, name, errors)


def _metadata(body: bytes) -> dict[str, Any]:
    """What a body says of an object's metadata; if it makes no sense, the host will say so."""
    try:
        found = orjson.loads(body)["metadata"]
    except (ValueError, TypeError, KeyError):
        return {}
    return found if isinstance(found, dict) else {}


async def _put_anyhow(host: Transport, meant: Request) -> Response:
    """Replace an object whatever version it is in: Clusters may be, what is kept of them not."""
    wire = orjson.loads(meant.body)
    path = meant.path.removesuffix("/status")
    for _ in range(_ATTEMPTS):
        ask = Request("GET", path, "", {"accept": "application/json"})
        found = await whole(await host.send(ask))
        if found.status != 200:
            return found
        version = orjson.loads(found.body)["metadata"]["resourceVersion"]
        sent = {**wire, "metadata": {**wire["metadata"], "resourceVersion": version}}
        put = Request("PUT", meant.path, meant.query, meant.headers, orjson.dumps(sent))
        answer = await whole(await host.send(put))
        if answer.status != 409:
            return answer
    raise conflict(SHOWN.plural, SHOWN.group, path.rpartition("/")[2], "it changes all the time")


class _Lines:
    """The events of a watch, translated one by one, however the bytes are cut.

    No generator: that would not close what it reads from before it has begun.
    """

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._rest = b""

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> bytes:
        while True:
            piece = await anext(self._stream)
            *lines, self._rest = (self._rest + piece).split(b"\n")
            told = b"".join(line_outward(line) + b"\n" for line in lines if line)
            if told:
                return told

    async def aclose(self) -> None:
        await cast(Closing, self._stream).aclose()
