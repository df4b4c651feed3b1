"""How Go names and prints JSON values: what the texts of kube-apiserver's patch errors are made of.

In: decoded JSON. Out: text. Nothing here knows of patches or requests.
"""

from typing import Any

import orjson

from atoll.apiserver.fields.error import go_text as go_text
from atoll.apiserver.status import ApiError, bad_request

_JSON_NAMES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "bool",
}
_GO_TYPES: dict[type, str] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    type(None): "%!s(<nil>)",
}


def json_name(value: Any) -> str:
    return _JSON_NAMES[type(value)]


def go_type(value: Any) -> str:
    return _GO_TYPES[type(value)]


def go_syntax(value: Any) -> str:
    """The value as Go's %#v prints it: map[string]interface {}{"a":1}."""
    if isinstance(value, dict):
        entries = (f"{_quoted(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return _quoted(value) if isinstance(value, str) else go_text(value)


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def too_deep() -> ApiError:
    """Values nested so deep that no honest client sends them are refused, not followed."""
    return bad_request("json: exceeded max depth")
