"""Binary data, points in time and amounts of a resource, as a Kubernetes server has them.

In: what a client sent. Out: base64 with padding, RFC 3339 in UTC, canonical amounts.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

import re2

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_DATE = r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)"
_ZONE = r"(?:Z|([+-])(\d\d):(\d\d))"
_form = re.compile(_DATE + r"([.,]\d+)?" + _ZONE, re.ASCII)
_micro_form = re.compile(_DATE + r"([.,]\d{6})" + _ZONE, re.ASCII)
# The parts of the layout in order: what each looks like, its name, and what it may say.
_Part = tuple[str, str, str, int, int]
_DASH, _COLON = ("-", "-", "", 0, 0), (":", ":", "", 0, 0)
_PARTS: tuple[_Part, ...] = (
    (r"\d{4}", "2006", "year", 0, 9999),
    _DASH,
    (r"\d\d", "01", "month", 1, 12),
    _DASH,
    (r"\d\d", "02", "day", 0, 99),  # known to be wrong only when the month is known
    ("T", "T", "", 0, 0),
    (r"\d\d?", "15", "hour", 0, 23),
    _COLON,
    (r"\d\d", "04", "minute", 0, 59),
    _COLON,
    (r"\d\d", "05", "second", 0, 59),
)
_steps = tuple(
    (re.compile(pattern, re.ASCII), name, unit, low, high)
    for pattern, name, unit, low, high in _PARTS
)
_fraction = re.compile(r"[.,]\d+", re.ASCII)
_micro_fraction = re.compile(r"[.,]\d{6}", re.ASCII)
_zone_form = re.compile(r"Z|([+-])(\d\d):(\d\d)", re.ASCII)


class NotATime(Exception):
    """The text is no time; the message is Go's."""


@lru_cache(maxsize=1024)
def canonical_time(text: str) -> str:
    """The time in UTC, whole seconds."""
    moment = _parse(text, _form, _LAYOUT)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def canonical_micro_time(text: str) -> str:
    """The time in UTC with six digits of fraction, which it must have been given with."""
    moment = _parse(text, _micro_form, _MICRO_LAYOUT)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)


def _parse(text: str, form: re.Pattern[str], layout: str) -> datetime:
    found = form.fullmatch(text)
    if found is None:
        raise NotATime(f'parsing time "{text}"{_explain(text, layout)}')
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    micro = int(((found[7] or ".0")[1:] + "000000")[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, micro, _zone(found))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotATime(f'parsing time "{text}"{_explain(text, layout)}') from None


def _zone(found: re.Match[str]) -> timezone:
    if not found[8]:
        return UTC
    offset = timedelta(hours=int(found[9]), minutes=int(found[10]))
    return timezone(offset if found[8] == "+" else -offset)


def _explain(text: str, layout: str) -> str:
    """Which part of the layout the text does not follow, or which says too much."""
    rest = text
    for pattern, name, unit, low, high in _steps:
        found = pattern.match(rest)
        if found is None:
            return f' as "{layout}": cannot parse "{rest}" as "{name}"'
        if unit and not low <= int(found[0]) <= high:
            return f": {unit} out of range"
        rest = rest[found.end() :]
    fraction = (_micro_fraction if layout == _MICRO_LAYOUT else _fraction).match(rest)
    if fraction is not None:
        rest = rest[fraction.end() :]
    elif layout == _MICRO_LAYOUT:
        return f' as "{layout}": cannot parse "{rest}" as ".000000"'
    return _explain_zone(rest, layout)


def _explain_zone(rest: str, layout: str) -> str:
    zone = _zone_form.match(rest)
    if zone is None:
        return f' as "{layout}": cannot parse "{rest}" as "Z07:00"'
    if zone[1] and int(zone[2]) > 24:
        return ": time zone offset hour out of range"
    if zone[1] and int(zone[3]) > 59:
        return ": time zone offset minute out of range"
    if zone.end() < len(rest):
        return f': extra text: "{rest[zone.end() :]}"'
    return ": day out of range"


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class NotBase64(Exception):
    """The text is no base64; the message is Go's."""


def canonical_base64(text: str) -> str:
    """The same bytes, written without line breaks and with the unused bits zero."""
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        data = _decode_loosely(text)
    else:
        if len(text) % 4:  # Python takes a superfluous = at the end
            data = _decode_loosely(text)
    return base64.b64encode(data).decode("ascii")


def _decode_loosely(text: str) -> bytes:
    at = _first_fault(text)
    if at is not None:
        raise NotBase64(f"illegal base64 data at input byte {at}")
    return base64.b64decode(text)


def _first_fault(text: str) -> int | None:
    """The position Go complains of, if it does."""
    given = 0  # characters of the current group of four
    for at, character in enumerate(text):
        if character in "\r\n":
            continue
        if character == "=":
            return _padding_fault(text, at, given)
        if character not in _ALPHABET:
            return at
        given = (given + 1) % 4
    return len(text) - given if given else None


def _padding_fault(text: str, at: int, given: int) -> int | None:
    """What follows the first = must be the second, if two are needed, and then nothing."""
    if given < 2:
        return at
    rest = _skip_breaks(text, at + 1)
    if given == 2:
        if rest == len(text):
            return rest
        if text[rest] != "=":
            return rest - 1
        rest = _skip_breaks(text, rest + 1)
    return rest if rest < len(text) else None


def _skip_breaks(text: str, at: int) -> int:
    while at < len(text) and text[at] in "\r\n":
        at += 1
    return at


_AMOUNT = re2.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*(?:[-+]?[0-9]*))")
_exponent = re2.compile(r"[eE]([-+]?[0-9]+)")
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}
_NANO = -9
_POWER_MAX = 1000  # beyond any use, and before numbers get slow
_BINARY_MAX = 2**63 - 1

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_SUFFIX = "unable to parse quantity's suffix"


