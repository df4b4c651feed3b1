"""The kinds of batch/v1: how Jobs and CronJobs are written."""

import re

from atoll.apiserver.fields.error import FieldError, invalid, required
from atoll.apiserver.kinds.labels import selector_errors, selector_of
from atoll.apiserver.kinds.podrules import RESTART_POLICIES
from atoll.apiserver.kinds.pods import template_errors
from atoll.apiserver.kinds.podspec import default_template
from atoll.apiserver.kinds.reading import Object, fill, grown, part, parts, text
from atoll.apiserver.kinds.rules import IMMUTABLE, not_negative, one_of, unchanged
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import subdomain_faults

_UID_LABEL = "batch.kubernetes.io/controller-uid"
_NAME_LABEL = "batch.kubernetes.io/job-name"
_MAX_INT32 = 2147483647
_CRONJOB_NAME_MAX = 52  # the controller appends eleven characters for each job
_SCHEDULE_FIELD = re.compile(r"[0-9A-Za-z*/,\-?#]+")
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def default_job_spec(spec: Object) -> None:
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


def _default_job(job: Object) -> None:
    spec = grown(job, "spec")
    default_job_spec(spec)
    default_template(spec, "template")
    _default_labels(job)


def _default_labels(job: Object) -> None:
    """A job without labels of its own has those of its pods."""
    meta, labels = grown(job, "metadata"), part(job, "spec", "template", "metadata", "labels")
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def _own_selector(job: Object) -> None:
    """A new job selects its pods by its uid, unless it says that it does so in its own way."""
    spec, meta = grown(job, "spec"), grown(job, "metadata")
    if spec.get("manualSelector"):
        return
    uid, name = text(meta, "uid"), text(meta, "name")
    labels = grown(spec, "template", "metadata", "labels")
    labels |= {_UID_LABEL: uid, _NAME_LABEL: name, "controller-uid": uid, "job-name": name}
    grown(spec, "selector", "matchLabels")[_UID_LABEL] = uid
    _default_labels(job)


def _job_errors(job: Object) -> list[FieldError]:
    spec = part(job, "spec")
    errors = job_spec_errors(spec, "spec")
    if not isinstance(spec.get("selector"), dict):
        return [required("spec.selector"), *errors]
    return [*_selector_errors(job, part(spec, "selector")), *errors]


def _selector_errors(job: Object, selector: Object) -> list[FieldError]:
    spec, uid = part(job, "spec"), text(job, "metadata", "uid")
    errors = selector_errors(selector, "spec.selector")
    if not spec.get("manualSelector"):
        own = {"matchLabels": {_UID_LABEL: uid}}
        legacy = {"matchLabels": {"controller-uid": uid}}
        if selector not in (own, legacy):
            errors.append(invalid("spec.selector", selector, "`selector` not auto-generated"))
            return errors
    labels = part(spec, "template", "metadata", "labels")
    if not errors and not selector_of(selector).matches(labels):
        why = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", labels, why))
    return errors


def job_spec_errors(spec: Object, path: str) -> list[FieldError]:
    errors = not_negative(
        spec,
        path,
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    )
    errors += one_of(spec, path, "completionMode", ("NonIndexed", "Indexed"))
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        why = "when completion mode is Indexed"
        errors.append(required(f"{path}.completions", why))
    errors += one_of(spec, path, "podReplacementPolicy", ("Failed", "TerminatingOrFailed"))
    template = part(spec, "template")
    errors += template_errors(template, f"{path}.template")
    return errors + _restart_errors(part(template, "spec"), f"{path}.template.spec")


def _restart_errors(pod: Object, path: str) -> list[FieldError]:
    policy = pod.get("restartPolicy")
    if policy in ("OnFailure", "Never") or (policy and policy not in RESTART_POLICIES):
        return []
    return [required(f"{path}.restartPolicy", 'valid values: "OnFailure", "Never"')]


def _job_update_errors(new: Object, old: Object) -> list[FieldError]:
    """A job may be made wider or paused; what it does and how often may not change."""
    errors: list[FieldError] = []
    if part(new, "spec").get("completionMode") != "Indexed":
        errors += unchanged(new, old, "spec", "completions")
    errors += unchanged(new, old, "spec", "selector")
    template = part(new, "spec", "template")
    if not _may_move(old) and template != part(old, "spec", "template"):
        errors.append(invalid("spec.template", template, IMMUTABLE))
    return errors + [
        error
        for key in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy")
        for error in unchanged(new, old, "spec", key)
    ]


def _may_move(job: Object) -> bool:
    """A paused job that never ran may be told where to run."""
    return bool(part(job, "spec").get("suspend")) and not part(job, "status").get("startTime")


def _default_cronjob(cronjob: Object) -> None:
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


def _cronjob_errors(cronjob: Object) -> list[FieldError]:
    spec = part(cronjob, "spec")
    errors = _schedule_errors(text(spec, "schedule"))
    errors += not_negative(spec, "spec", "startingDeadlineSeconds")
    errors += one_of(spec, "spec", "concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    path = "spec.jobTemplate.spec"
    errors += job_spec_errors(part(spec, "jobTemplate", "spec"), path)
    limits = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    return errors + not_negative(spec, "spec", *limits)


def _schedule_errors(schedule: str) -> list[FieldError]:
    if not schedule:
        return [required("spec.schedule")]
    if schedule in _MACROS or schedule.startswith("@every "):
        return []
    fields = schedule.split()
    if len(fields) != 5:
        listed = " ".join(fields)
        why = f"expected exactly 5 fields, found {len(fields)}: [{listed}]"
        return [invalid("spec.schedule", schedule, why)]
    wrong = [field for field in fields if not _SCHEDULE_FIELD.fullmatch(field)]
    return [invalid("spec.schedule", schedule, f"failed to parse int from {f}") for f in wrong[:1]]


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
