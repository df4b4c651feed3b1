"""CronJobs: a Job whenever their schedule comes round, and as many kept as they ask for.

A cron job and its jobs come in; what to do next goes out. A job is made first and told afterwards,
so that one that could not be made is tried again; its name says for which time it is. Schedules
are read here: when one came round last, and when it will next.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from atoll.apiserver.kinds.schedules import schedule_fields, schedule_pause
from atoll.apiserver.objects.conditions import is_true
from atoll.apiserver.objects.times import parse_rfc3339, rfc3339
from atoll.simulated.plans import jobs
from atoll.simulated.plans.setting import Setting
from atoll.simulated.plans.steps import Make, Plan, Step, end_of, owner, status_change
from atoll.wire import Wire

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


COLLECTION = "cronjobs.batch"
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def plan(cron_job: Wire, its_jobs: list[Wire], setting: Setting) -> Plan:
    """What to do next about a cron job that has these jobs."""
    spec, start = cron_job["spec"], _start(cron_job, setting)
    zone = spec.get("timeZone") or ""
    active = [one for one in its_jobs if not jobs.is_finished(one)]
    steps = _surplus(spec, its_jobs)
    if spec.get("suspend"):
        return Plan(steps + _told(cron_job, its_jobs, active, None))
    due = last_time(spec["schedule"], zone, start, setting.moment)
    there = due is not None and any(_name(one) == _job_name(cron_job, due) for one in its_jobs)
    after = next_time(spec["schedule"], zone, start, setting.moment)
    again_s = None if after is None else (after - setting.moment).total_seconds()
    policy = spec.get("concurrencyPolicy", "Allow")
    if due is not None and not there and not (active and policy == "Forbid"):
        if policy == "Replace":
            steps += [end_of(jobs.COLLECTION, one) for one in active]
        return Plan([*steps, Make(jobs.COLLECTION, _job(cron_job, due))], again_s)
    return Plan(steps + _told(cron_job, its_jobs, active, due if there else None), again_s)


def _start(cron_job: Wire, setting: Setting) -> datetime:
    """From when on times count that have not been seen to: not those that it is too late for."""
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    start = parse_rfc3339(last or cron_job["metadata"]["creationTimestamp"]) or setting.moment
    deadline_s = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline_s is None:
        return start
    return max(start, setting.moment - timedelta(seconds=deadline_s))


def _name(obj: Wire) -> str:
    return str(obj["metadata"]["name"])


def _job_name(cron_job: Wire, due: datetime) -> str:
    return f"{_name(cron_job)}-{int(due.timestamp()) // 60}"


def _job(cron_job: Wire, due: datetime) -> Wire:
    template, zone = cron_job["spec"]["jobTemplate"], cron_job["spec"].get("timeZone")
    meta = template.get("metadata") or {}
    local = due.astimezone(clock_of(zone)).isoformat() if zone else rfc3339(due)
    made: Wire = {
        "name": _job_name(cron_job, due),
        "namespace": cron_job["metadata"]["namespace"],
        "annotations": {**(meta.get("annotations") or {}), _SCHEDULED: local},
        "ownerReferences": [owner(cron_job)],
    }
    if meta.get("labels"):
        made["labels"] = dict(meta["labels"])
    return {"metadata": made, "spec": template["spec"]}


def _surplus(spec: Wire, its_jobs: list[Wire]) -> list[Step]:
    """The jobs that ended longest ago, beyond those to be kept of either sort."""
    steps: list[Step] = []
    for kind, field, usual in (
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ):
        kept = spec.get(field)
        ended = [one for one in its_jobs if is_true(one, kind)]
        ended.sort(key=lambda one: ((one.get("status") or {}).get("startTime") or "", _name(one)))
        gone = ended[: max(0, len(ended) - (usual if kept is None else kept))]
        steps += [end_of(jobs.COLLECTION, one) for one in gone]
    return steps


def _told(
    cron_job: Wire, its_jobs: list[Wire], active: list[Wire], due: datetime | None
) -> list[Step]:
    """The status: who is at work, when the last job was due and when one last succeeded."""
    fresh = {key: each for key, each in (cron_job.get("status") or {}).items() if key != "active"}
    if active:
        fresh["active"] = [_reference(one) for one in active]
    if due is not None:
        fresh["lastScheduleTime"] = rfc3339(due)
    done = [(one.get("status") or {}).get("completionTime") for one in its_jobs]
    latest = max([each for each in (*done, fresh.get("lastSuccessfulTime")) if each], default=None)
    if latest is not None:
        fresh["lastSuccessfulTime"] = latest
    return status_change(COLLECTION, cron_job, fresh)


def _reference(job: Wire) -> Wire:
    meta = job["metadata"]
    named = {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}
    return {"apiVersion": job["apiVersion"], "kind": job["kind"], **named}
