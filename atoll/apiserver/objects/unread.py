"""An object in bytes that reads itself when somebody looks at it, and mostly nobody does."""

from collections.abc import Callable
from typing import Any

import orjson


class Unread(dict[str, Any]):
    """A dict to everyone who looks into it; what is written in C (orjson) sees it empty before."""

    __slots__ = ("_pieces",)

    def __init__(self, *pieces: bytes) -> None:
        super().__init__()
        self._pieces: tuple[bytes, ...] | None = pieces

    def read(self) -> None:
        """Be the object from now on."""
        if self._pieces is not None:
            text, self._pieces = b"".join(self._pieces), None
            dict.update(self, orjson.loads(text))


def _reading(method: Callable[..., Any]) -> Callable[..., Any]:
    def look(self: Unread, *args: Any, **named: Any) -> Any:
        self.read()
        return method(self, *args, **named)

    return look


_LOOKING = (
    *("__getitem__", "__contains__", "__iter__", "__reversed__", "__len__", "__eq__", "__ne__"),
    *("__or__", "__ror__", "__ior__", "__repr__", "__setitem__", "__delitem__"),
    *("get", "keys", "values", "items", "copy", "pop", "popitem", "setdefault", "update"),
)
for _name in _LOOKING:
    setattr(Unread, _name, _reading(getattr(dict, _name)))


def kept_bytes(obj: dict[str, Any]) -> bytes:
    """The object as JSON, in no more memory than it needs."""
    # orjson hands out its whole buffer: up to five times what it wrote there.
    return bytes(memoryview(orjson.dumps(obj)))
