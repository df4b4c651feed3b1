"""Path elements: one step into a value, written as in the FieldsV1 of managedFields.

    f:replicas           a field of an object or an entry of a map
    k:{"name":"web"}     the item of a list that has these keys (sorted by name)
    v:"ex.io/protect"    the item of a set that has this value
    i:0                  an item by its place

The text is the identity: two steps are the same if their texts are. `parse` brings what clients
send into that one form; `order` is the order in which kube-apiserver writes them.
"""

from functools import lru_cache
from typing import Any

import orjson

_ESCAPED = {mark: f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


class BadElement(Exception):
    """The text is not a path element."""


def written(value: Any) -> str:
    """A value as Go writes it in JSON: keys sorted, characters that matter in HTML escaped."""
    if type(value) is str and value.isalnum() and value.isascii():
        return f'"{value}"'
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if "<" in text or ">" in text or "&" in text or not text.isascii():
        for plain, escaped in _ESCAPED.items():
            text = text.replace(plain, escaped)
    return text


def of_value(scalar: Any) -> str:
    return "v:" + written(scalar)


def of_keys(keys: dict[str, Any]) -> str:
    """The element for an item's keys, given in any order."""
    parts = [f"{written(name)}:{written(keys[name])}" for name in sorted(keys)]
    return "k:{" + ",".join(parts) + "}"


def parse(text: str) -> str | None:
    """The element in its one form; None for a kind of element that we do not know."""
    if len(text) < 2 or text[1] != ":":
        raise BadElement(text)
    kind, content = text[0], text[2:]
    if kind == "f":
        return text
    try:
        if kind == "i":
            return f"i:{int(content)}"
        if kind == "v":
            return of_value(orjson.loads(content))
        if kind == "k":
            keys = orjson.loads(content)
            if isinstance(keys, dict):
                return of_keys(keys)
    except ValueError:
        raise BadElement(text) from None
    if kind == "k":
        raise BadElement(text)
    return None


def order(element: str) -> tuple[Any, ...]:
    """The sort key of an element among its siblings; the node itself comes first."""
    # What clients choose must not make the cache big.
    return _remembered_order(element) if len(element) < 256 else _order(element)


def _order(element: str) -> tuple[Any, ...]:
    kind = element[0]
    if kind == "k":
        keys: dict[str, Any] = orjson.loads(element[2:])
        return (2, *((name, _rank(value)) for name, value in keys.items()))
    if kind == "v":
        if element[2] == '"' and "\\" not in element:  # a string, as it is
            return (3, (1, element[3:-1]))
        return (3, _rank(orjson.loads(element[2:])))
    if kind == "i":
        return (4, int(element[2:]))
    return (1, element[2:]) if kind == "f" else (0,)


_remembered_order = lru_cache(maxsize=4096)(_order)


def _rank(value: Any) -> tuple[int, Any]:
    """Numbers before strings before booleans, each in their own order."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, orjson.dumps(value))


def shown(element: str) -> str:
    """The element as error messages write it: .name, [name="web"], [="x"] or [0]."""
    kind, content = element[0], element[2:]
    if kind == "f":
        return f".{content}"
    if kind == "k":
        keys = orjson.loads(content)
        return f"[{','.join(f'{name}={_printed(value)}' for name, value in keys.items())}]"
    return f"[={_printed(orjson.loads(content))}]" if kind == "v" else f"[{content}]"


def _printed(value: Any) -> str:
    return orjson.dumps(value).decode()
