"""Points in time as Kubernetes writes them: RFC 3339 in UTC, to the second or the microsecond.

In: what a client sent. Out: the canonical text, or the reason why it is no such time, in the words
of Go's time package. The clock is not here.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

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
