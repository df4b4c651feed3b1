"""An API server by verbs: create, read, replace, delete, list and watch plain objects.

Objects go in and come out as dictionaries; what the server refuses is raised by what it means for
the caller. Who asks, and how bytes get there, is the transport's business.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec
import orjson

from atoll import __version__
from atoll.client.collection import Collection as Collection
from atoll.client.refusals import Expired as Expired
from atoll.client.refusals import Missing as Missing
from atoll.client.refusals import Refused as Refused
from atoll.client.refusals import Stale as Stale
from atoll.client.refusals import Taken as Taken
from atoll.client.refusals import refusal, refused
from atoll.client.transport import Transport, Unreachable, closing, whole
from atoll.exchange import Request, Response
from atoll.wire import Wire

_HEAD = ("apiVersion", "kind", "metadata")
_PAGE = 500
_JSON = {
    "content-type": "application/json",
    "accept": "application/json",
    "user-agent": f"atoll/{__version__}",
}
_APPLY = {**_JSON, "content-type": "application/apply-patch+yaml"}


class Head(msgspec.Struct, frozen=True, rename="camel"):
    """Which object, and which version of it: read without decoding the rest."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Headed(msgspec.Struct, frozen=True):
    metadata: Head = Head()


class _Frame(msgspec.Struct, frozen=True):
    type: str
    object: _Headed


# Gives an object as this side knows it already, in the very version that is named.
Known = Callable[[Head], Wire | None]
_headed = msgspec.json.Decoder(_Headed)
_framed = msgspec.json.Decoder(_Frame)


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a watch; a bookmark has no object, only the version reached."""

    kind: str
    head: Head
    line: bytes

    def decoded(self) -> Wire:
        """The object; most who follow what they write themselves know it already."""
        wire: Wire = orjson.loads(self.line)["object"]
        return wire


@dataclass(frozen=True, slots=True)
class Page:
    """Some objects of a list, its version, and how to ask for the rest; empty at the end."""

    items: Sequence[Wire]
    version: str
    rest: str


class ApiClient:
    """One API server, as one user."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, path: str) -> Wire:
        return await self._ask("GET", path)

    async def find(self, path: str) -> Wire | None:
        """An object; None if it is not there."""
        try:
            return await self.get(path)
        except Missing:
            return None

    async def read(
        self, path: str, query: str = "", headers: Mapping[str, str] | None = None
    ) -> Response:
        """The whole answer at a path as it came, whatever the server says."""
        request = Request("GET", path, query, {**_JSON, **(headers or {})})
        return await whole(await self._transport.send(request))

    async def create(
        self, collection: Collection, wire: Mapping[str, Any], known: Known | None = None
    ) -> Wire:
        """Create an object, and give what was stored; as it is `known`, if it is by then."""
        namespace = wire["metadata"].get("namespace", "")
        return await self._ask("POST", collection.path(namespace), wire, known)

    async def replace(
        self,
        collection: Collection,
        wire: Mapping[str, Any],
        subresource: str = "",
        known: Known | None = None,
    ) -> Wire:
        """Replace an object, and give what was stored; as it is `known`, if it is by then."""
        sent = {key: wire[key] for key in wire if not subresource or key in (*_HEAD, subresource)}
        return await self._ask("PUT", collection.path_of(wire, subresource), sent, known)

    async def apply(self, path: str, wire: Mapping[str, Any], manager: str) -> Wire:
        """Have an object say this, whoever else has said otherwise; the rest of it stays."""
        query = urlencode({"fieldManager": manager, "force": "true"})
        return await self._ask("PATCH", path, wire, query=query, form=_APPLY)

    async def delete(
        self, collection: Collection, wire: Mapping[str, Any], *, unchanged: bool = False
    ) -> Wire | None:
        """Delete an object in the background, if it still has this uid; give it if it lingers.

        With `unchanged`, only if it also is at this very version.
        """
        metadata, told = wire["metadata"], ("uid", "resourceVersion") if unchanged else ("uid",)
        options = {
            "propagationPolicy": "Background",
            "preconditions": {key: metadata[key] for key in told},
        }
        answer = await self._ask("DELETE", collection.path_of(wire), options)
        return answer if "metadata" in answer and answer.get("kind") != "Status" else None

    async def list(self, collection: Collection) -> tuple[list[Wire], str]:
        """All objects, each with its kind, and the version of the list."""
        items: list[Wire] = []
        page = await self.page(collection)
        items += page.items
        while page.rest:
            page = await self.page(collection, page.rest)
            items += page.items
        return items, page.version

    async def page(self, collection: Collection, rest: str = "") -> Page:
        """The first objects of a collection, or the next of what an earlier page left."""
        query = {"limit": str(_PAGE), **collection.selecting}
        query |= {"continue": rest} if rest else {}
        answer = await self._ask("GET", collection.path(), query=urlencode(query))
        kind = {"apiVersion": collection.api_version, "kind": collection.kind}
        found, metadata = answer.get("items") or [], answer.get("metadata") or {}
        if not isinstance(found, list) or "resourceVersion" not in metadata:
            raise _senseless("GET", collection.path(), "it is no list")
        items = [{**kind, **item} for item in found]
        return Page(items, metadata["resourceVersion"], metadata.get("continue") or "")

    @asynccontextmanager
    async def watch(
        self, collection: Collection, version: str
    ) -> AsyncIterator[AsyncIterator[Change]]:
        """The changes after a version, until the server ends the stream."""
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        wanted = urlencode(query | collection.selecting)
        request = Request("GET", collection.path(), wanted, {"accept": "application/json"})
        response = await self._transport.send(request)
        if response.stream is None or response.status != 200:
            answer = await whole(response)
            raise refusal(answer.status, answer.body)
        async with closing(response.stream):
            yield _changes(response.stream)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        known: Known | None = None,
        *,
        query: str = "",
        form: Mapping[str, str] = _JSON,
    ) -> Wire:
        content = b"" if body is None else orjson.dumps(body)
        response = await whole(
            await self._transport.send(Request(method, path, query, form, content))
        )
        if response.status >= 300:
            raise refusal(response.status, response.body)
        try:
            there = known(_headed.decode(response.body).metadata) if known is not None else None
            if there is not None:
                return there
            answer = orjson.loads(response.body) if response.body else {}
        except ValueError as error:
            raise _senseless(method, path, str(error)) from error
        if not isinstance(answer, dict):
            raise _senseless(method, path, "it is no object")
        return answer


def _senseless(method: str, path: str, why: str) -> Unreachable:
    """For an answer that no API server gives: something else has answered in its place."""
    return Unreachable(f"the answer to {method} {path} makes no sense: {why}")


async def _changes(stream: AsyncIterator[bytes]) -> AsyncIterator[Change]:
    """Lines of JSON, however the bytes are cut; an error among them is raised."""
    rest = b""
    async for piece in stream:
        *lines, rest = (rest + piece).split(b"\n")
        for line in filter(None, lines):
            try:
                frame = _framed.decode(line)
            except ValueError as error:
                raise Unreachable(f"what a watch told makes no sense: {error}") from error
            change = Change(frame.type, frame.object.metadata, line)
            if change.kind == "ERROR":
                status = change.decoded()
                raise refused(status.get("code", 500), status)
            yield change
