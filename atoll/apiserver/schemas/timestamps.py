"""Points in time as Kubernetes writes them: RFC 3339 in UTC, to the second or the microsecond.

In: what a client sent. Out: the canonical text, or the reason why it is no such time, in the words
of Go's time package. The clock is not here.
"""

from datetime import UTC, datetime, timedelta, timezone

import re2

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_form = re2.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([+-])(\d\d):(\d\d))")
_micro_form = re2.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{6})(?:Z|([+-])(\d\d):(\d\d))"
)
_PARTS = (
    *((r"\d{4}", "2006"), ("-", "-"), (r"\d\d", "01"), ("-", "-"), (r"\d\d", "02"), ("T", "T")),
    *((r"\d\d", "15"), (":", ":"), (r"\d\d", "04"), (":", ":"), (r"\d\d", "05")),
)
_steps = tuple((re2.compile(pattern), name) for pattern, name in _PARTS)
_fraction = re2.compile(r"\.\d+")
_micro_fraction = re2.compile(r"\.\d{6}")


class NotATime(Exception):
    """The text is no time; the message is Go's."""


def canonical_time(text: str) -> str:
    """The time in UTC, whole seconds."""
    moment = _parse(text, _form, _LAYOUT)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def canonical_micro_time(text: str) -> str:
    """The time in UTC with six digits of fraction, which it must have been given with."""
    moment = _parse(text, _micro_form, _MICRO_LAYOUT)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)


def _parse(text: str, form: "re2._Regexp[str]", layout: str) -> datetime:
    found = form.fullmatch(text)
    if found is None:
        raise NotATime(_explain(text, layout))
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    limits = {"month": (1, month, 12), "day": (1, day, 31), "hour": (0, hour, 23)}
    limits |= {"minute": (0, minute, 59), "second": (0, second, 59)}
    for name, (low, value, high) in limits.items():
        if not low <= value <= high:
            raise NotATime(f'parsing time "{text}": {name} out of range')
    micro = int(((found[7] or ".0")[1:] + "000000")[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, micro, _zone(found))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotATime(f'parsing time "{text}": day out of range') from None


def _zone(found: "re2._Match[str]") -> timezone:
    if not found[8]:
        return UTC
    offset = timedelta(hours=int(found[9]), minutes=int(found[10]))
    return timezone(offset if found[8] == "+" else -offset)


def _explain(text: str, layout: str) -> str:
    """Which part of the layout the text does not follow."""
    rest = text
    for pattern, name in _steps:
        found = pattern.match(rest)
        if found is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{name}"'
        rest = rest[found.end() :]
    fraction = (_micro_fraction if layout == _MICRO_LAYOUT else _fraction).match(rest)
    if fraction is not None:
        rest = rest[fraction.end() :]
    elif layout == _MICRO_LAYOUT:
        return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as ".000000"'
    if rest.startswith("Z"):
        return f'parsing time "{text}": extra text: "{rest[1:]}"'
    return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "Z07:00"'