class NotAQuantity(Exception):
    """The text is no amount; the message is Go's."""


@dataclass(frozen=True, slots=True)
class _Written:
    """An amount as it was written: digits times ten to the power, times 1024 to the binary one."""

    sign: int
    digits: str
    places: int  # of the digits, those after the point
    power: int
    binary: int
    exponential: bool

    def is_kept(self, power_min: int) -> bool:
        """Whether this is as good as any other form; Go's reasons, in Go's order."""
        if self.binary:
            room = 15 - len(self.digits) - self.binary * 3 - 1
            return room >= 0 and not self.places and int(self.digits) & 7 != 0
        scale = self.power - self.places
        fits = len(self.digits) <= 18 and scale >= max(power_min, _NANO)
        tight = scale % 3 == 0 and not self.digits.endswith("000") and self.digits[0] != "0"
        return fits and tight


def canonical_quantity(text: str, power_min: int = _NANO) -> str:
    """The amount as a Kubernetes server writes it, with no digit below ten to `power_min`."""
    text = text.strip()
    return _remembered(text, power_min) if len(text) <= 32 else _canonical(text, power_min)


def _canonical(text: str, power_min: int) -> str:
    written = _read(text)
    if written.is_kept(power_min):
        return text
    if written.binary:
        return _binary(written, power_min)
    amount = _scaled(int(written.digits), written.power - written.places, power_min)
    return _decimal(written.sign, amount, power_min, exponential=written.exponential)


# The same few amounts are written again and again.
_remembered = lru_cache(maxsize=4096)(_canonical)


def _read(text: str) -> _Written:
    found = _AMOUNT.fullmatch(text) if text else None
    if found is None:
        raise NotAQuantity(WRONG_FORMAT)
    sign = -1 if found[1] == "-" else 1
    digits, places, suffix = (found[2] or "0") + (found[3] or ""), len(found[3] or ""), found[4]
    exponent = _exponent.fullmatch(suffix)
    if suffix in _DECIMAL:
        return _Written(sign, digits, places, _DECIMAL[suffix], 0, exponential=False)
    if suffix in _BINARY:
        return _Written(sign, digits, places, 0, _BINARY[suffix], exponential=False)
    if exponent is None or len(exponent[1]) > 9:
        raise NotAQuantity(WRONG_SUFFIX)
    power = max(-_POWER_MAX, min(_POWER_MAX, int(exponent[1])))
    return _Written(sign, digits, places, power, 0, exponential=True)


def _scaled(amount: int, power: int, power_min: int) -> int:
    """The amount in units of ten to `power_min`, rounded up."""
    unit: int = 10 ** abs(power - power_min)
    return amount * unit if power >= power_min else -(-amount // unit)


def _decimal(sign: int, amount: int, power: int, *, exponential: bool = False) -> str:
    if amount == 0:
        return "0"
    while amount % 1000 == 0 and (exponential or power < 18):
        amount //= 1000
        power += 3
    if exponential:
        return f"{sign * amount}e{power}" if power else f"{sign * amount}"
    return f"{sign * amount}{_DECIMAL_SUFFIX[power]}"


def _binary(written: _Written, power_min: int) -> str:
    """An amount given with a binary suffix; small and broken ones are shown in decimal."""
    unit: int = 10**written.places
    scaled = min(int(written.digits) * 1024**written.binary, _BINARY_MAX * unit)
    if scaled < 1024 * unit or scaled % unit:
        amount = _scaled(scaled, -written.places, power_min)
        return _decimal(written.sign, amount, power_min)
    amount, power = scaled // unit, 0
    while amount % 1024 == 0 and power < 6:
        amount //= 1024
        power += 1
    return f"{written.sign * amount}{_BINARY_SUFFIX.get(power, '')}"
