"""Strings: searching, cutting, replacing, and regular expressions (RE2, which cannot explode)."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import Failed
from atoll.apiserver.cel.library.formatting import formatted, quoted
from atoll.apiserver.cel.values import Frame, type_name
from atoll.apiserver.schemas.rules import compiled_pattern


@lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """A compiled regular expression; Failed if it is none."""
    try:
        return compiled_pattern(text)
    except ValueError as fault:
        raise Failed(str(fault)) from None


def _pay_search(frame: Frame, text: str, expression: str) -> None:
    frame.pay((1 + len(text) // 10) * (1 + len(expression) // 4))


def _matches(frame: Frame, text: str, expression: str) -> bool:
    _pay_search(frame, text, expression)
    return pattern(expression).search(text) is not None


def _find(frame: Frame, text: str, expression: str) -> str:
    _pay_search(frame, text, expression)
    found = _legal(expression).search(text)
    return "" if found is None else found.group()


def _find_all(frame: Frame, text: str, expression: str, limit: int = -1) -> list[str]:
    _pay_search(frame, text, expression)
    found: list[str] = []
    for match in _legal(expression).finditer(text):
        if 0 <= limit <= len(found):
            break
        frame.pay(1)
        found.append(match.group())
    return found


def _legal(expression: str) -> Any:
    try:
        return pattern(expression)
    except Failed as fault:
        raise Failed(f"Illegal regex: {fault}") from None


def _paid(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that goes over its first string once."""

    def paying(frame: Frame, text: str, *rest: Any) -> Any:
        frame.pay(len(text) // 10)
        return run(text, *rest)

    return paying


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise Failed(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if not 0 <= start < max(1, len(text)):
        raise Failed(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if last is None:
        return text.rfind(part)
    if not part:
        return last
    if not 0 <= last < max(1, len(text)):
        raise Failed(f"index out of range: {last}")
    return text.rfind(part, 0, last + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise Failed(f"invalid substring range. start: {start}, end: {end}")
    for place in (start, len(text) if end is None else end):
        if not 0 <= place <= len(text):
            raise Failed(f"index out of range: {place}")
    return text[start:end]


def _replace(frame: Frame, text: str, old: str, new: str, count: int = -1) -> str:
    most = len(text) if not old else len(text) // len(old)
    frame.pay((len(text) + len(new) * (most if count < 0 else min(most, count))) // 10)
    return text.replace(old, new, max(count, -1))


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if 0 < limit < len(text):
        return [*text[: limit - 1], text[limit - 1 :]]
    return list(text)


def _join(frame: Frame, items: list[Any], separator: str = "") -> str:
    for item in items:
        if not isinstance(item, str):
            raise Failed(f"join: invalid input: {type_name(item)}")
    frame.pay((sum(map(len, items)) + len(separator) * len(items)) // 10 + len(items))
    return separator.join(items)


def _shifted(text: str, first: str, by: int) -> str:
    return "".join(chr(ord(c) + by) if first <= c <= chr(ord(first) + 25) else c for c in text)


def _formatted(frame: Frame, text: str, items: list[Any]) -> str:
    frame.pay(len(text) // 10 + len(items))
    return formatted(frame, text, items)


# What Unicode calls white space, as Go does.
_SPACE = " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
_SPACES = _SPACE + "\u200a\u2028\u2029\u202f\u205f\u3000"

TABLE: Table = {
    "string.contains(string) -> bool": _paid(lambda text, part: part in text),
    "string.startsWith(string) -> bool": _paid(str.startswith),
    "string.endsWith(string) -> bool": _paid(str.endswith),
    "string.matches(string) -> bool": _matches,
    "matches(string, string) -> bool": _matches,
    "string.charAt(int) -> string": _paid(_char_at),
    "string.indexOf(string) -> int": _paid(_index_of),
    "string.indexOf(string, int) -> int": _paid(_index_of),
    "string.lastIndexOf(string) -> int": _paid(_last_index_of),
    "string.lastIndexOf(string, int) -> int": _paid(_last_index_of),
    "string.lowerAscii() -> string": _paid(lambda text: _shifted(text, "A", 32)),
    "string.upperAscii() -> string": _paid(lambda text: _shifted(text, "a", -32)),
    "string.replace(string, string) -> string": _replace,
    "string.replace(string, string, int) -> string": _replace,
    "string.split(string) -> list(string)": _paid(_split),
    "string.split(string, int) -> list(string)": _paid(_split),
    "string.substring(int) -> string": _paid(_substring),
    "string.substring(int, int) -> string": _paid(_substring),
    "string.trim() -> string": _paid(lambda text: text.strip(_SPACES)),
    "list(string).join() -> string": _join,
    "list(string).join(string) -> string": _join,
    "string.format(list(dyn)) -> string": _formatted,
    "strings.quote(string) -> string": _paid(quoted),
    "jsonpatch.escapeKey(string) -> string": _paid(
        lambda key: key.replace("~", "~0").replace("/", "~1")
    ),
    "string.find(string) -> string": _find,
    "string.findAll(string) -> list(string)": _find_all,
    "string.findAll(string, int) -> list(string)": _find_all,
}
