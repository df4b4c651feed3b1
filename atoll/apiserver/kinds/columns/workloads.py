"""The columns of apps/v1 and batch/v1."""

from typing import Any

from atoll.apiserver.kinds.columns.cells import (
    AGE,
    NAME,
    NONE,
    TEMPLATE,
    Timed,
    between,
    containers_of,
    count,
    selector_at,
    since,
    wide,
)
from atoll.apiserver.kinds.labels import printed_labels
from atoll.apiserver.kinds.reading import Object, at, items, number, part, parts, text
from atoll.apiserver.resource import Column

_SELECTOR = selector_at("spec", "selector")


def _ready(obj: Object) -> str:
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


def _number(name: str, *path: str) -> Column:
    """A number in a column that says it has text, as some do."""
    return Column(name, lambda obj: number(obj, *path))


def _controller(revision: Object) -> str:
    for owner in parts(revision, "metadata", "ownerReferences"):
        if owner.get("controller"):
            group, slash, _ = text(owner, "apiVersion").rpartition("/")
            kind = text(owner, "kind").lower()
            return (
                f"{kind}.{group}/{text(owner, 'name')}"
                if slash
                else f"{kind}/{text(owner, 'name')}"
            )
    return NONE


def _job_status(job: Object) -> str:
    held = {
        text(condition, "type")
        for condition in parts(job, "status", "conditions")
        if condition.get("status") == "True"
    }
    for condition in ("Complete", "Failed"):
        if condition in held:
            return condition
    if at(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    for condition, shown in (
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        if condition in held:
            return shown
    return "Running"


def _completions(job: Object) -> str:
    done, spec = number(job, "status", "succeeded"), part(job, "spec")
    if spec.get("completions") is not None:
        return f"{done}/{number(spec, 'completions')}"
    width = number(spec, "parallelism")
    return f"{done}/1 of {width}" if width > 1 else f"{done}/1"


def _duration(job: Object) -> str | Timed:
    start, end = at(job, "status", "startTime"), at(job, "status", "completionTime")
    if not start:
        return ""
    return between(start, end) if end else since(start)


def _last_schedule(cronjob: Object) -> Any:
    last = at(cronjob, "status", "lastScheduleTime")
    return since(last) if last else NONE


DEPLOYMENT = (
    NAME,
    Column("Ready", _ready),
    _number("Up-to-date", "status", "updatedReplicas"),
    _number("Available", "status", "availableReplicas"),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
REPLICA_SET = (
    NAME,
    count("Desired", "spec", "replicas"),
    count("Current", "status", "replicas"),
    count("Ready", "status", "readyReplicas"),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
STATEFUL_SET = (NAME, Column("Ready", _ready), AGE, *containers_of(*TEMPLATE))
DAEMON_SET = (
    NAME,
    count("Desired", "status", "desiredNumberScheduled"),
    count("Current", "status", "currentNumberScheduled"),
    count("Ready", "status", "numberReady"),
    count("Up-to-date", "status", "updatedNumberScheduled"),
    count("Available", "status", "numberAvailable"),
    Column(
        "Node Selector",
        lambda obj: printed_labels(part(obj, "spec", "template", "spec", "nodeSelector")),
    ),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
CONTROLLER_REVISION = (
    NAME,
    Column("Controller", _controller),
    _number("Revision", "revision"),
    AGE,
)
JOB = (
    NAME,
    Column("Status", _job_status),
    Column("Completions", _completions),
    Column("Duration", _duration),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
CRON_JOB = (
    NAME,
    Column("Schedule", lambda obj: text(obj, "spec", "schedule")),
    Column("Timezone", lambda obj: text(obj, "spec", "timeZone") or NONE),
    Column("Suspend", lambda obj: str(bool(at(obj, "spec", "suspend"))), type="boolean"),
    Column("Active", lambda obj: len(items(obj, "status", "active")), type="integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    *containers_of("spec", "jobTemplate", *TEMPLATE),
    wide(
        "Selector",
        lambda obj: _SELECTOR.cell(part(obj, "spec", "jobTemplate")),
    ),
)
