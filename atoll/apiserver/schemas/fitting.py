"""Whether a value is already as reading it as its kind would leave it: asked at the speed of C.

In: a Schema of a built-in kind and a value as JSON has it. Out: yes, or "perhaps not". A yes means
that `typed.read_typed` would give back an equal value and complain of nothing, so that it need not
be asked. For each schema a msgspec type is made once, which accepts less than the kind does: no
nulls, nothing unknown, nothing empty that would be dropped, and amounts, times and binary data only
in forms that are plainly canonical.
"""

from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.typed import is_left_out

# What no value is: where these are allowed, the plain way has to judge.
_NOTHING: Any = Literal["\0"]
_FIELDS = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"
_FIELDS_DEPTH = 16

_INT32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_INT64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
# Up to three digits need no other suffix, and as text they are the shortest that say the amount.
_QUANTITY = Annotated[str, Meta(pattern=r"\A(0|[1-9][0-9]{0,2}(m|k|M|G|T|Ki|Mi|Gi|Ti)?)\Z")]
_BYTES = Annotated[str, Meta(pattern=r"\A([A-Za-z0-9+/]{4})*\Z")]
_TIME = Annotated[
    str,
    Meta(
        pattern=r"\A20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
        r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z\Z"
    ),
]
_PLAIN: dict[tuple[str, str], Any] = {
    ("string", ""): str,
    ("string", "byte"): _BYTES,
    ("string", "date-time"): _TIME,
    ("string", "quantity"): _QUANTITY,
    ("integer", "int32"): _INT32,
    ("integer", "int64"): _INT64,
    ("boolean", ""): bool,
    ("int-or-string", ""): _INT32 | str,
}


def fits(schema: Schema, value: Any) -> bool:
    """Whether reading this value would give it back as it is, and without complaint."""
    try:
        msgspec.convert(value, _type(schema), dec_hook=_read_special)
    except msgspec.ValidationError:
        return False
    return True


_types: dict[Schema, Any] = {}


def _type(schema: Schema) -> Any:
    """The type of values that fit, made when first asked for; there are only built-in schemas."""
    if schema not in _types:
        _types[schema] = _NOTHING  # for where a schema contains itself
        _types[schema] = _made(schema)
    return _types[schema]


def _made(schema: Schema) -> Any:
    match schema.type:
        case "object" if schema.element is None and not schema.preserve_unknown:
            return _struct(schema)
        case "map" if schema.element is not None:
            return GenericAlias(dict, (str, _type(schema.element)))
        case "list" if schema.element is not None:
            return GenericAlias(list, (_type(schema.element),))
        case "any" if schema.definition == _FIELDS:
            return _fields()
    return _PLAIN.get((schema.type, schema.format), _NOTHING)


def _struct(schema: Schema) -> type[msgspec.Struct]:
    """Fields are named by numbers, since not all names of fields are names in Python."""
    fields: list[tuple[str, Any, Any]] = []
    for number, (name, child) in enumerate(schema.fields.items()):
        kind = _type(child)
        if is_left_out(schema, name, child):
            kind = _said(kind)
        fields.append((f"f{number}", kind, None))
    return msgspec.defstruct(
        schema.name or "Part",
        fields,
        rename=dict(zip((name for name, _, _ in fields), schema.fields, strict=True)),
        forbid_unknown_fields=True,
        gc=False,
    )


def _said(kind: Any) -> Any:
    """The type without the values that a field is left out for: what is zero or empty."""
    if kind is bool:
        return _True
    if kind in (_INT32, _INT64):
        return Annotated[int, Meta(ge=1, le=2**31 - 1)]
    return kind if kind in (_NOTHING, _TIME) else Annotated[kind, Meta(min_length=1)]


class _True:
    """The type of which only `true` is."""


def _read_special(kind: type, value: Any) -> Any:
    if kind is _True and value is True:
        return _True()
    raise msgspec.ValidationError


@cache
def _fields() -> Any:
    """Sets of fields: maps of maps, down to where none that we write goes."""
    kind: Any = dict[str, _NOTHING]
    for _ in range(_FIELDS_DEPTH):
        kind = dict[str, kind]
    return kind
