"""Objects of built-in kinds, read as Go reads them into structs.

In: a value as the client sent it, and the Schema of its kind. Out: a new value with only the fields
the kind has, without nulls and what Go leaves out where it is zero or empty, amounts, times and
binary data in canonical form; and the paths of what was dropped. What does not fit is a Mismatch.
Which fields must be there is not asked here, and nothing is filled in.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from atoll.apiserver.schemas import facts, scalars
from atoll.apiserver.schemas.json_values import Repeating, settle_numbers
from atoll.apiserver.schemas.mismatch import Mismatch, WrongType, go_type
from atoll.apiserver.schemas.schema import Schema
from atoll.wire import Wire

# Reads a value; appends to the list what strict reading complains of, paths relative to the value.
Reader = Callable[[Any, list["Complaint"]], Any]

_INT32 = (-(2**31), 2**31 - 1)
_INTEGER_LIMITS = {"int32": _INT32}
_LIMITS = (-(2**63), 2**63 - 1)
_SCALARS = frozenset(["string", "integer", "number", "boolean"])
_ZEROS: dict[str, Any] = {"string": "", "boolean": False, "map": {}, "list": [], "object": {}}


class Complaint:
    """A field that is unknown or said twice; its path grows while the reader returns upwards."""

    __slots__ = ("path", "what")

    def __init__(self, what: str, path: str) -> None:
        self.what = what
        self.path = path

    def __str__(self) -> str:
        return f'{self.what} field "{self.path}"'


def read_typed(schema: Schema, value: Any) -> tuple[Any, list[Complaint]]:
    """The value as its kind has it, and the complaints of strict reading in the value's order."""
    complaints: list[Complaint] = []
    return _reader(schema)(value, complaints), complaints


@cache
def _reader(schema: Schema) -> Reader:
    match schema.type:
        case "object":
            return _object_reader(schema)
        case "map":
            return _map_reader(schema)
        case "list":
            return _list_reader(schema)
        case "any" if schema.name in _SCHEMA_UNIONS:
            return _read_schema_union
        case "any":
            return _read_any
        case "integer":
            return _integer_reader(schema)
        case "string" if schema.format in _STRING_FORMATS:
            return _STRING_FORMATS[schema.format]
        case _:
            return _PLAIN[schema.type]


def _read_any(value: Any, _: list[Complaint]) -> Any:
    return settle_numbers(_once(value))


# Places in a JSON schema for a schema, or for something else (a boolean, a list of them).
_SCHEMA_UNIONS = frozenset(
    ["JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"]
)
_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def _read_schema_union(value: Any, complaints: list[Complaint]) -> Any:
    """Go reads these by hand, and drops unknown fields in them without a word."""
    if isinstance(value, list):
        return [_read_schema_union(item, complaints) for item in value]
    if isinstance(value, dict):
        return _reader(facts.load().schema(_SCHEMA))(value, [])
    return value


def _once(value: Any) -> Any:
    """The value without what it said before it said it again."""
    if isinstance(value, dict):
        return {key: _once(item) for key, item in value.items()}
    return [_once(item) for item in value] if isinstance(value, list) else value


def _object_reader(schema: Schema) -> Reader:
    """Readers of fields are made when first met: a schema may contain itself."""
    readers: dict[str, tuple[Reader, bool]] = {}
    struct, wanted = schema.name, go_type(schema)

    def learn(key: str) -> tuple[Reader, bool] | None:
        child = schema.child(key)
        if child is None:
            return (_read_any, False) if schema.preserve_unknown else None
        readers[key] = (_reader(child), is_left_out(schema, key, child))
        return readers[key]

    def read(value: Any, complaints: list[Complaint]) -> Wire:
        if not isinstance(value, dict):
            raise WrongType(value, wanted)
        result: Wire = {}
        plain = value.__class__ is dict
        for key, item in value.items() if plain else _pairs(value, complaints, schema):
            known = readers.get(key) or learn(key)
            if known is None:
                complaints.append(Complaint("unknown", key))
                continue
            if item is None:
                continue
            before = len(complaints)
            try:
                inner = known[0](item, complaints)
            except Mismatch as mismatch:
                mismatch.inside(struct, key)
                raise
            if len(complaints) > before:
                _inside(key, complaints, before)
            if inner or not known[1]:
                result[key] = inner
        return result

    return read


def is_left_out(schema: Schema, key: str, child: Schema) -> bool:
    """Whether Go writes nothing where this field is zero or empty."""
    if child.type in ("map", "list"):
        # An empty list of owners is a wish: to forget them all.
        return key not in schema.required and key != "managedFields"
    return child.type in _SCALARS and key in facts.load().left_out(schema.definition)


