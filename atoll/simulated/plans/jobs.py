"""Jobs: pods that do their work and end, until enough of them have succeeded or too many failed.

A job comes in; what to do next goes out. A job that has come to its end is not looked at again but
to be removed, where it says after how long.
"""

from atoll.apiserver.objects.conditions import condition, is_true, since
from atoll.simulated.plans.census import INDEX, Pod
from atoll.simulated.plans.setting import Setting, condition_of
from atoll.simulated.plans.steps import (
    PODS,
    Make,
    Plan,
    Step,
    end_of,
    ends_of,
    owner,
    status_change,
)
from atoll.wire import Wire

COLLECTION = "jobs.batch"
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 600.0
_CONDITIONS = ("Suspended", "FailureTarget", "Failed", "SuccessCriteriaMet", "Complete")
_DONE = ("CompletionsReached", "Reached expected number of succeeded pods")
_BACKOFF = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")


def plan(job: Wire, setting: Setting) -> Plan:
    """What to do next about a job."""
    if is_finished(job):
        return _removed(job, setting)
    spec = job["spec"]
    pods = setting.pods_of(job["metadata"]["uid"])
    active = [pod for pod in pods if pod.is_active]
    done = max(sum(pod.phase == "Succeeded" for pod in pods), _told(job, "succeeded"))
    failed = max(sum(pod.phase == "Failed" for pod in pods), _told(job, "failed"))
    if spec.get("suspend"):
        return Plan(ends_of(active) or _write(job, _suspended(job, done, failed, setting)))
    failure = _failure(job, active, failed, setting)
    if failure or _is_enough(job, pods, done, active):
        last = _finished(job, _counts(job, pods, done, failed), failure or _DONE, setting)
        return Plan(ends_of(active) or _write(job, last), spec.get("ttlSecondsAfterFinished"))
    pause_s = _pause_s(pods, failed, setting)
    steps = _scaled(job, pods, active, done, setting) if pause_s <= 0 else []
    if steps:
        return Plan(steps)
    fresh = _running(job, pods, done, failed, setting)
    waits = [pause_s] if pause_s > 0 else []
    if spec.get("activeDeadlineSeconds") is not None:
        waits.append(spec["activeDeadlineSeconds"] - setting.seconds_since(fresh["startTime"]))
    return Plan(_write(job, fresh), min(waits, default=None))


def is_finished(job: Wire) -> bool:
    """Whether a job has come to its end, one way or the other."""
    return is_true(job, "Complete") or is_true(job, "Failed")


def _told(job: Wire, what: str) -> int:
    return int((job.get("status") or {}).get(what, 0))


def _write(job: Wire, fresh: Wire) -> list[Step]:
    return status_change(COLLECTION, job, fresh)


def _removed(job: Wire, setting: Setting) -> Plan:
    """A job whose time after its end is up goes."""
    after_s = job["spec"].get("ttlSecondsAfterFinished")
    if after_s is None:
        return Plan()
    ended = condition_of(job, "Complete") or condition_of(job, "Failed")
    left_s = after_s - setting.seconds_since(ended.get("lastTransitionTime"))
    if left_s > 0:
        return Plan(again_s=left_s)
    return Plan([end_of(COLLECTION, job)])


def _failure(job: Wire, active: list[Pod], failed: int, setting: Setting) -> tuple[str, str] | None:
    spec = job["spec"]
    deadline_s = spec.get("activeDeadlineSeconds")
    began = (job.get("status") or {}).get("startTime")
    if deadline_s is not None and began and setting.seconds_since(began) >= deadline_s:
        return _DEADLINE
    restarts = sum(pod.restarts for pod in active)
    return _BACKOFF if failed + restarts > spec.get("backoffLimit", 6) else None


def _is_indexed(job: Wire) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def _indexes_done(pods: list[Pod]) -> set[int]:
    return {pod.index for pod in pods if pod.phase == "Succeeded"}


def _is_enough(job: Wire, pods: list[Pod], done: int, active: list[Pod]) -> bool:
    wanted = job["spec"].get("completions")
    if wanted is None:  # whoever ends first has seen that there is nothing left to do
        return done > 0 and not active
    return (len(_indexes_done(pods)) if _is_indexed(job) else done) >= int(wanted)


def _pause_s(pods: list[Pod], failed: int, setting: Setting) -> float:
    """How long to wait before the next try after a failure."""
    failures = [pod.since for pod in pods if pod.phase == "Failed"]
    if not failures:
        return 0.0
    pause_s = min(_FIRST_PAUSE_S * float(2 ** (min(failed, 10) - 1)), _LONGEST_PAUSE_S)
    return pause_s - min(map(setting.seconds_since, failures))


