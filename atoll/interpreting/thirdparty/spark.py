"""Spark (sparkoperator.k8s.io): an application of one driver and so many executors.

Memory is written as Java does (1g are 1024 mebibytes), and every pod needs some more than its heap:
a share of it, at least 384 mebibytes, or what is said.
"""

import re
from decimal import Decimal
from typing import Any

from atoll.dialects.wire import count, flag, part, quantity, text
from atoll.errors import Invalid
from atoll.interpreting import answers
from atoll.interpreting.aggregating import news, reported
from atoll.interpreting.fields import inner
from atoll.interpreting.operations import Interpretation, Item
from atoll.interpreting.quantities import quantity_text
from atoll.interpreting.requirements import requirements
from atoll.interpreting.thirdparty.statuses import Tally, latest, of_several, picking
from atoll.wire import Object

_BADNESS = {
    "SUBMITTED": 1,
    "PENDING_RERUN": 1,
    "COMPLETED": 2,
    "SUSPENDING": 3,
    "SUSPENDED": 3,
    "RUNNING": 4,
    "RESUMING": 4,
    "SUCCEEDING": 4,
    "INVALIDATING": 5,
    "FAILING": 6,
    "FAILED": 6,
    "SUBMISSION_FAILED": 6,
}
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([bkmgtp]?)b?")
_POWER = {"b": 0, "": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_LEAST_OVERHEAD = Decimal(384 << 20)
_OF_JVM, _OF_OTHERS = Decimal("0.1"), Decimal("0.4")
_NODES = ("affinity", "nodeSelector", "tolerations", "priorityClassName")


def _healthy(observed: Object) -> bool:
    """It says how it is, if only that it is new, and not that it failed."""
    state = inner(observed, "status", "applicationState").get("state")
    return state is not None and state != "FAILED"


def _state(status: Object, path: str) -> str:
    return text(part(status, "applicationState", path) or {}, "state", f"{path}.applicationState")


def _components(wire: Object) -> tuple[Object, ...]:
    driver = {"name": "driver", "replicas": 1, **_needs(wire, "driver")}
    executor = {"name": "executor", "replicas": _executors(wire), **_needs(wire, "executor")}
    return answers.components([driver, executor])


def _executors(wire: Object) -> int:
    """As many as are asked for, or as it begins with at least where their number changes."""
    spec = inner(wire, "spec", "executor")
    wanted = count(spec, "instances", "spec.executor") if "instances" in spec else 1
    dynamic, path = inner(wire, "spec", "dynamicAllocation"), "spec.dynamicAllocation"
    if not flag(dynamic, "enabled", path, default=False):
        return wanted
    usual = {"initialExecutors": 1, "minExecutors": 1, **dynamic}
    begins = (count(usual, key, path) for key in ("initialExecutors", "minExecutors"))
    return max(wanted, *begins)


def _needs(wire: Object, role: str) -> Object:
    """What a pod of a role needs, as it stands in a component."""
    spec, path = inner(wire, "spec", role), f"spec.{role}"
    request: dict[str, Any] = {
        "cpu": spec.get("cores") or 1,
        "memory": quantity_text(_memory(wire, role), binary=True),
    }
    gpu = part(spec, "gpu", path) or {}
    if text(gpu, "name", f"{path}.gpu") and gpu.get("quantity"):
        request[gpu["name"]] = gpu["quantity"]
    nodes = {key: spec[key] for key in _NODES if spec.get(key)}
    claim = requirements(nodes, path) or {}
    priority = {key: spec[key] for key in ("priorityClassName",) if spec.get(key)}
    return {"replicaRequirements": {**claim, **priority, "resourceRequest": request}}


def _memory(wire: Object, role: str) -> Decimal:
    """The heap and what comes on top of it."""
    spec, path = inner(wire, "spec", role), f"spec.{role}"
    heap = _bytes(spec.get("memory") or "1g", f"{path}.memory")
    if spec.get("memoryOverhead"):
        return heap + _bytes(spec["memoryOverhead"], f"{path}.memoryOverhead")
    return heap + max(heap * _share(wire), _LEAST_OVERHEAD)


def _share(wire: Object) -> Decimal:
    spec = inner(wire, "spec")
    if spec.get("memoryOverheadFactor"):
        return quantity(spec["memoryOverheadFactor"], "spec.memoryOverheadFactor")[0]
    is_jvm = text(spec, "type", "spec").lower() in ("java", "scala")
    return _OF_JVM if is_jvm else _OF_OTHERS


def _bytes(written: Any, path: str) -> Decimal:
    found = _MEMORY.fullmatch(written.lower()) if isinstance(written, str) else None
    if found is None:
        raise Invalid(path, written, "must be an amount of memory as Java writes it, such as 512m")
    size, unit = found.groups()
    return Decimal(size) * (1 << 10 * _POWER[unit])


@of_several
def _summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """Sums of attempts, all executors, and the state of the cluster where it is worst."""
    found = list(reported(items))
    status = Tally(sums=("executionAttempts", "submissionAttempts")).status(template, items)
    executors: dict[str, Any] = {}
    for path, each in found:
        executors |= part(each, "executorState", path) or {}
    told = [(path, each) for path, each in found if each.get("applicationState")]
    worst = max(told, key=lambda one: _BADNESS.get(_state(one[1], one[0]), 0), default=None)
    more = {
        "applicationState": worst and worst[1]["applicationState"],
        "executorState": executors,
        "lastSubmissionAttemptTime": latest(items, "lastSubmissionAttemptTime"),
        "terminationTime": latest(items, "terminationTime"),
    }
    kept = {key: value for key, value in status.items() if key not in more}
    return news(template, kept | {key: value for key, value in more.items() if value})


SPARK = {
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): Interpretation(
        components=_components,
        aggregate=_summed,
        reflect=picking(
            *("applicationState", "driverInfo", "executorState", "sparkApplicationId"),
            *("lastSubmissionAttemptTime", "submissionAttempts", "executionAttempts"),
            *("submissionID", "terminationTime"),
        ),
        health=_healthy,
    )
}
