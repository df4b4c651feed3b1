"""YAML text to values, as sigs.k8s.io/yaml turns it into JSON.

In: bytes. Out: JSON values and what strict reading complains of (repeated keys), or Malformed.
Built from the parser's events, without recursion, so that neither depth nor aliases can hurt:
depth is bounded, and what aliases repeat may not grow beyond the size of a request.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from atoll.apiserver.bodies.json_text import DEPTH_MAX
from atoll.errors import Malformed

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "off", "Off", "OFF"], False),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
}
_numeric_start = re.compile(r"[-+.0-9]")
_integer = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_float = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    if not _numeric_start.match(text):
        return text
    return number(text)


def number(text: str) -> int | float | str:
    """The number a scalar says, or the text itself if it says none."""
    digits = text.replace("_", "")
    whole = _integer.fullmatch(digits)
    if whole is not None:
        return _whole(digits, whole)
    if _float.fullmatch(digits) is None:
        return text
    value = float(digits)
    return text if math.isinf(value) else value


def _whole(digits: str, found: re.Match[str]) -> int | float | str:
    sign, hexadecimal, octal, binary, decimal = found.groups()
    if len(digits) > 80:  # no 64 bits, in any base
        return float(digits) if decimal and len(digits) < 300 else digits
    if decimal:
        value = int(decimal)
    else:
        value = int(hexadecimal or octal or binary, 16 if hexadecimal else 8 if octal else 2)
    value = -value if sign == "-" else value
    return value if -(2**63) <= value < 2**63 else float(value)


REPEATED_MAX = 512 * 1024  # what aliases may add: one unit per value, one per character
_TAG = "tag:yaml.org,2002:"


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    value: Any  # list or dict
    anchor: str | None
    key: Any = None
    has_key: bool = False
    line: int = 0  # of the key
    merging: bool = False  # the key was <<


@dataclass(slots=True)
class YamlText:
    """A document: its value, and the keys it says twice, each as Go reports them."""

    value: Any
    repeated: list[str]


def read_yaml(text: bytes) -> YamlText:
    """The value of the only document in a YAML text; nothing at all is null."""
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            reader.take(event)
    except yaml.YAMLError as failure:
        raise Malformed(f"yaml: {_explain(failure)}") from None
    except (UnicodeDecodeError, ValueError):
        raise Malformed("yaml: control characters are not allowed") from None
    return YamlText(reader.result, reader.repeated)


def _explain(failure: yaml.YAMLError) -> str:
    if not isinstance(failure, yaml.MarkedYAMLError):
        return str(getattr(failure, "reason", failure))
    line = 0
    for mark in (failure.context_mark, failure.problem_mark):
        line = line or (mark.line if mark is not None else 0)
    if line and isinstance(failure, yaml.scanner.ScannerError):
        line += 1
    problem = failure.problem or "could not be read"
    return f"line {line}: {problem}" if line else problem


class _Reader:
    """Puts values together from parser events."""

    def __init__(self) -> None:
        self.result: Any = None
        self.repeated: list[str] = []
        self._documents = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, Any] = {}
        self._budget = REPEATED_MAX
        self._last: Any = None
        self._line = 0

    def take(self, event: yaml.Event) -> None:
        self._line = event.start_mark.line + 1 if event.start_mark is not None else 0
        match event:
            case yaml.ScalarEvent():
                self._add(_scalar(event), plain_key=_is_plain(event))
                self._remember(event.anchor, self._last)
            case yaml.AliasEvent():
                self._add(self._alias(event.anchor or ""))
            case yaml.MappingStartEvent():
                self._start({}, event)
            case yaml.SequenceStartEvent():
                self._start([], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise Malformed("yaml: expected a single document")
            case _:
                pass

    def _start(self, value: Any, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._open) == DEPTH_MAX:
            raise Malformed(f"yaml: exceeded max depth of {DEPTH_MAX}")
        self._remember(event.anchor, _UNFINISHED)
        self._open.append(_Open(value, event.anchor))

    def _end(self) -> None:
        ended = self._open.pop()
        self._add(ended.value)
        self._remember(ended.anchor, ended.value)

    def _remember(self, anchor: str | None, value: Any) -> None:
        if anchor:
            self._anchors[anchor] = value

    def _alias(self, anchor: str) -> Any:
        if anchor not in self._anchors:
            raise Malformed(f"yaml: unknown anchor '{anchor}' referenced")
        value = self._anchors[anchor]
        if value is _UNFINISHED:
            raise Malformed(f"yaml: anchor '{anchor}' value contains itself")
        return self._copy(value)

    def _copy(self, value: Any) -> Any:
        self._budget -= 1 + (len(value) if isinstance(value, str) else 0)
        if self._budget < 0:
            raise Malformed("yaml: document contains excessive aliasing")
        if isinstance(value, dict):
            return {key: self._copy(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._copy(item) for item in value]
        return value

    def _add(self, value: Any, *, plain_key: bool = False) -> None:
        """Put a finished value where it belongs."""
        self._last = value
        if not self._open:
            self.result = value
            return
        parent = self._open[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.merging:
            parent.merging = False
            self._merge(parent, value)
        elif parent.has_key:
            parent.has_key = False
            self._set(parent, _key(parent.key, value), value)
        elif plain_key and value == "<<":
            parent.merging, parent.line = True, self._line
        else:
            parent.key, parent.has_key, parent.line = value, True, self._line
            if isinstance(value, dict | list):
                raise Malformed(f"yaml: invalid map key: {_shown_key(value)}")

    def _set(self, parent: _Open, key: str, value: Any) -> None:
        if key in parent.value:
            self.repeated.append(f'line {parent.line}: key "{key}" already set in map')
        parent.value[key] = value

    def _merge(self, parent: _Open, value: Any) -> None:
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in maps):
            raise Malformed("yaml: map merge requires map or sequence of maps as the value")
        for item in reversed(maps):
            for key, inner in item.items():
                self._set(parent, key, inner)


_UNFINISHED = object()


def _is_plain(event: yaml.ScalarEvent) -> bool:
    return bool(event.implicit[0]) and event.tag is None


def _scalar(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    value: Any = text
    if event.tag is None or event.tag == "!":
        value = plain_scalar(text) if event.implicit[0] and event.tag is None else text
    elif event.tag.startswith(_TAG):
        value = _tagged(event.tag.removeprefix(_TAG), text)
    if isinstance(value, float) and not math.isfinite(value) and not _is_plain(event):
        return text
    return value


def _tagged(tag: str, text: str) -> Any:
    if tag in ("int", "float"):
        return number(text)
    if tag in ("bool", "null"):
        return plain_scalar(text)
    if tag == "binary":
        try:
            return base64.b64decode(text).decode("utf-8", "replace")
        except binascii.Error:
            raise Malformed("yaml: !!binary value contains invalid base64 data") from None
    return text


def _key(key: Any, value: Any) -> str:
    """A mapping's key as JSON has it: a string."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        shown = f'"{value}"' if isinstance(value, str) else value
        raise Malformed(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")
    if isinstance(key, float):
        return _float_key(key)
    return str(key)


def _float_key(key: float) -> str:
    if math.isinf(key):
        return ".inf" if key > 0 else "-.inf"
    return ".nan" if math.isnan(key) else f"{key:g}"


def _shown_key(value: Any) -> str:
    return (
        "[]interface {}{...}" if isinstance(value, list) else "map[interface {}]interface {}{...}"
    )


def non_finite(value: Any) -> Iterator[float]:
    """The infinities and NaNs of a value: YAML can say them, JSON cannot."""
    if isinstance(value, float) and not math.isfinite(value):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from non_finite(item)
    elif isinstance(value, list):
        for item in value:
            yield from non_finite(item)
