"""The rules a CRD schema sets on values, read once from its JSON.

`validating` turns them into fast yes-or-no checks, `explaining` into Kubernetes' sentences; both
read the same Rules, so that they cannot disagree about what the schema says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from atoll.apiserver.schemas.formats import string_check, supported_format
from atoll.wire import Wire


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What must hold of one value, and of the values inside it."""

    types: tuple[str, ...]  # as in JSON schema; none means any
    nullable: bool
    format: str  # only if Kubernetes checks it
    string_check: Callable[[str], bool] | None  # of the format
    enum: tuple[Any, ...]
    minimum: float | None
    exclusive_minimum: bool
    maximum: float | None
    exclusive_maximum: bool
    multiple_of: float | None
    length_min: int | None
    length_max: int | None
    pattern: str
    matches: Callable[[str], bool] | None  # searches the pattern
    items_min: int | None
    items_max: int | None
    unique: bool
    properties_min: int | None
    properties_max: int | None
    required: tuple[str, ...]
    items: "Rules | None"
    properties: Mapping[str, "Rules"]
    additional: "Rules | None"
    forbids_additional: bool
    all_of: tuple["Rules", ...]
    any_of: tuple["Rules", ...]
    one_of: tuple["Rules", ...]
    none_of: "Rules | None"  # the keyword `not`


def read_rules(schema: Wire) -> Rules:
    """The rules of a structural schema."""
    types = _types(schema)
    format_name = supported_format(types, schema.get("format") or "")
    pattern = schema.get("pattern") or ""
    additional = schema.get("additionalProperties")
    return Rules(
        types=types,
        nullable=schema.get("nullable") is True,
        format=format_name,
        string_check=string_check(format_name) if format_name else None,
        enum=tuple(schema.get("enum") or ()),
        minimum=schema.get("minimum"),
        exclusive_minimum=schema.get("exclusiveMinimum") is True,
        maximum=schema.get("maximum"),
        exclusive_maximum=schema.get("exclusiveMaximum") is True,
        multiple_of=schema.get("multipleOf"),
        length_min=schema.get("minLength"),
        length_max=schema.get("maxLength"),
        pattern=pattern,
        matches=_search(pattern),
        items_min=schema.get("minItems"),
        items_max=schema.get("maxItems"),
        unique=schema.get("uniqueItems") is True,
        properties_min=schema.get("minProperties"),
        properties_max=schema.get("maxProperties"),
        required=tuple(schema.get("required") or ()),
        items=_optional(schema.get("items")),
        properties={k: read_rules(v) for k, v in (schema.get("properties") or {}).items()},
        additional=_optional(additional),
        forbids_additional=additional is False,
        all_of=tuple(map(read_rules, schema.get("allOf") or ())),
        any_of=tuple(map(read_rules, schema.get("anyOf") or ())),
        one_of=tuple(map(read_rules, schema.get("oneOf") or ())),
        none_of=_optional(schema.get("not")),
    )


def _optional(schema: Any) -> Rules | None:
    return read_rules(schema) if isinstance(schema, dict) else None


def _types(schema: Wire) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string") is True:
        return ("integer", "string")
    kind = schema.get("type")
    return (kind,) if kind else ()


def _search(pattern: str) -> Callable[[str], bool] | None:
    if not pattern:
        return None
    options = quiet_options()
    options.never_capture = True
    # On bytes the search need not translate positions that nobody asks for.
    search = re2.compile(pattern.encode(), options).search

    def matches(text: str) -> bool:
        return search(text.encode("utf-8", "replace")) is not None

    # The same objects are written again and again; what is long is not worth keeping.
    remembered = lru_cache(maxsize=128)(matches)
    return lambda text: remembered(text) if len(text) <= 64 else matches(text)


# What RE2 complains about in C++, in Go's words.
_IN_GO = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
}


def compiled_pattern(text: str) -> Any:
    """A compiled regular expression; ValueError, in Go's words, if it is none."""
    try:
        return re2.compile(text, quiet_options())
    except re2.error as error:
        why = error.args[0]
        said = why.decode() if isinstance(why, bytes) else str(why)
        code, _, where = said.partition(": ")
        raise ValueError(f"error parsing regexp: {_IN_GO.get(code, code)}: `{where}`") from None


def quiet_options() -> Any:
    """RE2 as Go's regexp behaves, and without complaints on standard error."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return options
