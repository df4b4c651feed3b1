"""When a CronJob runs: five fields of numbers and names, or a word; and in which time zone."""

import re
import zoneinfo
from datetime import timedelta
from functools import cache

from atoll.apiserver.fields.error import Errors, invalid, required

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
# Of each field: the least and the most, and what numbers are called.
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DURATION = re.compile(r"[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+")
_LENGTHS = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)")


class _NoScheduleError(ValueError):
    """Why something is no schedule."""


def schedule_errors(schedule: str, where: str) -> Errors:
    if not schedule:
        yield required(where)
        return
    try:
        schedule_fields(schedule)
    except _NoScheduleError as fault:
        yield invalid(where, schedule, str(fault))
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid(where, schedule, why)


def schedule_fields(schedule: str) -> list[list[range]]:
    """Minutes, hours, days, months and days of the week; none for one of equal pauses."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@") and schedule not in _MACROS:
        _check_pause(schedule)
        return []
    fields = _MACROS.get(schedule, schedule).split()
    if len(fields) != len(_FIELDS):
        listed = " ".join(fields)
        raise _NoScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{listed}]")
    return [
        [_span(span, least, most, names) for span in filter(None, field.split(","))]
        for field, (least, most, names) in zip(fields, _FIELDS, strict=True)
    ]


def schedule_pause(schedule: str) -> timedelta:
    """How long it is from one time to the next of a schedule of equal pauses."""
    length = schedule.removeprefix(_EVERY)
    found = sum(float(one) * _UNITS_S[unit] for one, unit in _LENGTHS.findall(length))
    return timedelta(seconds=max(1, int(found)))


def _check_pause(word: str) -> None:
    if not word.startswith(_EVERY):
        raise _NoScheduleError(f"unrecognized descriptor: {word}")
    length = word.removeprefix(_EVERY)
    if length != "0" and not _DURATION.fullmatch(length):
        lacks_unit = _NUMBER.fullmatch(length) is not None
        why = "missing unit in duration" if lacks_unit else "invalid duration"
        raise _NoScheduleError(f'failed to parse duration {word}: time: {why} "{length}"')


def _span(span: str, least: int, most: int, names: dict[str, int]) -> range:
    """A number, a range of them or all, perhaps in steps."""
    bounds, *steps = span.split("/")
    low, *high = bounds.split("-")
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = end = _number(low, names)
        if len(high) > 1:
            raise _NoScheduleError(f"too many hyphens: {span}")
        if high:
            end = _number(high[0], names)
        elif steps:
            end = most
    if len(steps) > 1:
        raise _NoScheduleError(f"too many slashes: {span}")
    step = _number(steps[0], {}) if steps else 1
    if start < least:
        raise _NoScheduleError(f"beginning of range ({start}) below minimum ({least}): {span}")
    if end > most:
        raise _NoScheduleError(f"end of range ({end}) above maximum ({most}): {span}")
    if start > end:
        raise _NoScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {span}")
    if step == 0:
        raise _NoScheduleError(f"step of range should be a positive number: {span}")
    return range(start, end + 1, step)


def _number(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not (text.isascii() and text.lstrip("+").isdigit() and text.count("+") < 2):
        why = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise _NoScheduleError(f"failed to parse int from {text}: {why}")
    return int(text[:20])


def zone_errors(zone: str | None, where: str) -> Errors:
    """A time zone by its name; where this machine knows no zones, any name will do."""
    if zone is None:
        return []
    if not zone:
        return [invalid(where, zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [invalid(where, zone, why)]
    known = _zones()
    if zone == "UTC" or not known or zone in known:
        return []
    return [invalid(where, zone, f"unknown time zone {zone}")]


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
