"""Paths that name a field below a value in a schema: `.spec.list['a key']`."""

import re

from atoll.wire import Wire

_step = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_escape = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = dict(zip("abfnrtv'\\", "\a\b\f\n\r\t\v'\\", strict=True))


class NoSuchField(Exception):
    """The path is none, or the schema has no such field."""


def field_path(path: str, schema: Wire) -> str:
    """The path as messages write it, without the dot in front."""
    written, at = "", 0
    while at < len(path):
        found = _step.match(path, at)
        if found is None:
            raise NoSuchField
        at = found.end()
        name = found[1] if found[1] is not None else _unescaped(found[2])
        properties, rest = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            if name not in properties:
                raise NoSuchField
            schema = properties[name]
            written += f".{name}"
        elif isinstance(rest, dict):
            schema = rest
            written += f"[{name}]"
        else:
            raise NoSuchField
    return written.removeprefix(".")


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise NoSuchField
        return _ESCAPES[found[1]]

    return _escape.sub(plain, text)
