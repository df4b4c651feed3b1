"""A collection of a member, followed page by page and change by change, of which no object is kept.

The raw bytes of each object are handed on as they come, and the key of each that is gone; after
a list, whatever was not in it is gone. A watch that breaks off goes on where it was, as long as the
member still has that history; else all is listed again. Followed for ever, with growing pauses
while there is no answer. Nodes and pods of a member are followed so as columns, for as long as
somebody needs them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

import msgspec
from msgspec import Raw

from atoll.client.api import ApiClient, Head
from atoll.client.collection import Collection
from atoll.client.refusals import Expired, Refused, refusal
from atoll.client.transport import Unreachable
from atoll.errors import Invalid
from atoll.members.columns import Columns
from atoll.members.reading import read_node, read_pod
from atoll.runtime.children import report_failure

log = logging.getLogger("atoll.members")

NODES = Collection("v1", "Node", "nodes", namespaced=False)
PODS = Collection("v1", "Pod", "pods", namespaced=True)

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_PAGE = 500
_AT_ONCE = 50


class _ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    rest: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    items: list[Raw] | None = None
    metadata: _ListMetadata = _ListMetadata()


class _Event(msgspec.Struct, frozen=True):
    object: Raw


_lists = msgspec.json.Decoder(_List)
_events = msgspec.json.Decoder(_Event)


@dataclass(frozen=True, slots=True)
class Sink:
    """Where objects go: `take` takes one and gives its key, `drop` lets go of one by its key.

    `known` are those there are, `key` is that of an object of which only the head is known.
    """

    take: Callable[[Raw], str]
    drop: Callable[[str], None]
    known: Callable[[], Iterable[str]]
    key: Callable[[Head], str]


class Following:
    """One collection and where it goes to; `ready` once it was listed."""

    def __init__(self, api: ApiClient, collection: Collection, sink: Sink, of: str) -> None:
        self._of = of
        self.name = collection.plural
        self.ready = asyncio.Event()
        self._api = api
        self._collection = collection
        self._sink = sink
        self._version = ""
        """How far it was followed; empty if all must be listed."""
        self._trouble = ""

    async def run(self) -> None:
        """Follow the collection, for ever."""
        pause_s = _FIRST_PAUSE_S
        while True:
            reached = self._version
            try:
                if not self._version:
                    await self._list()
                    self.ready.set()
                await self._watch()
            except Expired:
                self._version = ""
            except Unreachable as problem:
                said = {"what": self.name, "of": self._of, "err": problem}
                log.debug("The %(what)s of %(of)s are out of reach: %(err)s", said)
            except (Refused, msgspec.DecodeError) as problem:
                self._tell(str(problem))
            if self._version != reached:
                pause_s = _FIRST_PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _tell(self, trouble: str) -> None:
        """Say why nothing is told of the collection; the same is said once."""
        if trouble != self._trouble:
            self._trouble = trouble
            said = {"what": self.name, "of": self._of, "err": trouble}
            log.warning("The %(what)s of %(of)s cannot be counted: %(err)s", said)

    async def _list(self) -> None:
        present: set[str] = set()
        page = await self._page()
        present.update([self._take(item) async for item in _slowly(page.items)])
        while page.metadata.rest:
            page = await self._page(page.metadata.rest)
            present.update([self._take(item) async for item in _slowly(page.items)])
        for key in [each for each in self._sink.known() if each not in present]:
            self._sink.drop(key)
        self._version, self._trouble = page.metadata.resource_version, ""

    async def _page(self, rest: str = "") -> _List:
        query = {"limit": str(_PAGE)} | ({"continue": rest} if rest else {})
        answer = await self._api.read(self._collection.path(), urlencode(query))
        if answer.status != 200:
            raise refusal(answer.status, answer.body)
        return _lists.decode(answer.body)

    async def _watch(self) -> None:
        """Follow the changes from where it was, until the stream ends."""
        async with self._api.watch(self._collection, self._version) as changes:
            async for change in changes:
                if change.kind == "DELETED":
                    self._sink.drop(self._sink.key(change.head))
                elif change.kind != "BOOKMARK":
                    self._take(_events.decode(change.line).object)
                self._version = change.head.resource_version

    def _take(self, item: Raw) -> str:
        """Hand an object on, and say its key; what cannot be read is reported and left out."""
        try:
            return self._sink.take(item)
        except (Invalid, msgspec.DecodeError) as problem:
            report_failure(f"counting {self.name} of {self._of}", problem)
            return ""


async def _slowly(items: list[Raw] | None) -> AsyncIterator[Raw]:
    """These items, with turns for others between them."""
    for number, item in enumerate(items or (), 1):
        yield item
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)


class Observation:
    """What is seen of a member's nodes and pods."""

    def __init__(self, api: ApiClient, of: str) -> None:
        self.columns = Columns()
        columns = self.columns
        self.followings = (
            Following(api, NODES, _nodes(columns), of),
            Following(api, PODS, _pods(columns), of),
        )
        """To be run by whoever observes, for as long as it does."""

    @property
    def complete(self) -> bool:
        """Whether all nodes and pods that there were have been counted."""
        return all(each.ready.is_set() for each in self.followings)

    async def until_complete(self) -> None:
        for each in self.followings:
            await each.ready.wait()


def _nodes(columns: Columns) -> Sink:
    def take(item: Raw) -> str:
        name, facts = read_node(item)
        columns.put_node(name, facts)
        return name

    return Sink(take, columns.drop_node, lambda: columns.nodes, lambda head: head.name)


def _pods(columns: Columns) -> Sink:
    def take(item: Raw) -> str:
        key, facts = read_pod(item)
        columns.put_pod(key, facts)
        return key

    def key(head: Head) -> str:
        return f"{head.namespace}/{head.name}"

    return Sink(take, columns.drop_pod, lambda: columns.pods, key)
