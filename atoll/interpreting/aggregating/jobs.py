"""The status of a job, or of a schedule of jobs, that runs in several members.

A job is complete when it is in every member, and failed when it is in any; then its status is
final. Times are the members' own, so that the same reports always give the same status.
"""

from typing import Any

from atoll.dialects.wire import Wire, elements, instant, parts, text
from atoll.interpreting.aggregating.reports import in_order, news, place, reported, status_of
from atoll.interpreting.counters import COUNTERS
from atoll.interpreting.fields import inner
from atoll.interpreting.kinds import JOB
from atoll.interpreting.operations import Item

COMPLETE, FAILED, CRITERIA_MET = "Complete", "Failed", "SuccessCriteriaMet"
Moment = tuple[int, str]
"""A time as a number to compare, and as it was written."""
NEVER: Moment = (0, "")
_TIMES = ("lastScheduleTime", "lastSuccessfulTime")


def job(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums of its pods, how it ended, and when."""
    old, counters = inner(template, "status"), COUNTERS[JOB]
    if _ended(old, "status"):
        return None
    read = [counters.read(status, path) for path, status in reported(items)]
    sums = {name: sum(each[name] for each in read) for name in counters.names}
    conditions = _conditions(items)
    times = {
        "startTime": text(old, "startTime", "status") or _start(items, ended=bool(conditions)),
        "completionTime": _latest(items, "completionTime") if _all(items, "completionTime") else "",
    }
    found = counters.written(sums) | {key: when for key, when in times.items() if when}
    return news(template, found | ({"conditions": conditions} if conditions else {}))


def cron_job(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """All active jobs, and the latest times."""
    active = [each for path, one in reported(items) for each in elements(one, "active", path)]
    times = {key: _latest(items, key) for key in _TIMES}
    found = {key: when for key, when in times.items() if when}
    return news(template, found | ({"active": active} if active else {}))


def _ended(status: Wire, path: str) -> str:
    """How a job ended; empty while it has not."""
    return next((sort for sort in _true(status, path) if sort in (COMPLETE, FAILED)), "")


def _true(status: Wire, path: str) -> dict[str, Moment]:
    """The conditions that hold, and since when."""
    return {
        text(each, "type", here): _moment(each, "lastTransitionTime", here) or NEVER
        for here, each in parts(status, "conditions", path)
        if text(each, "status", here) == "True"
    }


def _conditions(items: tuple[Item, ...]) -> list[dict[str, Any]]:
    """How the whole ended; empty while it has not."""
    held = [
        (
            item.cluster,
            _true(status_of(item), place(item)),
            _ended(status_of(item), place(item)),
        )
        for item in in_order(items)
    ]
    failed = [(cluster, true[FAILED]) for cluster, true, end in held if end == FAILED]
    if failed:
        message = f"Job failed in member clusters {','.join(cluster for cluster, _ in failed)}"
        return [_condition(FAILED, "JobFailed", message, [since for _, since in failed])]
    if not held or any(end != COMPLETE for _, _, end in held):
        return []
    done = [true[COMPLETE] for _, true, _ in held]
    ends = [_condition(COMPLETE, "Completed", "Job completed", done)]
    met = [true[CRITERIA_MET] for _, true, _ in held if CRITERIA_MET in true]
    if len(met) == len(held):
        message = "All member clusters have met success criteria"
        ends.append(_condition(CRITERIA_MET, "CompletionsReached", message, met))
    return ends


def _condition(sort: str, reason: str, message: str, since: list[Moment]) -> dict[str, Any]:
    """A condition that holds since the last of the members said so."""
    said = {"type": sort, "status": "True", "reason": reason, "message": message}
    _, when = max(since)
    return said | ({"lastProbeTime": when, "lastTransitionTime": when} if when else {})


def _start(items: tuple[Item, ...], *, ended: bool) -> str:
    """The first start, once all have started; an API server wants one of any job that ended."""
    started = _times(items, "startTime")
    return min(started)[1] if started and (ended or _all(items, "startTime")) else ""


def _latest(items: tuple[Item, ...], key: str) -> str:
    return max(_times(items, key), default=NEVER)[1]


def _all(items: tuple[Item, ...], key: str) -> bool:
    return bool(items) and len(_times(items, key)) == len(items)


def _times(items: tuple[Item, ...], key: str) -> list[Moment]:
    """When, for every member that says."""
    read = (_moment(status, key, path) for path, status in reported(items))
    return [moment for moment in read if moment is not None]


def _moment(wire: Wire, key: str, path: str) -> Moment | None:
    found = instant(wire, key, path)
    return None if found is None else (found, text(wire, key, path))
