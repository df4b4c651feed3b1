"""Events and instructions as JSON, and back, whatever kinds of them there are.

Values come in and JSON goes out; JSON comes in with the type that it is to have, and values go out.
The plane's own kinds travel as they are on the wire, and are read by their decoders. What comes
again is called by its number on a `Shelf`. What nobody could make again, such as a whole decision,
is told in short. Values of Secrets are written as keyed digests: equal ones are still equal.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache
from hashlib import blake2b
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import orjson

from atoll.control.delivery.decide.events import Means
from atoll.control.scheduler.decide.plan import Placing
from atoll.dialects.karmada.objects import members, resource_bindings, works
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.scheduling.columns import Interned
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import NodeView
from atoll.wire import Object

_DECODERS: dict[Any, Callable[[Object, Any], Any]] = {
    ResourceBinding: resource_bindings.decode,
    Work: works.decode,
    Member: members.decode,
}
_FOUND_OUT = {"codes", "masks"}
"""Fields that only keep what was worked out of the others."""
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SHORT = 64
"""What takes so few bytes is written where it stands."""
_hints = cache(get_type_hints)


class Writing:
    """Writes values with all their parts; what is secret in them only without a key."""

    def __init__(self, key: bytes = b"") -> None:
        self._key = key

    def put(self, part: Any) -> Any:
        """What is to be written for a part that is JSON."""
        return self._redacted(part) if self._key and b"Secret" in orjson.dumps(part) else part

    def of(self, value: Any) -> Any:
        """A value as JSON; which kind of a value it is goes along where it may be one of many."""
        match value:
            case None | str() | bool() | int() | float():
                return value
            case ResourceBinding() | Work() | Member():
                return self.put(value.wire)
            case Placing(decision=decision):
                told = decision and {"said": decision.message, "to": dict(decision.targets)}
                return {"verdict": value.verdict, "trigger": value.trigger, "decided": told}
            case Means():
                return None
            case Exception():
                return f"{type(value).__name__}: {value}"
            case Enum():
                return value.value
            case np.ndarray():
                return value.tolist()
            case Interned():
                return self.put([self.of(value.values[code]) for code in value.codes])
            case Mapping():
                return self._mapping(value)
            case frozenset():
                return self.put(sorted(map(self.of, value)))
            case Collection():
                return [self.of(each) for each in value]
        kind: Any = type(value)
        told = {kind.__name__: {name: self.of(getattr(value, name)) for name in _fields(kind)}}
        return self.put(told) if isinstance(value, NodeTable | NodeView) else told

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        """What is JSON is put as it is; by other keys than text, in pairs."""
        try:
            orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS)
        except TypeError:
            if not all(isinstance(key, str) for key in value):
                return [[self.of(key), self.of(each)] for key, each in value.items()]
            return {key: self.of(each) for key, each in value.items()}
        return self.put(value)

    def _redacted(self, part: Any) -> Any:
        if isinstance(part, list | tuple):
            return [self._redacted(each) for each in part]
        if not isinstance(part, Mapping):
            return part
        secret = {"data", "stringData"} if part.get("kind") == "Secret" else set[str]()
        return {
            key: self._digest(each)
            if key in secret or key == _LAST_APPLIED
            else self._redacted(each)
            for key, each in part.items()
        }

    def _digest(self, secret: Any) -> Any:
        if isinstance(secret, Mapping):
            return {key: self._digest(each) for key, each in secret.items()}
        mark = blake2b(orjson.dumps(secret), key=self._key, digest_size=12).hexdigest()
        return None if secret is None else f"redacted-{mark}"


class Shelf(Writing):
    """Writes a part once, among the `fresh`, and its number wherever it comes again."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.fresh: dict[str, orjson.Fragment] = {}
        self._numbers: dict[bytes, int] = {}

    def put(self, part: Any) -> Any:
        written = orjson.dumps(part := super().put(part))
        if len(written) <= _SHORT:
            return part
        mark = blake2b(written, digest_size=16).digest()
        if mark not in self._numbers:
            self._numbers[mark] = len(self._numbers)
            self.fresh[str(self._numbers[mark])] = orjson.Fragment(written)
        return self._numbers[mark]


class Reading:
    """Makes values of what was written; those of the plane's own kinds once for each version."""

    def __init__(self) -> None:
        self.parts: dict[int, Any] = {}
        """What is on the shelf."""
        self.means: Means | None = None
        """What is read where an event brought means."""
        self._made: dict[tuple[Any, int], Any] = {}
        self._known: dict[tuple[type, Ref], Any] = {}

    def of(self, kind: Any, written: Any) -> Any:
        """The value of this type that was written so."""
        origin, inner = get_origin(kind) or kind, get_args(kind)
        if kind is Means or written is None:
            return self.means if kind is Means else None
        if origin in (Union, UnionType):
            return self.of(self._one_of(inner, written), written)
        if origin in (Any, object):
            return written
        if issubclass(origin, str | int | float | Enum | Exception):
            return origin(written)
        if kind in (ResourceBinding, Work, Member, NodeView) and isinstance(written, int):
            if (kind, written) not in self._made:
                self._made[kind, written] = self.of(kind, self.parts[written])
            return self._made[kind, written]
        return self._made_of(origin, inner, self._part(written))

    def _part(self, written: Any) -> Any:
        return self.parts[written] if isinstance(written, int) else written

    def _one_of(self, kinds: tuple[Any, ...], written: Any) -> Any:
        """Of several types, the one that a value says it is of; a list is a tuple's."""
        forms = {(get_origin(each) or each).__name__: each for each in kinds}
        forms.pop(NoneType.__name__, None)
        if len(forms) == 1:
            return next(iter(forms.values()))
        part = self._part(written)
        return forms[next(iter(part)) if isinstance(part, dict) else "tuple"]

    def _made_of(self, kind: Any, inner: tuple[Any, ...], part: Any) -> Any:
        if kind in _DECODERS:
            key = kind, Ref.of(part)
            value = self._known[key] = _DECODERS[kind](part, self._known.get(key))
            return value
        if hasattr(kind, "__dataclass_fields__"):
            hints, told = _hints(kind), part[kind.__name__]
            return kind(**{name: self.of(hints[name], told[name]) for name in _fields(kind)})
        if issubclass(kind, Mapping):
            if inner == (str, Any):
                return part
            pairs = part.items() if isinstance(part, dict) else part
            return {self.of(inner[0], key): self.of(inner[1], each) for key, each in pairs}
        if kind is np.ndarray:
            return np.array(part, np.int64)
        if hasattr(kind, "_fields"):
            kinds = (_hints(kind)[name] for name in kind._fields)
            return kind(*map(self.of, kinds, part))
        if kind is tuple and inner[-1] is not ...:
            return tuple(map(self.of, inner, part))
        values = [self.of(inner[0], each) for each in part]
        if kind is Interned:
            return Interned.of(values)
        return frozenset(values) if kind is frozenset else tuple(values)


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """What there is to write of a dataclass."""
    names = (each.name for each in fields(kind) if each.init)
    return tuple(name for name in names if name not in _FOUND_OUT and not name.startswith("_"))
