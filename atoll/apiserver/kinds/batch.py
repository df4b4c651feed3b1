"""The kinds of batch/v1: how Jobs and CronJobs are written."""

from atoll.apiserver.fields.error import OMITTED, Errors, duplicate, invalid, required
from atoll.apiserver.kinds.labels import selector_errors, selector_of
from atoll.apiserver.kinds.podrules import RESTART_POLICIES
from atoll.apiserver.kinds.pods import template_errors
from atoll.apiserver.kinds.podspec import default_template
from atoll.apiserver.kinds.reading import each, fill, given, grown, items, number, part, parts, text
from atoll.apiserver.kinds.rules import (
    MISMATCH,
    chosen,
    in_go,
    not_negative,
    one_of,
    prefixed_path_errors,
    unchanged,
)
from atoll.apiserver.kinds.schedules import schedule_errors, zone_errors
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import subdomain_faults
from atoll.wire import Wire

_UID_LABEL = "batch.kubernetes.io/controller-uid"
_NAME_LABEL = "batch.kubernetes.io/job-name"
_MAX_INT32 = 2147483647
_CRONJOB_NAME_MAX = 52  # the controller appends eleven characters for each job
_INDEXED_MAX = 100_000
_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
)
_FAILURE_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_CODE_OPERATORS = ("In", "NotIn")


