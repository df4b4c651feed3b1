"""Protobuf bodies, as Kubernetes' typed clients send them, to the objects they say.

In: bytes: four that announce it, then an envelope with the kind and the object's message. Out: the
object that a client would have sent as JSON, not yet made to fit its resource. Malformed says why
there is none, in kube-apiserver's words. Which fields a message has is known from the facts: their
numbers, their types, and whether Go's JSON would have a zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from atoll.apiserver.bodies import protobuf_values as values
from atoll.apiserver.bodies.json_text import DEPTH_MAX, check_depth
from atoll.apiserver.schemas import facts
from atoll.apiserver.schemas.facts import FieldFacts
from atoll.apiserver.schemas.schema import Schema
from atoll.errors import Malformed
from atoll.protobuf import reading
from atoll.protobuf.reading import Message, StoreRange, fill
from atoll.wire import Wire

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


@dataclass(frozen=True, slots=True)
class Sent:
    """What is in an envelope; kind and version may be empty."""

    kind: str
    api_version: str
    raw: bytes


def read_envelope(body: bytes) -> Sent:
    """The kind and the message in a body."""
    if not body:
        raise Malformed("empty data")
    if not body.startswith(_MAGIC):
        expected = "provided data does not appear to be a protobuf message, expected prefix"
        raise Malformed(f"{expected} [{' '.join(map(str, _MAGIC))}]")
    if len(body) == len(_MAGIC):
        raise Malformed("empty body")
    found: Wire = {}
    fill(_ENVELOPE, found, body, len(_MAGIC), len(body))
    kind = found.get("type", {})
    return Sent(kind.get("kind", ""), kind.get("apiVersion", ""), found.get("raw", b""))


def read_message(definition: str, raw: bytes) -> Wire:
    """The object that a message of this definition says, without kind and version."""
    result: Wire = {}
    try:
        fill(_message(definition, definition), result, raw, 0, len(raw))
    except RecursionError:
        raise Malformed(f"exceeded max depth of {DEPTH_MAX}") from None
    check_depth(result)
    return result


@cache
def _message(name: str, definition: str) -> Message:
    """How to read a message; `definition` is another one only for what is inlined into it."""
    known = facts.load()
    message, schema = Message(name.rpartition(".")[2]), known.schema(definition)
    for field in known.message(name):
        if field.zero == "inline":
            go_name = field.name.rpartition(".")[2]
            message.on_range(field.number, go_name, _inline(field.name, definition))
        elif (shape := schema.child(field.name)) is not None:
            _add(message, field, shape)
    return message


def _add(message: Message, field: FieldFacts, shape: Schema) -> None:
    """Let the message read one more field."""
    number, name, go_name = field.number, field.name, _go_name(field.name)
    zero = field.zero not in ("omitempty", "omitzero")
    match shape.type:
        case "integer" | "boolean":
            store = reading.keep_number(name, _number_reader(shape), zero=zero)
            message.on_number(number, go_name, store)
        case "number":
            message.on_double(number, go_name, reading.keep(name, values.double, zero=zero))
        case "object":
            message.on_range(number, go_name, reading.nested(name, _of(shape.definition)))
        case "list" if field.zero == "wrapped":
            message.on_range(number, go_name, reading.keep(name, values.strings))
        case "list":
            _add_list(message, field, _element(shape))
        case "map":
            message.on_range(
                number, go_name, reading.entries(name, values.text, _reader(_element(shape)))
            )
        case _:
            plain = shape.type == "string" and shape.format in ("", "byte")
            # A struct is never empty to Go's JSON, unless it is asked whether it is zero.
            kept = zero if plain else field.zero != "omitzero"
            message.on_range(number, go_name, reading.keep(name, _reader(shape), zero=kept))


def _add_list(message: Message, field: FieldFacts, element: Schema) -> None:
    number, name, go_name = field.number, field.name, _go_name(field.name)
    if element.type not in ("integer", "boolean"):
        message.on_range(number, go_name, reading.collect(name, _reader(element)))
        return
    read = _number_reader(element)
    read_all = reading.packed(read)

    def add(result: Wire, value: int) -> None:
        result.setdefault(name, []).append(read(value))

    def add_all(result: Wire, data: bytes, start: int, stop: int) -> None:
        result.setdefault(name, []).extend(read_all(data, start, stop))

    message.on_number(number, go_name, add)
    message.on_range(number, go_name, add_all)


def _go_name(name: str) -> str:
    """What messages call a field; Go's own spelling of abbreviations is not known."""
    return "ObjectMeta" if name == "metadata" else name[:1].upper() + name[1:]


