"""Moments and spans of time: read, written, added, and taken apart by the calendar."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import Failed
from atoll.apiserver.cel.values import INT_MAX, INT_MIN, Duration, Frame, Timestamp, unconvertible

_SECOND = 1_000_000_000
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_part = re.compile(r"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(ns|us|µs|μs|ms|s|m|h)")
_moment = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,18}))?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_offset = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The first and the last moment there is: the years 1 to 9999.
_FIRST, _LAST = -62135596800 * _SECOND, 253402300799 * _SECOND + _SECOND - 1


def read_duration(text: str) -> Duration:
    """The span a text like 1h30m says."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    total = 0
    while rest:
        found = _part.match(rest)
        if found is None or len(found.group()) > 64:
            raise unconvertible("google.protobuf.Duration")
        whole, fraction = found[1] or "0", found[2] or found[3] or ""
        unit = _UNITS[found[4]]
        total += int(whole) * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        rest = rest[found.end() :]
    if text in ("", "+", "-") or total > INT_MAX:
        raise unconvertible("google.protobuf.Duration")
    return Duration(-total if text[0] == "-" else total)


def span(nanos: int) -> Duration:
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise Failed("duration overflow")


def timestamp_at(nanos: int) -> Timestamp:
    if _FIRST <= nanos <= _LAST:
        return Timestamp(nanos)
    raise Failed("timestamp overflow")


def shifted(moment: Timestamp, nanos: int) -> Timestamp:
    return timestamp_at(moment.nanos + nanos)


def read_timestamp(text: str) -> Timestamp:
    """The moment an RFC 3339 text says."""
    found = _moment.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        parts = [int(part) for part in found.groups()[:6]]
        whole = datetime(*parts[:6], tzinfo=_zone_of(found[8]))  # type: ignore[arg-type, misc]
    except ValueError:
        raise unconvertible("google.protobuf.Timestamp") from None
    fraction = int((found[7] or "0").ljust(9, "0")[:9])
    seconds = (whole - _EPOCH) // timedelta(seconds=1)
    return timestamp_at(seconds * _SECOND + fraction)


def _zone_of(text: str) -> tzinfo:
    if text in ("Z", "z"):
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[4:6])))


def timestamp_text(moment: Timestamp) -> str:
    """A moment in RFC 3339, with as many digits behind the second as it needs."""
    whole, nanos = divmod(moment.nanos, _SECOND)
    text = (_EPOCH + timedelta(seconds=whole)).strftime("%Y-%m-%dT%H:%M:%S").zfill(19)
    return f"{text}.{nanos:09d}".rstrip("0") + "Z" if nanos else f"{text}Z"


def duration_text(duration: Duration) -> str:
    """A span in seconds: 5400s, 0.5s."""
    sign = "-" if duration.nanos < 0 else ""
    whole, nanos = divmod(abs(duration.nanos), _SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{sign}{whole}{fraction}s"


def _in_zone(moment: Timestamp, zone: str) -> datetime:
    whole, nanos = divmod(moment.nanos, _SECOND)
    at = _EPOCH + timedelta(seconds=whole, microseconds=nanos // 1000)
    if not zone:
        return at
    offset = _offset.fullmatch(zone)
    try:
        if offset is None:
            return at.astimezone(ZoneInfo(zone))
        sign = -1 if offset[1] == "-" else 1
        ahead = sign * timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return at.astimezone(timezone(ahead))
    except (ValueError, OSError, KeyError, OverflowError):
        raise Failed(f"unknown time zone {zone}") from None


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
_LENGTHS = {
    "getHours": 3600 * _SECOND,
    "getMinutes": 60 * _SECOND,
    "getSeconds": _SECOND,
    "getMilliseconds": 1_000_000,
}


def _part_of(read: Callable[[datetime], int]) -> Callable[..., int]:
    def part(_: Frame, moment: Timestamp, zone: str = "") -> int:
        return read(_in_zone(moment, zone))

    return part


def _length_in(unit: int) -> Callable[..., int]:
    def length(_: Frame, duration: Duration) -> int:
        found = abs(duration.nanos) // unit
        return found if duration.nanos >= 0 else -found

    return length


def _table() -> Table:
    table: dict[str, Any] = {}
    for name, read in _PARTS.items():
        table[f"timestamp.{name}() -> int"] = _part_of(read)
        table[f"timestamp.{name}(string) -> int"] = _part_of(read)
    for name, unit in _LENGTHS.items():
        table[f"duration.{name}() -> int"] = _length_in(unit)
    return table


TABLE = _table()