def _scaled(
    job: Wire, pods: list[Pod], active: list[Pod], done: int, setting: Setting
) -> list[Step]:
    """The pods that are missing to do the rest, or too many."""
    spec, meta = job["spec"], job["metadata"]
    wanted = int(spec.get("parallelism", 1))
    if spec.get("completions") is not None:
        left = spec["completions"] - (len(_indexes_done(pods)) if _is_indexed(job) else done)
        wanted = min(wanted, max(0, left))
    elif done:
        wanted = min(wanted, len(active))
    if len(active) > wanted:
        worst_first = sorted(active, key=lambda pod: (pod.is_ready, -pod.born))
        return ends_of(worst_first[: len(active) - wanted])
    mould = setting.mould(spec["template"], meta["namespace"])
    free = _free_indexes(job, pods, wanted - len(active))
    made: list[Step] = []
    for index in free:
        middle = f"-{index}" if index >= 0 else ""
        name = f"{meta['name'][:57]}{middle}-{setting.suffix()}"
        more = {"hostname": f"{meta['name']}-{index}"} if index >= 0 else {}
        pod = mould.pod(meta["namespace"], name, owner(job), **more)
        if index >= 0:
            for part in ("labels", "annotations"):
                pod["metadata"][part] = {**(pod["metadata"].get(part) or {}), INDEX: str(index)}
        made.append(Make(PODS, pod, mould))
    return made


def _free_indexes(job: Wire, pods: list[Pod], count: int) -> list[int]:
    """The next pieces of work nobody does or has done; -1 where they have no numbers."""
    if not _is_indexed(job):
        return [-1] * count
    busy = {pod.index for pod in pods if pod.phase != "Failed" and not pod.ending}
    busy |= {pod.index for pod in pods if pod.ending and not pod.has_ended}
    free = (index for index in range(job["spec"]["completions"]) if index not in busy)
    return [index for index, _ in zip(free, range(count), strict=False)]


def _counts(job: Wire, pods: list[Pod], done: int, failed: int) -> Wire:
    """No zeros but those that Kubernetes always tells."""
    always = {
        "ready": sum(pod.is_ready and pod.is_active for pod in pods),
        "terminating": sum(pod.ending and not pod.has_ended for pod in pods),
        "uncountedTerminatedPods": {},
    }
    active = sum(pod.is_active for pod in pods)
    counted = {"active": active, "succeeded": done, "failed": failed}
    told = always | {key: value for key, value in counted.items() if value}
    if _is_indexed(job):
        told["completedIndexes"] = _ranges(sorted(_indexes_done(pods)))
    return told


def _ranges(numbers: list[int]) -> str:
    """Numbers as Kubernetes writes them: 0-2,4."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _running(job: Wire, pods: list[Pod], done: int, failed: int, setting: Setting) -> Wire:
    old = job.get("status") or {}
    fresh = _counts(job, pods, done, failed) | {"startTime": old.get("startTime", setting.now)}
    told = _others(job) + _resumed(job, setting)
    return fresh | ({"conditions": told} if told else {})


def _others(job: Wire) -> list[Wire]:
    """The conditions that others told."""
    known = (job.get("status") or {}).get("conditions") or []
    return [one for one in known if one.get("type") not in _CONDITIONS]


def _resumed(job: Wire, setting: Setting) -> list[Wire]:
    """What is told of an earlier pause."""
    if not condition_of(job, "Suspended"):
        return []
    told = condition("Suspended", "JobResumed", "Job resumed", holds=False)
    return [_probed(told, job, setting.now)]


def _suspended(job: Wire, done: int, failed: int, setting: Setting) -> Wire:
    told = condition("Suspended", "JobSuspended", "Job suspended", holds=True)
    fresh = _counts(job, setting.pods_of(job["metadata"]["uid"]), done, failed)
    return fresh | {"conditions": [*_others(job), _probed(told, job, setting.now)]}


def _finished(job: Wire, counts: Wire, why: tuple[str, str], setting: Setting) -> Wire:
    fresh = counts | {"startTime": (job.get("status") or {}).get("startTime", setting.now)}
    kinds = ("FailureTarget", "Failed")
    if why is _DONE:
        kinds = ("SuccessCriteriaMet", "Complete")
        fresh["completionTime"] = setting.now
    ends = [_probed(condition(kind, *why, holds=True), job, setting.now) for kind in kinds]
    return fresh | {"conditions": [*_others(job), *_resumed(job, setting), *ends]}


def _probed(fresh: Wire, job: Wire, now: str) -> Wire:
    known = (job.get("status") or {}).get("conditions") or []
    stamped = since(fresh, known, now)
    return stamped | {"lastProbeTime": stamped["lastTransitionTime"]}
