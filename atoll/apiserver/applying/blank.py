"""What an object of a built-in kind already has before anybody sets anything.

In Go, structs held by value are never absent, nor are fields that are always written; so whoever
creates a Deployment sets fields of its `spec`, but does not bring `spec` itself into being. Custom
resources have no Go type: theirs is empty.
"""

from functools import lru_cache
from typing import Any

from atoll.apiserver.schemas.schema import Schema

_BUILT_IN = ("io.k8s.api.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator.")
_TIMES = ("date-time", "micro-time")  # some are structs held by value, written as null


def is_built_in(schema: Schema) -> bool:
    """Whether objects of this schema are of a Go type, as told by the name of its definition."""
    return schema.definition.startswith(_BUILT_IN)


@lru_cache(maxsize=1024)
def blank(schema: Schema) -> dict[str, Any]:
    """The object of this schema in which nothing is set; not to be changed."""
    return _zero(schema) if is_built_in(schema) else {}


def _zero(schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in schema.fields.items():
        if field.type == "object" and field.default == {}:
            found[name] = _zero(field)
        elif field.default in ("", 0, False):
            found[name] = field.default
        elif name in schema.required or field.format in _TIMES:
            found[name] = None
    return found
