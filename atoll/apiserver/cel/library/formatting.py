"""`'%s of %d'.format([…])`: values as text, clause by clause."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from atoll.apiserver.cel.faults import Failed
from atoll.apiserver.cel.library.times import duration_text, timestamp_text
from atoll.apiserver.cel.values import Duration, Frame, Timestamp, TypeValue, type_name

_PRECISION_MAX = 100
_PLAIN, _LETTERS = '\a\b\f\n\r\t\v\\"', 'abfnrtv\\"'
_ESCAPED = {ord(plain): f"\\{letter}" for plain, letter in zip(_PLAIN, _LETTERS, strict=True)}


def quoted(text: str) -> str:
    """A text in quotation marks, with what cannot be seen escaped."""
    return f'"{text.translate(_ESCAPED)}"'


def formatted(frame: Frame, text: str, items: list[Any]) -> str:
    """The text with its clauses filled in from the items, in their order."""
    parts: list[str] = []
    taken = 0
    for before, letter, precision in _clauses(text):
        parts.append(before)
        if not letter:
            continue
        if taken >= len(items):
            raise Failed(f"index {taken} out of range")
        part = _filled(frame, letter, precision, items[taken])
        frame.pay(len(part) // 10)
        parts.append(part)
        taken += 1
    return "".join(parts)


def clause_letters(text: str) -> list[str]:
    """The letters of all clauses of a text; Failed if one is none."""
    return [letter for _, letter, _ in _clauses(text) if letter]


def unfit(letter: str, name: str) -> str | None:
    """Why values of a type cannot be formatted by a clause; None if they can, or it is unknown."""
    words, types = _TAKEN[letter]
    if name in types or name in ("dyn", "error") or not types:
        return None
    return f"{words}, was given {name}"


def _clauses(text: str) -> Iterator[tuple[str, str, int]]:
    """A text cut at its clauses: what stands before each, its letter ("" for none), its digits."""
    at = 0
    while (clause := text.find("%", at)) >= 0:
        if clause + 1 >= len(text):
            raise Failed("could not parse formatting clause: unexpected end of string")
        if text[clause + 1] == "%":
            yield text[at : clause + 1], "", 0
            at = clause + 2
            continue
        end, precision = _precision(text, clause + 1)
        letter = text[end]
        if letter not in _CLAUSES:
            why = f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
            raise Failed(why)
        yield text[at:clause], letter, precision
        at = end + 1
    yield text[at:], "", 0


def _precision(text: str, at: int) -> tuple[int, int]:
    if text[at] != ".":
        return at, 6
    end = at + 1
    while end < len(text) and text[end].isascii() and text[end].isdigit():
        end += 1
    digits = text[at + 1 : end]
    if not digits or end >= len(text):
        raise Failed("error while parsing precision: could not find end of precision specifier")
    if len(digits) > 3 or int(digits) > _PRECISION_MAX:
        raise Failed(f"error while parsing precision: more than {_PRECISION_MAX} digits")
    return end, int(digits)


def _filled(frame: Frame, letter: str, precision: int, item: Any) -> str:
    why = unfit(letter, type_name(item))
    if why is not None and not (isinstance(item, float) and not math.isfinite(item)):
        raise Failed(f"error during formatting: {why}")
    return _CLAUSES[letter](frame, item, precision)


def _string(frame: Frame, item: Any, _: int) -> str:
    frame.pay(1)
    match item:
        case str():
            return item
        case bool():
            return "true" if item else "false"
        case None:
            return "null"
        case float():
            return _plain_float(item)
        case int():
            return str(int(item))
        case bytes():
            return item.decode("utf-8", "replace")
        case Timestamp():
            return timestamp_text(item)
        case Duration():
            return duration_text(item)
        case TypeValue():
            return item.name
        case list():
            return f"[{', '.join(_string(frame, one, 0) for one in item)}]"
        case dict():
            entries = sorted((_string(frame, key, 0), value) for key, value in item.items())
            inside = ", ".join(f"{key}: {_string(frame, value, 0)}" for key, value in entries)
            return f"{{{inside}}}"
    raise Failed(f"error during formatting: no text for {type_name(item)}")


def _plain_float(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return str(int(number)) if number.is_integer() and abs(number) < 1e21 else repr(number)


def _decimal(_: Frame, item: Any, _precision: int) -> str:
    if isinstance(item, float) and not math.isfinite(item):
        return _plain_float(item)
    return str(int(item))


def _float_text(item: float, form: str) -> str:
    return format(item, form) if math.isfinite(item) else _plain_float(float(item))


def _hexadecimal(*, upper: bool) -> Callable[[Frame, Any, int], str]:
    def shown(frame: Frame, item: Any, _: int) -> str:
        if isinstance(item, str | bytes):
            data = item.encode() if isinstance(item, str) else item
            frame.pay(len(data) // 5)
            text = data.hex()
        else:
            text = format(int(item), "x")
        return text.upper() if upper else text

    return shown


_CLAUSES: dict[str, Callable[[Frame, Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": lambda _, item, precision: _float_text(item, f".{precision}f"),
    "e": lambda _, item, precision: _float_text(item, f".{precision}e"),
    "b": lambda _, item, _precision: format(int(item), "b"),
    "o": lambda _, item, _precision: format(int(item), "o"),
    "x": _hexadecimal(upper=False),
    "X": _hexadecimal(upper=True),
}
_WHOLE, _NUMBERS = ("int", "uint"), ("int", "uint", "double")
_IN_HEX = (
    "only integers, byte buffers, and strings can be formatted as hex",
    (*_WHOLE, "string", "bytes"),
)
# By clause: what is said of values it cannot show, and the types it can; none means all.
_TAKEN: dict[str, tuple[str, tuple[str, ...]]] = {
    "s": ("", ()),
    "d": ("decimal clause can only be used on integers", _WHOLE),
    "f": ("fixed-point clause can only be used on doubles", _NUMBERS),
    "e": ("scientific clause can only be used on doubles", _NUMBERS),
    "b": ("only integers and bools can be formatted as binary", (*_WHOLE, "bool")),
    "o": ("octal clause can only be used on integers", _WHOLE),
    "x": _IN_HEX,
    "X": _IN_HEX,
}
