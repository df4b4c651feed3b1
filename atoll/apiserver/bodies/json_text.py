"""JSON text to values: fast where it can be, exact as Go is where it must be.

In: bytes. Out: dicts, lists, strings, ints, floats, booleans and None, or Malformed with what Go's
decoder would have said. As in Go, invalid UTF-8 and lone surrogates become U+FFFD, integers beyond
64 bits become floats, and there is no NaN. Nothing here knows what the value is supposed to be.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import orjson
import re2

from atoll.apiserver.bodies.json_faults import END, find_fault
from atoll.apiserver.schemas.json_values import INT_MAX, INT_MIN, Literal, Repeating
from atoll.errors import Malformed

# orjson writes no deeper than this, and recursion in Python ends not far beyond.
DEPTH_MAX = 254
# The exact words of Go cost a pass in Python; on a larger text they would hold up everyone else.
_EXPLAINED_MAX = 256 * 1024
# A number with a fraction, an exponent or nineteen digits, where a number can begin.
_uncommon_number = re2.compile(rb"[\[:,\s]-?\d+(?:[.eE]|\d{18})")
_surrogates = re.compile("[\ud800-\udfff]")


def read_json(text: bytes) -> Any:
    """The value a JSON text says."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as failure:
        value = _read_slowly(text, failure)
    if text.count(b"[") + text.count(b"{") > DEPTH_MAX:
        check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Refuse a value nested too deeply to be worked on."""
    try:
        orjson.dumps(value)
    except (TypeError, RecursionError):
        raise Malformed(f"exceeded max depth of {DEPTH_MAX}") from None


def _read_slowly(text: bytes, failure: orjson.JSONDecodeError) -> Any:
    """Read what Go reads and orjson does not, or say why Go would not either."""
    if not text:
        raise Malformed(END)
    if len(text) > _EXPLAINED_MAX:
        raise Malformed(f"{failure.msg} at byte {failure.pos}")
    fault = find_fault(text.decode("latin-1"))
    if fault is not None:
        raise Malformed(fault)
    return _replace_surrogates(_load(text))


def _load(text: bytes, **hooks: Any) -> Any:
    # Every byte that is not UTF-8 becomes a character of its own, as in Go.
    decoded = _surrogates.sub("\ufffd", text.decode("utf-8", "surrogateescape"))
    try:
        return json.loads(decoded, **{"parse_int": _integer, "parse_float": _number, **hooks})
    except RecursionError:
        raise Malformed(f"exceeded max depth of {DEPTH_MAX}") from None


def _integer(written: str) -> int | float:
    if len(written) < 19:
        return int(written)
    value = float(written)
    if abs(value) < 1e19 and INT_MIN <= int(written) <= INT_MAX:
        return int(written)
    return _finite(value, written)


def _number(written: str) -> float:
    return _finite(float(written), written)


def _finite(value: float, written: str) -> float:
    if math.isinf(value):
        raise Malformed(f"json: cannot unmarshal number {written} into Go value of type float64")
    return value


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _replace_surrogates(item) for key, item in value.items()}
    return value


def _whole(text: str) -> str:
    """The string with escaped pairs of surrogates joined, and single ones replaced."""
    if _surrogates.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_literally(text: bytes) -> Any:
    """The value of a JSON text, with every number that is no 64-bit integer as a Literal."""

    def literal(written: str) -> Literal:
        number = Literal(float(written))
        number.text = written
        return number

    def integer(written: str) -> int | Literal:
        value = _integer(written)
        return value if isinstance(value, int) else literal(written)

    return _load(text, parse_float=literal, parse_int=integer)


def read_repeating(text: bytes) -> Any:
    """The value of a JSON text, with every object that repeats a key as a Repeating."""
    return _load(text, object_pairs_hook=_keep_repeated)


def _keep_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    repeating = Repeating(plain)
    repeating.pairs = pairs
    return repeating


def may_repeat(text: bytes, value: Any) -> bool:
    """Whether a key may have been said twice: cheap to ask, and never wrong when it says no."""
    # Written out again, a value has exactly the colons of its text, less those of repeated keys;
    # an escaped colon could hide one.
    return rb"\u003" in text or orjson.dumps(value).count(b":") != text.count(b":")


def may_have_floats(text: bytes) -> bool:
    """Whether the text may say a number beyond 64-bit integers; never wrong when it says no."""
    return _uncommon_number.search(text) is not None


def repeated_paths(value: Any, path: str = "") -> list[str]:
    """The paths of repeated keys in the order of the text, each once."""
    return list(dict.fromkeys(_walk(value, path)))


def _walk(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        seen: set[str] = set()
        for key, item in value.pairs if isinstance(value, Repeating) else value.items():
            inner = f"{path}.{key}" if path else key
            if key in seen:
                yield inner
            seen.add(key)
            yield from _walk(item, inner)