def _element(shape: Schema) -> Schema:
    assert shape.element is not None, "a list or map says what is in it"
    return shape.element


def _number_reader(shape: Schema) -> reading.ReadNumber:
    if shape.type == "boolean":
        return reading.boolean
    return reading.int32 if shape.format == "int32" else reading.int64


def _reader(shape: Schema) -> reading.ReadRange:
    """How to read a value whose bytes are told from where to where they go."""
    match shape.type:
        case "object":
            return reading.read_by(_of(shape.definition))
        case "string":
            return _TEXTS[shape.format]
        case "int-or-string":
            return values.int_or_string
        case "any":
            return _UNIONS.get(shape.name, values.raw_json)
        case "list":  # in a map, where it must be a message of its own
            return values.strings
    raise AssertionError(f"nothing in Kubernetes has a {shape.type} here")


_TEXTS: dict[str, reading.ReadRange] = {
    "": values.text,
    "byte": values.binary,
    "date-time": values.time,
    "micro-time": values.micro_time,
    "quantity": values.quantity,
}


def _of(definition: str) -> Callable[[], Message]:
    return partial(_message, definition, definition)


def _inline(name: str, definition: str) -> StoreRange:
    """A message whose fields JSON has among those of the message around it."""

    def store(result: Wire, data: bytes, start: int, stop: int) -> None:
        fill(_message(name, definition), result, data, start, stop)

    return store


def _union(message: Message, choose: Callable[[Wire], Any]) -> reading.ReadRange:
    """Where a JSON schema has a schema or something else; `choose` says which it is."""

    return lambda data, start, stop: choose(reading.filled(message, data, start, stop))


_TYPE = Message("TypeMeta")
_TYPE.on_range(1, "APIVersion", reading.keep("apiVersion", values.text))
_TYPE.on_range(2, "Kind", reading.keep("kind", values.text))
_ENVELOPE = Message("Unknown")

_ENVELOPE.on_range(1, "TypeMeta", reading.nested("type", lambda: _TYPE))
_ENVELOPE.on_range(2, "Raw", reading.keep("raw", reading.raw))

_OR_ARRAY = Message("JSONSchemaPropsOrArray")
_OR_ARRAY.on_range(1, "Schema", reading.nested("schema", _of(_SCHEMA)))
_OR_ARRAY.on_range(2, "JSONSchemas", reading.collect("list", reading.read_by(_of(_SCHEMA))))
_OR_BOOL = Message("JSONSchemaPropsOrBool")
_OR_BOOL.on_number(1, "Allows", reading.keep_number("allows", reading.boolean))
_OR_BOOL.on_range(2, "Schema", reading.nested("schema", _of(_SCHEMA)))
_OR_STRINGS = Message("JSONSchemaPropsOrStringArray")
_OR_STRINGS.on_range(1, "Schema", reading.nested("schema", _of(_SCHEMA)))
_OR_STRINGS.on_range(2, "Property", reading.collect("list", values.text))


def _list_or_schema(found: Wire) -> Any:
    return found.get("list") or found.get("schema")


_UNIONS: dict[str, reading.ReadRange] = {
    "JSONSchemaPropsOrArray": _union(_OR_ARRAY, _list_or_schema),
    "JSONSchemaPropsOrBool": _union(
        _OR_BOOL, lambda found: found.get("schema", found.get("allows", False))
    ),
    "JSONSchemaPropsOrStringArray": _union(_OR_STRINGS, _list_or_schema),
}
