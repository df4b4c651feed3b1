"""The `format` of strings and numbers in CRD schemas: which are checked, and how.

Kubernetes checks these and ignores all others. Names are compared without dashes.
"""

import base64
import ipaddress
import unicodedata
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Any

import re2

from atoll.dialects.kubernetes.names import label_faults, subdomain_faults

_uuid = re2.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_uuid3 = re2.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_uuid4 = re2.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}")
_uuid5 = re2.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}")
_object_id = re2.compile("[0-9a-fA-F]{24}")
_credit_card = re2.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
)
_ssn = re2.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_hex_color = re2.compile("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_rgb_color = re2.compile(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)")
_mac = re2.compile(
    "(?i)(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){2})?(?:(?::[0-9a-f]{2}){12})?"
    "|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}(?:(?:-[0-9a-f]{2}){2})?(?:(?:-[0-9a-f]{2}){12})?"
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}(?:\.[0-9a-f]{4})?(?:(?:\.[0-9a-f]{4}){6})?)"
)
_go_duration = re2.compile(r"[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_scala_duration = re2.compile(
    r"(?:\d+\s*(?:ns|nano|nanosecond|us|µs|micro|microsecond|ms|milli|millisecond|s|sec|second"
    r"|m|min|minute|h|hr|hour|d|day|w|wk|week)s?\s*)+"
)
_date_time = re2.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_bad_escape = re2.compile("%(?:[^0-9a-fA-F]|[0-9a-fA-F](?:[^0-9a-fA-F]|$)|$)")
_scheme = re2.compile("[a-zA-Z][a-zA-Z0-9+.-]*:")
_email = re2.compile(r"(?:[^<>]*<)?[^\s<>@]+@[^\s<>@]+>?")


def _read_by(read: Callable[[str], bool]) -> Callable[[str], bool]:
    """A check by one who raises ValueError at a text that cannot be read."""

    def check(text: str) -> bool:
        try:
            return read(text)
        except ValueError:
            return False

    return check


_is_date = _read_by(lambda text: len(text) == 10 and date.fromisoformat(text) is not None)


@lru_cache(maxsize=1024)
def _is_date_time(text: str) -> bool:
    return _date_time.fullmatch(text) is not None and _is_date(text[:10])


def _is_ipv4(text: str) -> bool:
    """Leading zeros are taken, as Kubernetes always has."""
    parts = text.split(".")
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 9]
    return len(parts) == len(numbers) == 4 and max(numbers) <= 255


def _is_cidr(text: str) -> bool:
    return text.count("/") == 1 and ipaddress.ip_network(text, strict=False) is not None


def _is_uri(text: str) -> bool:
    """What Go's url.ParseRequestURI takes: an absolute URI or an absolute path."""
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in text):
        return False
    scheme = _scheme.match(text)
    if scheme is None and not text.startswith("/"):
        return False
    rest = text[scheme.end() :] if scheme is not None else text
    located = rest.partition("?")[0]
    host = located[2:].partition("/")[0] if scheme is not None and rest[:2] == "//" else ""
    return " " not in host and _bad_escape.search(located) is None


def _is_hostname(text: str) -> bool:
    """Labels of letters, digits and symbols of any script; the last of several has letters only."""
    *labels, last = text.split(".")
    if len(text) > 255 or not all(1 <= len(label) <= 63 for label in (*labels, last)):
        return False
    for label in labels if labels else [last]:
        plain = label.strip("-")
        if plain != label or not all(map(_may_be_in_hostname, label)):
            return False
    return not labels or (len(last) >= 2 and all(map(str.isalpha, last)))


def _may_be_in_hostname(character: str) -> bool:
    if character.isascii():
        return character.isalnum() or character in "-$+<>^`|~="
    return unicodedata.category(character)[0] in "LS"


def _is_isbn10(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if len(digits) != 10 or not digits[:9].isdigit() or digits[9] not in "0123456789X":
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((10 - place) * value for place, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if len(digits) != 13 or not (digits.isascii() and digits.isdigit()):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def _matches(pattern: "re2._Regexp[str]") -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


_CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches(_object_id),
    "uri": _is_uri,
    "email": _matches(_email),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _read_by(lambda text: ipaddress.IPv6Address(text).scope_id is None),
    "cidr": _read_by(_is_cidr),
    "mac": _matches(_mac),
    "uuid": _matches(_uuid),
    "uuid3": _matches(_uuid3),
    "uuid4": _matches(_uuid4),
    "uuid5": _matches(_uuid5),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": lambda text: bool(_credit_card.fullmatch("".join(filter(str.isdigit, text)))),
    "ssn": _matches(_ssn),
    "hexcolor": _matches(_hex_color),
    "rgbcolor": _matches(_rgb_color),
    "byte": _read_by(lambda text: bool(base64.b64decode(text, validate=True))),
    "password": lambda _: True,
    "date": _is_date,
    "duration": lambda t: bool(_go_duration.fullmatch(t) or _scala_duration.fullmatch(t)),
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not label_faults(text),
    "k8slongname": lambda text: not subdomain_faults(text),
}
_NUMERIC = {"integer": ("int32", "int64"), "number": ("float", "double")}


def supported_format(types: tuple[str, ...], format_name: str) -> str:
    """The format if Kubernetes checks it on values of this type, else nothing."""
    kind = types[0] if len(types) == 1 else ""
    if kind in ("", "string"):
        return format_name if format_name.replace("-", "") in _CHECKS else ""
    return format_name if format_name in _NUMERIC.get(kind, ()) else ""


def string_check(format_name: str) -> Callable[[str], bool] | None:
    """How to check strings of this format, if there is anything to check."""
    return _CHECKS.get(format_name.replace("-", ""))


def unrecognized_formats(schema: Any) -> list[str]:
    """The formats a schema names that are not checked, in its order."""
    found: list[str] = []
    if isinstance(schema, list):
        return [name for item in schema for name in unrecognized_formats(item)]
    if not isinstance(schema, dict):
        return found
    name, kind = schema.get("format"), schema.get("type")
    if name and not supported_format((kind,) if kind else (), name):
        found.append(name)
    for part in ("items", "not", "additionalProperties", "allOf", "anyOf", "oneOf"):
        found += unrecognized_formats(schema.get(part))
    for child in (schema.get("properties") or {}).values():
        found += unrecognized_formats(child)
    return found
