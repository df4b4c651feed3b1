"""When a schedule of a CronJob comes round: the last time it did, and the next time it will.

A schedule that the server has checked, a time zone and moments come in, a moment in UTC goes out.
Times that a clock skips in spring do not come; those it shows twice in autumn come once.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from atoll.apiserver.kinds.schedules import schedule_fields, schedule_pause

_DAY = timedelta(days=1)
_FARTHEST = 5 * 366  # days: what has not come round by then never does


def last_time(schedule: str, zone: str, after: datetime, now: datetime) -> datetime | None:
    """The latest time of a schedule that is not before its start and not to come."""
    if not schedule_fields(schedule):
        pause = schedule_pause(schedule)
        rounds = (now - after) // pause
        return after + rounds * pause if rounds > 0 else None
    clock = clock_of(zone)
    day, first = now.astimezone(clock).date(), after.astimezone(clock).date()
    while day >= first:
        for moment in _times(schedule, day, clock, backwards=True):
            if moment <= after:
                return None
            if moment <= now:
                return moment
        day -= _DAY
    return None


def next_time(schedule: str, zone: str, after: datetime, now: datetime) -> datetime | None:
    """The first time of a schedule that is to come; equal pauses are counted from its start."""
    if not schedule_fields(schedule):
        pause = schedule_pause(schedule)
        return after + ((now - after) // pause + 1) * pause
    clock = clock_of(zone)
    today = now.astimezone(clock).date()
    for number in range(_FARTHEST):
        for moment in _times(schedule, today + number * _DAY, clock):
            if moment > now:
                return moment
    return None


def clock_of(zone: str) -> tzinfo:
    """The clock of a time zone; that of UTC where none is named."""
    try:
        return ZoneInfo(zone) if zone else UTC
    except ZoneInfoNotFoundError:
        return UTC  # where this machine knows no zones


@lru_cache(maxsize=256)
def _fields(schedule: str) -> tuple[tuple[int, ...], ...]:
    spans = schedule_fields(schedule)
    return tuple(tuple(sorted({one for span in each for one in span})) for each in spans)


def _times(
    schedule: str, day: date, clock: tzinfo, *, backwards: bool = False
) -> Iterator[datetime]:
    """The times on one day, in order."""
    minutes, hours, days, months, weekdays = _fields(schedule)
    of_month, of_week = day.day in days, day.isoweekday() % 7 in weekdays
    # With both limited, either will do.
    either = len(days) < 31 and len(weekdays) < 7
    fits = (of_month or of_week) if either else (of_month and of_week)
    if day.month not in months or not fits:
        return
    turn = -1 if backwards else 1
    for hour in hours[::turn]:
        for minute in minutes[::turn]:
            local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=clock)
            moment = local.astimezone(UTC)
            if moment.astimezone(clock).replace(fold=0) == local:
                yield moment