def _pairs(value: Wire, complaints: list[Complaint], schema: Schema) -> Iterator[tuple[str, Any]]:
    """The fields of an object in order; complains of repeated ones as it comes to them."""
    seen: set[str] = set()
    for key, item in value.pairs if isinstance(value, Repeating) else value.items():
        # A field the kind does not have is unknown each time, never repeated.
        if key in seen and (schema.type == "map" or schema.child(key) is not None):
            complaints.append(Complaint("duplicate", key))
        seen.add(key)
        yield key, item


def _inside(key: str, complaints: list[Complaint], start: int) -> None:
    for complaint in complaints[start:]:
        joint = "" if complaint.path.startswith("[") else "."
        complaint.path = f"{key}{joint}{complaint.path}"


def _map_reader(schema: Schema) -> Reader:
    element, wanted = schema.element, go_type(schema)
    assert element is not None, "a map says what its values are"
    # A map of amounts is a ResourceList, and those are kept in thousandths.
    is_resources = element.format == "quantity"
    read_value = _amount_reader(power_min=-3) if is_resources else _reader(element)

    def read(value: Any, complaints: list[Complaint]) -> Wire:
        if not isinstance(value, dict):
            raise WrongType(value, wanted)
        result: Wire = {}
        plain = value.__class__ is dict
        for key, item in value.items() if plain else _pairs(value, complaints, schema):
            before = len(complaints)
            result[key] = _zero(element) if item is None else read_value(item, complaints)
            if len(complaints) > before:
                _inside(key, complaints, before)
        return result

    return read


def _list_reader(schema: Schema) -> Reader:
    element, wanted = schema.element, go_type(schema)
    assert element is not None, "a list says what its items are"
    read_item = _reader(element)

    def read(value: Any, complaints: list[Complaint]) -> list[Any]:
        if not isinstance(value, list):
            raise WrongType(value, wanted)
        result = []
        for index, item in enumerate(value):
            before = len(complaints)
            result.append(_zero(element) if item is None else read_item(item, complaints))
            if len(complaints) > before:
                _inside(f"[{index}]", complaints, before)
        return result

    return read


def _zero(schema: Schema) -> Any:
    """What Go has where a list or map says null."""
    if schema.type == "any":
        return None
    if schema.format == "quantity":
        return "0"
    if schema.format in ("date-time", "micro-time"):
        return None
    zero = _ZEROS.get(schema.type, 0)
    return zero.copy() if isinstance(zero, dict | list) else zero


def _integer_reader(schema: Schema) -> Reader:
    low, high = _INTEGER_LIMITS.get(schema.format, _LIMITS)
    wanted = go_type(schema)

    def read(value: Any, _: list[Complaint]) -> int:
        if value.__class__ is int and low <= value <= high:
            number: int = value
            return number
        raise WrongType(value, wanted)

    return read


def _read_number(value: Any, _: list[Complaint]) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(value, "float64")
    number: int | float = settle_numbers(value)
    return number


def _read_boolean(value: Any, _: list[Complaint]) -> bool:
    if value is True or value is False:
        return value is True
    raise WrongType(value, "bool")


def _read_string(value: Any, _: list[Complaint]) -> str:
    if value.__class__ is str:
        text: str = value
        return text
    raise WrongType(value, "string")


def _read_int_or_string(value: Any, _: list[Complaint]) -> int | str:
    if value.__class__ is str:
        text: str = value
        return text
    if value.__class__ is int and _INT32[0] <= value <= _INT32[1]:
        number: int = value
        return number
    raise WrongType(value, "int32", by_hand=True)


def _read_bytes(value: Any, _: list[Complaint]) -> str:
    if not isinstance(value, str):
        raise WrongType(value, "[]uint8")
    try:
        return scalars.canonical_base64(value)
    except scalars.NotBase64 as reason:
        raise Mismatch(str(reason), f"error decoding from json: {reason}") from None


def _time_reader(canonical: Callable[[str], str]) -> Reader:
    def read(value: Any, _: list[Complaint]) -> str:
        if value.__class__ is not str:
            raise WrongType(value, "string", by_hand=True)
        try:
            return canonical(value)
        except scalars.NotATime as reason:
            raise Mismatch(str(reason)) from None

    return read


def _amount_reader(power_min: int) -> Reader:
    def read(value: Any, _: list[Complaint]) -> str:
        text = value if isinstance(value, str) else str(value).lower()
        try:
            return scalars.canonical_quantity(text, power_min)
        except scalars.NotAQuantity as reason:
            raise Mismatch(str(reason)) from None

    return read


_STRING_FORMATS: dict[str, Reader] = {
    "byte": _read_bytes,
    "date-time": _time_reader(scalars.canonical_time),
    "micro-time": _time_reader(scalars.canonical_micro_time),
    "quantity": _amount_reader(power_min=-9),
}
_PLAIN: dict[str, Reader] = {
    "string": _read_string,
    "number": _read_number,
    "boolean": _read_boolean,
    "int-or-string": _read_int_or_string,
}
