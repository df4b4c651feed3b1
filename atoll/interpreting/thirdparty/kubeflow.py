"""Kubeflow (kubeflow.org): training jobs of several sorts of pods, and notebooks.

A job of several clusters has failed where it failed in any, and succeeded where it did in all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.dialects.wire import at, count, part, parts, text
from atoll.interpreting.aggregating import in_order, news, place, reported, status_of
from atoll.interpreting.fields import holds, inner, without
from atoll.interpreting.operations import Interpretation, Item
from atoll.interpreting.thirdparty.pods import (
    Template,
    component,
    counted,
    of_templates,
    template_at,
    template_in,
)
from atoll.interpreting.thirdparty.statuses import (
    all_conditions,
    clusters_where,
    earliest,
    latest,
    newest,
    nothing_empty,
    of_several,
    picking,
)
from atoll.wire import Object

_MPI_STATUS = picking(
    "replicaStatuses", "conditions", "startTime", "completionTime", "lastReconcileTime"
)
_COUNTS = ("active", "succeeded", "failed")
_DIED = ("Error", "OOMKilled", "ContainerCannotRun")


def _not_failed(observed: Object) -> bool:
    """It says something of itself, and not that it failed."""
    status = inner(observed, "status")
    return bool(status.get("conditions")) and not holds(status, "status", "Failed")


def _replica_statuses(items: tuple[Item, ...]) -> dict[str, dict[str, int]]:
    """Sums of the pods of each sort."""
    sums: dict[str, dict[str, int]] = {}
    for path, status in reported(items):
        here = at(path, "replicaStatuses")
        sorts = part(status, "replicaStatuses", path) or {}
        for sort in sorts:
            known = sums.setdefault(sort, dict.fromkeys(_COUNTS, 0))
            for key in _COUNTS:
                known[key] += count(part(sorts, sort, here) or {}, key, at(here, sort))
    return sums


@dataclass(frozen=True, slots=True)
class _Training:
    """One kind of training job: what it is called, and its sorts of pods, in order."""

    kind: str
    field: str
    sorts: tuple[str, ...]
    tells_stages: bool = False

    def _specs(self, wire: Object) -> Iterator[tuple[str, str, Object]]:
        specs = inner(wire, "spec", self.field)
        for sort in self.sorts:
            spec = part(specs, sort, f"spec.{self.field}")
            if spec is not None:
                yield sort, f"spec.{self.field}.{sort}", spec

    def templates(self, wire: Object) -> Iterator[Template]:
        return (template_in(spec, path) for _, path, spec in self._specs(wire))

    def components(self, wire: Object) -> tuple[Object, ...]:
        return tuple(
            component(
                sort.lower(),
                count(spec, "replicas", path) if "replicas" in spec else 1,
                template_in(spec, path),
            )
            for sort, path, spec in self._specs(wire)
        )

    def aggregate(self, template: Object, items: tuple[Item, ...]) -> Object | None:
        """Sums of pods, the first start and the last end, and how it went."""
        done = clusters_where(items, lambda each, path: _ended(each, path) == "Succeeded")
        times = {
            "startTime": earliest(items, "startTime"),
            "lastReconcileTime": latest(items, "lastReconcileTime"),
        }
        if items and len(done) == len(items):
            times["completionTime"] = latest(items, "completionTime")
        status = times | {
            "replicaStatuses": _replica_statuses(items),
            "conditions": list(self._conditions(items, is_done=len(done) == len(items))),
        }
        return news(template, nothing_empty(status))

    def _conditions(self, items: tuple[Item, ...], *, is_done: bool) -> Iterator[Object]:
        """In the order in which a job goes through them: the last is what people are shown."""
        failed = clusters_where(items, lambda each, path: _ended(each, path) == "Failed")
        if self.tells_stages:
            yield from self._stages(items, is_over=is_done or bool(failed))
        since = latest(items, "completionTime")
        if failed:
            message = f"{self.kind} executed failed in member clusters: {', '.join(failed)}"
            yield _condition("Failed", f"{self.kind}Failed", message, since)
        elif items and is_done:
            yield self._success(since)

    def _success(self, since: str) -> Object:
        if self.tells_stages:
            message = f"{self.kind} is successfully completed."
            return _condition("Succeeded", f"{self.kind}Succeeded", message, since)
        message = f"{self.kind} completed successfully"
        return _condition("Succeeded", "Completed", message, since)

    def _stages(self, items: tuple[Item, ...], *, is_over: bool) -> Iterator[Object]:
        if clusters_where(items, lambda each, path: holds(each, path, "Created")):
            since = earliest(items, "startTime")
            message = f"{self.kind} is created."
            yield _condition("Created", f"{self.kind}Created", message, since)
        running = [
            each
            for path, status in reported(items)
            for here, each in parts(status, "conditions", path)
            if text(each, "type", here) == "Running"
        ]
        if running:
            message = f"{self.kind} is running."
            made = _condition("Running", f"{self.kind}Running", message, "")
            times = ("lastUpdateTime", "lastTransitionTime")
            kept = {key: running[-1][key] for key in times if running[-1].get(key)}
            yield {**made, **kept, "status": "False" if is_over else "True"}

    def interpretation(self) -> Interpretation:
        return Interpretation(
            components=self.components,
            aggregate=self.aggregate,
            health=_not_failed,
            dependencies=of_templates(self.templates),
        )


def _ended(status: Object, path: str) -> str:
    """How a job ended; empty while it has not."""
    ends = (sort for sort in ("Failed", "Succeeded") if holds(status, path, sort))
    return next(ends, "")


def _condition(kind: str, reason: str, message: str, since: str) -> Object:
    said = {"type": kind, "status": "True", "reason": reason, "message": message}
    return said | ({"lastUpdateTime": since, "lastTransitionTime": since} if since else {})


def _mpi_components(wire: Object) -> tuple[Object, ...]:
    """Every sort under its own name; without a number there is one, but of workers none."""
    specs = inner(wire, "spec", "mpiReplicaSpecs")
    found = []
    for sort in sorted(specs):
        path = f"spec.mpiReplicaSpecs.{sort}"
        spec = part(specs, sort, "spec.mpiReplicaSpecs")
        if spec is not None and spec.get("template") is not None:
            usual = 0 if sort.lower() == "worker" else 1
            wanted = count(spec, "replicas", path) if "replicas" in spec else usual
            found.append(component(sort, wanted, template_in(spec, path)))
    return tuple(found)


@of_several
def _mpi_summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """Sums of pods, the first start and the last end, and the newest of each condition."""
    changed = ("lastUpdateTime", "lastTransitionTime")
    status = {
        "replicaStatuses": _replica_statuses(items),
        "startTime": earliest(items, "startTime"),
        "completionTime": latest(items, "completionTime"),
        "lastReconcileTime": latest(items, "lastReconcileTime"),
        "conditions": newest(all_conditions(items), "type", *changed),
    }
    return news(template, {key: value for key, value in status.items() if value})


def _notebook_healthy(observed: Object) -> bool:
    """Its container runs, is being made, or has ended well."""
    state = inner(observed, "status", "containerState")
    path = "status.containerState"
    if state.get("running") is not None:
        return True
    waiting, ended = part(state, "waiting", path), part(state, "terminated", path)
    if waiting is not None:
        return text(waiting, "reason", f"{path}.waiting") == "ContainerCreating"
    if ended is None:
        return False
    return text(ended, "reason", f"{path}.terminated") not in _DIED and not ended.get("exitCode")


@of_several
def _notebook_summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """A notebook of several clusters is as well as the worst of them."""
    states = {
        each.cluster: part(status_of(each), "containerState", place(each)) or {}
        for each in in_order(items)
        if each.status is not None
    }
    failed = {name: each for name, each in states.items() if each.get("running") is None}
    ready = sum(count(status, "readyReplicas", path) for path, status in reported(items))
    conditions = []
    if failed:
        message = f"Notebook executed failed in member clusters: {', '.join(failed)}"
        conditions.append(_condition("Failed", "NotebookFailed", message, ""))
        worst = list(failed.values())[-1] or {"waiting": {"reason": "Unschedulable"}}
    else:
        started = [
            text(part(each, "running", name) or {}, "startedAt", name)
            for name, each in states.items()
        ]
        worst = {"running": {"startedAt": max(started, default="")}} if states else {}
        if len(states) == len(items):
            conditions.append(_condition("Ready", "Ready", "All notebooks are ready", ""))
    status = {"readyReplicas": ready, "containerState": worst, "conditions": conditions}
    return news(template, status)


def _notebook_status(observed: Object) -> Object | None:
    status = part(observed, "status", "")
    if status is None:
        return None
    usual: Mapping[str, Any] = {"readyReplicas": 0, "containerState": {}, "conditions": []}
    return {key: status.get(key) or empty for key, empty in usual.items()}


def _mpi_status(observed: Object) -> Object | None:
    """Its counts and conditions, without what only the member's controller needs."""
    status = _MPI_STATUS(observed)
    sorts = part(status or {}, "replicaStatuses", "status")
    if status is None or not sorts:
        return status
    kept = {
        sort: without(part(sorts, sort, "status.replicaStatuses") or {}, ("labelSelector",))
        for sort in sorts
    }
    return {**status, "replicaStatuses": kept}


_PYTORCH = _Training("PyTorchJob", "pytorchReplicaSpecs", ("Master", "Worker"), tells_stages=True)
_TENSORFLOW = _Training("TFJob", "tfReplicaSpecs", ("PS", "Worker", "Chief", "Master", "Evaluator"))
KUBEFLOW = {
    ("kubeflow.org/v1", "PyTorchJob"): _PYTORCH.interpretation(),
    ("kubeflow.org/v1", "TFJob"): _TENSORFLOW.interpretation(),
    ("kubeflow.org/v2beta1", "MPIJob"): Interpretation(
        components=_mpi_components,
        aggregate=_mpi_summed,
        reflect=_mpi_status,
        health=_not_failed,
    ),
    ("kubeflow.org/v1", "Notebook"): Interpretation(
        replicas=lambda wire: counted(1, template_at(wire, "spec", "template"), wire),
        aggregate=_notebook_summed,
        reflect=_notebook_status,
        health=_notebook_healthy,
    ),
}
