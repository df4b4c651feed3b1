"""What Kubernetes writes even where nobody said anything: the zero values of fields never absent.

Its objects are structs, so an empty `status: {}` or `replicas: 0` is there in every answer. Which
fields these are is in the schema (`default`, taken from OpenAPI).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from atoll.apiserver.schemas.schema import ABSENT, Schema

# Fills in a value, in place.
_Filler = Callable[[Any], None]
# With so few fields to look into, one looks for them rather than at all that are there.
_FEW = 3


def fill_zeros(schema: Schema, value: Any) -> None:
    """Put the zero values into a value of this schema, in place."""
    fill = _filler(schema)
    if fill is not None:
        fill(value)


@cache
def _filler(schema: Schema) -> _Filler | None:
    """What fills in values of this schema; None if there is never anything to be done."""
    if not _has_zeros(schema, {}):
        return None
    if schema.type == "object":
        return _object_filler(schema)
    fill = _filler(schema.element) if schema.element is not None else None
    if fill is None or schema.element is None:
        return None
    zeros = [key for key, _ in _zeros(schema.element)]
    within = [key for key, field in schema.element.fields.items() if _has_zeros(field, {})]
    if len(zeros) == 1 and len(within) == 1:
        return _sifting_filler(fill, zeros[0], within[0])
    return _items_filler(fill)


def _items_filler(fill: _Filler) -> _Filler:
    def fill_items(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                fill(item)
        elif isinstance(value, dict):
            for item in value.values():
                fill(item)

    return fill_items


def _sifting_filler(fill: _Filler, zero: str, within: str) -> _Filler:
    """The same for items such as variables of containers: many, of which hardly any lacks much."""
    fill_items = _items_filler(fill)

    def fill_few(value: Any) -> None:
        if isinstance(value, list):
            objects = [each for each in value if each.__class__ is dict]
            value = [each for each in objects if within in each or each.get(zero) is None]
        fill_items(value)

    return fill_few


def _object_filler(schema: Schema) -> _Filler:
    zeros = _zeros(schema)
    inner: dict[str, _Filler] = {}
    is_ready = False

    def prepare() -> None:
        """Not done before it is needed: a schema may contain itself."""
        nonlocal is_ready
        for key, field in schema.fields.items():
            if (fill := _filler(field)) is not None:
                inner[key] = fill
        is_ready = True

    def fill_object(value: Any) -> None:
        if not isinstance(value, dict):
            return
        for key, zero in zeros:
            if value.get(key) is None:
                value[key] = {} if zero == {} else zero
        if not is_ready:
            prepare()
        if len(inner) <= _FEW:
            for key, fill in inner.items():
                if key in value:
                    fill(value[key])
        else:
            for key, there in value.items():
                if key in inner:
                    inner[key](there)

    return fill_object


def _zeros(schema: Schema) -> list[tuple[str, Any]]:
    """The fields that are never absent, with their zero values."""
    return [
        (key, field.default)
        for key, field in schema.fields.items()
        if field.default is not ABSENT and not _unwritten(schema, key, field)
    ]


def _has_zeros(schema: Schema, seen: dict[Schema, None]) -> bool:
    """Whether there may be anything to put into a value of this schema."""
    if schema in seen:  # it contains itself, and is being asked already
        return False
    seen[schema] = None
    if schema.element is not None and _has_zeros(schema.element, seen):
        return True
    return bool(_zeros(schema)) or any(_has_zeros(each, seen) for each in schema.fields.values())


def _unwritten(schema: Schema, key: str, field: Schema) -> bool:
    """A few defaults are those of other writers: empty references, and no time to be ready in."""
    if key == "name":
        return field.default == "" and key not in schema.required
    return key == "minReadySeconds"
