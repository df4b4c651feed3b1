"""A broken rule about one field, worded as Kubernetes words it.

`str(error)` is the text inside "X is invalid: …"; `cause()` is the entry in `details.causes`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

# The rule that was broken: (reason in causes, words in the message).
_WORDS = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
}
OMITTED: Any = object()  # a value that messages leave out
_WITHOUT_VALUE = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong"}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule: which field, what is wrong with it, and the value that broke it."""

    reason: str
    field: str
    value: Any
    detail: str

    def message(self) -> str:
        words = _WORDS[self.reason]
        bare = self.reason in _WITHOUT_VALUE or self.value is OMITTED
        text = words if bare else f"{words}: {shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def cause(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message(), "field": self.field}

    def __str__(self) -> str:
        return f"{self.field}: {self.message()}"


Errors = Iterable[FieldError]


# What Go escapes in JSON, for the sake of pages that show it.
_IN_JSON = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"})


def shown(value: Any) -> str:
    """The value as Go prints it in such messages: strings quoted, the rest as JSON."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return shown_number(value)
    if isinstance(value, str) and not value.isprintable():
        return f'"{"".join(map(_escaped, value))}"'
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if isinstance(value, str) else text.translate(_IN_JSON)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPES |= {"\v": "\\v", '"': '\\"', "\\": "\\\\"}


def _escaped(character: str) -> str:
    """A character inside quotes, as Go writes it there."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"


def go_text(value: Any) -> str:
    """A value as Go prints it with %v: map[a:1 b:[x y]]."""
    if value is None:
        return "<nil>"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return value if isinstance(value, str) else shown(value)


def shown_number(number: int | float) -> str:
    """A number as Go prints it with %v: a float from a million on has an exponent."""
    if isinstance(number, int):
        return str(number)
    shortest = repr(number)
    exponent = Decimal(shortest).adjusted()
    if number and not -4 <= exponent < 6:
        digits = "".join(filter(str.isdigit, shortest.partition("e")[0])).strip("0") or "0"
        sign = "-" if number < 0 else ""
        fraction = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{fraction}e{exponent:+03d}"
    return shortest.removesuffix(".0")


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def faulty(field: str, value: Any, reasons: Iterable[str]) -> Errors:
    """A value that is wrong in each of these ways."""
    return (invalid(field, value, reason) for reason in reasons)


def named(field: str, name: str, faults: Callable[[str], Iterable[str]], why: str = "") -> Errors:
    """A name that has to be there, and to be right."""
    return faulty(field, name, faults(name)) if name else (required(field, why),)


def optional(field: str, name: str, faults: Callable[[str], Iterable[str]]) -> Errors:
    """A name that may be left out, but must be right."""
    return faulty(field, name, faults(name)) if name else ()


def wrong_type(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, None, detail)


def wanting(field: str, value: Any, detail: str) -> FieldError:
    """What has to be there, and in another way than it is."""
    return invalid(field, value, detail) if value else required(field, detail)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, None, detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value, "")


def too_long(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueTooLong", field, None, detail)


def too_many(field: str, count: int, limit: int) -> FieldError:
    return FieldError("FieldValueTooMany", field, count, f"must have at most {limit} items")


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    listed = ", ".join(f'"{choice}"' for choice in allowed)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {listed}")
