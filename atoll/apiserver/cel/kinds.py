"""The types of the language: what is declared, inferred and compared before anything is evaluated.

A Type is a name with parameters; objects also know their fields. `dyn` fits everything. Written out
as Kubernetes writes them in its messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Type:
    """A type; `fields` is not None for objects alone, by the names expressions use."""

    name: str
    params: tuple["Type", ...] = ()
    fields: "Mapping[str, Field] | None" = field(default=None, compare=False, repr=False)
    is_param: bool = False  # a name that stands for any type, in the signature of a function

    def __str__(self) -> str:
        name = _SHORT.get(self.name, self.name)
        return f"{name}({', '.join(map(str, self.params))})" if self.params else name


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its type, and its key in the data where expressions write another."""

    type: Type
    key: str


_SHORT = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "null_type": "null",
    "error": "!error!",
}

BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL = Type("string"), Type("bytes"), Type("null_type")
DYN, ERROR = Type("dyn"), Type("error")
TIMESTAMP, DURATION = Type("google.protobuf.Timestamp"), Type("google.protobuf.Duration")
_SIMPLE = frozenset(
    ["bool", "int", "uint", "double", "string", "bytes", "null_type", "dyn", "error"]
)


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", (value,))


def is_any(kind: Type) -> bool:
    """Whether nothing is known of values of this type."""
    return kind.name in ("dyn", "error")


def takes_null(kind: Type) -> bool:
    """Whether null may stand for a value of this type: not for scalars, lists and maps."""
    return kind.name not in _SIMPLE and kind.name not in ("list", "map", "type")


class Bindings:
    """What the free types of one expression have turned out to be."""

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._before: list[tuple[str, Type | None]] = []  # what was bound, to be taken back
        self._count = 0

    def fresh(self) -> Type:
        self._count += 1
        return Type(f"_var{self._count}", is_param=True)

    def resolved(self, kind: Type, *, to_dyn: bool = False) -> Type:
        """The type with everything put in that is known by now."""
        if kind.is_param:
            found = self._bound.get(kind.name)
            if found is None:
                return DYN if to_dyn else kind
            return self.resolved(found, to_dyn=to_dyn)
        if not kind.params:
            return kind
        return Type(kind.name, tuple(self.resolved(inner, to_dyn=to_dyn) for inner in kind.params))

    def instance(self, *kinds: Type) -> tuple[Type, ...]:
        """The types of a signature, with a fresh name for each of its parameters."""
        fresh: dict[str, Type] = {}
        return tuple(self._instance(kind, fresh) for kind in kinds)

    def _instance(self, kind: Type, fresh: dict[str, Type]) -> Type:
        if kind.is_param:
            if kind.name not in fresh:
                fresh[kind.name] = self.fresh()
            return fresh[kind.name]
        if not kind.params:
            return kind
        return Type(kind.name, tuple(self._instance(inner, fresh) for inner in kind.params))

    def assign_all(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        """Whether all fit, in which case what was learned is kept; otherwise nothing is."""
        if len(given) != len(wanted):
            return False
        mark = len(self._before)
        if all(self._fits(one, other) for one, other in zip(given, wanted, strict=True)):
            return True
        while len(self._before) > mark:
            name, kind = self._before.pop()
            if kind is None:
                del self._bound[name]
            else:
                self._bound[name] = kind
        return False

    def _bind(self, param: Type, kind: Type) -> None:
        self._before.append((param.name, self._bound.get(param.name)))
        self._bound[param.name] = kind

    def assign(self, given: Type, wanted: Type) -> bool:
        return self.assign_all((given,), (wanted,))

    def _fits(self, given: Type, wanted: Type) -> bool:
        if wanted.is_param:
            fits, known = self._substitute(given, wanted)
            if fits or known:
                return fits
        if given.is_param:
            return self._substitute(wanted, given)[0]
        if is_any(given) or is_any(wanted):
            return True
        if given.name == "null_type" or wanted.name == "null_type":
            other = wanted if given.name == "null_type" else given
            return other.name == "null_type" or takes_null(other)
        if given.name != wanted.name:
            return False
        if given.name == "type":
            return True
        return len(given.params) == len(wanted.params) and all(
            self._fits(one, other) for one, other in zip(given.params, wanted.params, strict=True)
        )

    def _substitute(self, kind: Type, param: Type) -> tuple[bool, bool]:
        """Whether the type may stand for the parameter, and whether that stood for one before."""
        if kind == param:
            return True, True
        known = self._bound.get(param.name)
        if known is None:
            if self._occurs(param, kind):
                return False, False
            self._bind(param, kind)
            return True, False
        if kind == known:
            return True, True
        if not self._fits(kind, known):
            return False, True
        general = more_general(kind, known)
        if not self._occurs(param, general):
            self._bind(param, general)
        return True, True

    def _occurs(self, param: Type, kind: Type) -> bool:
        if kind == param:
            return True
        if kind.is_param:
            known = self._bound.get(kind.name)
            return known is not None and self._occurs(param, known)
        return any(self._occurs(param, inner) for inner in kind.params)


def more_general(one: Type, other: Type) -> Type:
    """Of two types that fit each other, the one that says less."""
    return one if _says_less(one, other) else other


def _says_less(one: Type, other: Type) -> bool:
    if is_any(one) or one.is_param:
        return True
    if is_any(other) or other.is_param or one.name != other.name:
        return False
    return len(one.params) == len(other.params) and all(
        _says_less(a, b) for a, b in zip(one.params, other.params, strict=True)
    )