def default_job_spec(spec: Wire) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        fill(spec, completions=1, parallelism=1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    policy = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    fill(
        spec,
        parallelism=1,
        backoffLimit=_MAX_INT32 if per_index else 6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy=policy,
        manualSelector=False,
    )
    for rule in parts(spec, "podFailurePolicy", "rules"):
        for condition in parts(rule, "onPodConditions"):
            fill(condition, status="True")


def _default_job(job: Wire) -> None:
    spec = grown(job, "spec")
    default_job_spec(spec)
    default_template(spec, "template")
    _default_labels(job)


def _default_labels(job: Wire) -> None:
    """A job without labels of its own has those of its pods."""
    meta, labels = grown(job, "metadata"), part(job, "spec", "template", "metadata", "labels")
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def _own_selector(job: Wire) -> None:
    """A new job selects its pods by its uid, unless it says that it does so in its own way."""
    spec, meta = grown(job, "spec"), grown(job, "metadata")
    if spec.get("manualSelector"):
        return
    uid, name = text(meta, "uid"), text(meta, "name")
    labels = grown(spec, "template", "metadata", "labels")
    labels |= {_UID_LABEL: uid, _NAME_LABEL: name, "controller-uid": uid, "job-name": name}
    grown(spec, "selector", "matchLabels")[_UID_LABEL] = uid
    _default_labels(job)


def _job_errors(job: Wire) -> Errors:
    spec = part(job, "spec")
    yield from job_spec_errors(spec, "spec")
    if not isinstance(spec.get("selector"), dict):
        labels = part(spec, "template", "metadata").get("labels")
        yield required("spec.selector")
        yield invalid("spec.template.metadata.labels", labels, MISMATCH)
        return
    yield from _selector_errors(job, part(spec, "selector"))


def _selector_errors(job: Wire, selector: Wire) -> Errors:
    spec, uid = part(job, "spec"), text(job, "metadata", "uid")
    errors = list(selector_errors(selector, "spec.selector"))
    yield from errors
    if not spec.get("manualSelector"):
        own = {"matchLabels": {_UID_LABEL: uid}}
        legacy = {"matchLabels": {"controller-uid": uid}}
        if selector not in (own, legacy):
            yield invalid("spec.selector", selector, "`selector` not auto-generated")
            return
    labels = part(spec, "template", "metadata", "labels")
    if not errors and not selector_of(selector).matches(labels):
        yield invalid("spec.template.metadata.labels", labels, MISMATCH)


def job_spec_errors(spec: Wire, path: str) -> Errors:
    yield from not_negative(spec, path, *_NUMBERS)
    manager = spec.get("managedBy")
    if isinstance(manager, str):
        yield from prefixed_path_errors(manager, f"{path}.managedBy")
    yield from one_of(spec, path, "completionMode", ("NonIndexed", "Indexed"))
    yield from _index_errors(spec, path)
    yield from _policy_errors(spec, path)
    yield from one_of(spec, path, "podReplacementPolicy", ("Failed", "TerminatingOrFailed"))
    template = part(spec, "template")
    yield from template_errors(template, f"{path}.template")
    yield from _restart_errors(part(template, "spec"), f"{path}.template.spec")


def _index_errors(spec: Wire, path: str) -> Errors:
    """What only makes sense for jobs that number their pods, or is needed by them."""
    if spec.get("completionMode") == "Indexed":
        mode = "when completion mode is Indexed"
        if spec.get("completions") is None:
            yield required(f"{path}.completions", mode)
        if number(spec, "parallelism") > _INDEXED_MAX:
            why = f"must be less than or equal to {_INDEXED_MAX} {mode}"
            yield invalid(f"{path}.parallelism", spec["parallelism"], why)
        return
    yield from (
        invalid(f"{path}.{key}", spec[key], "requires indexed completion mode")
        for key in ("backoffLimitPerIndex", "maxFailedIndexes")
        if spec.get(key) is not None
    )


def _policy_errors(spec: Wire, path: str) -> Errors:
    pod = part(spec, "template", "spec")
    names = {text(c, "name") for k in ("containers", "initContainers") for c in parts(pod, k)}
    rules = parts(spec, "podFailurePolicy", "rules")
    for rule, where in each(rules, f"{path}.podFailurePolicy.rules"):
        action = text(rule, "action")
        if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{where}.action", action, "requires the backoffLimitPerIndex to be set")
        yield from chosen(rule, where, "action", _FAILURE_ACTIONS)
        yield from _failure_errors(rule, where, names)
    success = spec.get("successPolicy")
    if success is not None and spec.get("completionMode") != "Indexed":
        shown = [
            {in_go(key): rule.get(key) for key in ("succeededIndexes", "succeededCount")}
            for rule in parts(spec, "successPolicy", "rules")
        ]
        yield invalid(f"{path}.successPolicy", {"Rules": shown}, "requires indexed completion mode")


def _failure_errors(rule: Wire, where: str, names: set[str]) -> Errors:
    codes, conditions = given(rule, "onExitCodes"), parts(rule, "onPodConditions")
    if codes is not None:
        yield from _codes_errors(codes, f"{where}.onExitCodes", names)
        if conditions:
            why = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield invalid(where, OMITTED, why)
    elif not conditions:
        yield invalid(
            where, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required"
        )


def _codes_errors(codes: Wire, where: str, names: set[str]) -> Errors:
    operator, container = codes.get("operator"), codes.get("containerName")
    yield from chosen(codes, where, "operator", _CODE_OPERATORS)
    if container is not None and container not in names:
        why = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{where}.containerName", container, why)
    listed = items(codes, "values")
    if not listed:
        yield invalid(f"{where}.values", listed, "at least one value is required")
    for index, code in enumerate(listed):
        if operator == "In" and code == 0:
            yield invalid(f"{where}.values[{index}]", code, "must not be 0 for the In operator")
        if code in listed[:index]:
            yield duplicate(f"{where}.values[{index}]", code)
    if listed != sorted(listed):
        yield invalid(f"{where}.values", listed, "must be ordered")


def _restart_errors(pod: Wire, path: str) -> Errors:
    policy = pod.get("restartPolicy")
    if policy in ("OnFailure", "Never") or (policy and policy not in RESTART_POLICIES):
        return []
    return [required(f"{path}.restartPolicy", 'valid values: "OnFailure", "Never"')]


def _job_update_errors(new: Wire, old: Wire) -> Errors:
    """A job may be made wider or paused; what it does and how often may not change."""
    if part(new, "spec").get("completionMode") != "Indexed":
        yield from unchanged(new, old, "spec", "completions")
    yield from unchanged(new, old, "spec", "selector")
    if not _may_move(old):
        yield from unchanged(new, old, "spec", "template")
    for key in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"):
        yield from unchanged(new, old, "spec", key)


def _may_move(job: Wire) -> bool:
    """A paused job that never ran may be told where to run."""
    return bool(part(job, "spec").get("suspend")) and not part(job, "status").get("startTime")


def _default_cronjob(cronjob: Wire) -> None:
    spec = grown(cronjob, "spec")
    fill(
        spec,
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    grown(spec, "jobTemplate", "metadata")
    default_template(spec, "jobTemplate", "spec", "template")


def _cronjob_errors(cronjob: Wire) -> Errors:
    spec = part(cronjob, "spec")
    yield from schedule_errors(text(spec, "schedule"), "spec.schedule")
    yield from not_negative(spec, "spec", "startingDeadlineSeconds")
    yield from one_of(spec, "spec", "concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    zone = spec.get("timeZone")
    yield from zone_errors(zone if isinstance(zone, str) else None, "spec.timeZone")
    path = "spec.jobTemplate.spec"
    yield from job_spec_errors(part(spec, "jobTemplate", "spec"), path)
    limits = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    yield from not_negative(spec, "spec", *limits)


def _cronjob_name_errors(name: str) -> list[str]:
    reasons = subdomain_faults(name)
    if len(name) > _CRONJOB_NAME_MAX:
        reasons.append(f"must be no more than {_CRONJOB_NAME_MAX} characters")
    return reasons


JOB = Strategy(
    tracks_generation=True,
    has_status=True,
    orphans_by_default=True,
    selectable={"status.successful": ("status", "succeeded")},
    default=_default_job,
    errors=_job_errors,
    update_errors=_job_update_errors,
    prepare_create=_own_selector,
)
CRON_JOB = Strategy(
    tracks_generation=True,
    has_status=True,
    name_errors=_cronjob_name_errors,
    default=_default_cronjob,
    errors=_cronjob_errors,
)
