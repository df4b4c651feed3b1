"""Stored bytes in the form a client asked for: as they are, as a Table, as metadata, as YAML.

The plain JSON form costs nothing: an object goes out as the bytes it is stored in, and a list is
those bytes joined.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import orjson

from atoll.apiserver.bodies.encoding import encode_yaml
from atoll.apiserver.negotiation import Representation
from atoll.apiserver.resource import Resource
from atoll.apiserver.tables import partial, partial_list, table
from atoll.wire import Wire


@dataclass(eq=False)
class Shaper:
    """One client's wish, applied to any number of objects of one resource."""

    resource: Resource
    wanted: Representation
    now: Callable[[], datetime]
    include: str
    _columns_told: bool = False

    @cached_property
    def _head(self) -> bytes:
        """How every object of a built-in kind begins."""
        if self.resource.custom:
            return b"{"
        kind, version = self.resource.kind, self.resource.api_version
        return f'{{"kind":"{kind}","apiVersion":"{version}",'.encode()

    @property
    def content_type(self) -> str:
        return self.wanted.media_type

    @property
    def plain(self) -> bool:
        """Whether objects go out as the very bytes that are stored."""
        return not self.wanted.shape and self.wanted.media_type == "application/json"

    @property
    def shareable(self) -> bool:
        """Whether what one client is sent can be sent to another too; ages in Tables differ."""
        return self.wanted.shape != "Table"

    @property
    def key(self) -> tuple[str, str]:
        return (self.wanted.shape, self.wanted.version)

    def one(self, value: bytes) -> bytes:
        """One object, answered to a get or a write."""
        if self.plain and not self.wanted.pretty:
            return value
        obj = orjson.loads(value)
        match self.wanted.shape:
            case "Table":
                obj = self._table([obj])
            case "PartialObjectMetadata":
                obj = partial(obj, self.wanted.version)
        return self.encode(obj)

    def event(self, value: bytes) -> bytes:
        """One object inside a watch event; only the first Table names its columns."""
        if self.wanted.shape != "Table":
            return self.one(value)
        obj = orjson.loads(value)
        shown = self._table([obj])
        if self._columns_told:
            shown["columnDefinitions"] = None
        self._columns_told = True
        return orjson.dumps(shown)

    def _table(self, objects: list[Wire]) -> Wire:
        return table(self.resource, objects, self.now(), self.include, self.wanted.version)

    def many(self, values: Sequence[bytes], head: Wire) -> bytes:
        """A list with this metadata."""
        if not self.plain or self.wanted.pretty:
            return self.encode(self._list(values, head))
        opening = b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[' % (
            self.resource.list_kind.encode(),
            self.resource.api_version.encode(),
            orjson.dumps(head),
        )
        return _joined(opening, [self._inside(value) for value in values], b"]}")

    def _inside(self, value: bytes) -> memoryview:
        """An item of a list, from behind its brace: of built-in kinds it does not say again what
        the list says."""
        head = self._head
        return memoryview(value)[len(head) if value.startswith(head) else 1 :]

    def _list(self, values: Sequence[bytes], head: Wire) -> Wire:
        objects = [orjson.loads(value) for value in values]
        match self.wanted.shape:
            case "Table":
                return {**self._table(objects), "metadata": head}
            case "PartialObjectMetadataList":
                return {**partial_list(objects, self.wanted.version), "metadata": head}
        return {
            "kind": self.resource.list_kind,
            "apiVersion": self.resource.api_version,
            "metadata": head,
            "items": [orjson.loads(b"{" + self._inside(value)) for value in values],
        }

    def frame(self, head: Wire) -> tuple[bytes, bytes, bytes]:
        """What comes before, between and after the items of a list that is written in pieces."""
        document = self._list([], head)
        key = "rows" if "rows" in document else "items"
        text = self.encode(document)
        if self.wanted.media_type == "application/yaml":
            before, _, after = text.partition(b"\n%b: []\n" % key.encode())
            return b"%b\n%b:\n" % (before, key.encode()), b"", after
        before, _, after = text.rpartition(b"[]")
        if self.wanted.pretty:
            return before + b"[\n    ", b",\n    ", b"\n  ]" + after
        return before + b"[", b",", b"]" + after

    def item(self, value: bytes) -> bytes:
        """One item of a list that is written in pieces."""
        if self.plain and not self.wanted.pretty:
            return b"{" + self._inside(value)
        document = self._list([value], {})
        (item,) = document["rows"] if "rows" in document else document["items"]
        if self.wanted.media_type == "application/yaml":
            return encode_yaml([item])
        text = self.encode(item).rstrip(b"\n")
        return text.replace(b"\n", b"\n    ") if self.wanted.pretty else text

    def encode(self, obj: Wire) -> bytes:
        if self.wanted.media_type == "application/yaml":
            return encode_yaml(obj)
        if self.wanted.pretty:
            return orjson.dumps(obj, option=orjson.OPT_INDENT_2) + b"\n"
        return orjson.dumps(obj)


def _joined(opening: bytes, items: list[memoryview], ending: bytes) -> bytes:
    """The items in one array. A list may be many megabytes, so they are copied once only."""
    if not items:
        return opening + ending
    pieces: list[bytes | memoryview] = [*items]
    pieces[0] = opening + b"{" + pieces[0]
    pieces[-1] = bytes(pieces[-1]) + ending
    return b",{".join(pieces)
