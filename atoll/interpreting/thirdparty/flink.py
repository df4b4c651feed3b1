"""Apache Flink (flink.apache.org): a job manager, and task managers that the work is spread over.

Memory is written as Flink does, where 2048m are mebibytes, or as a quantity of Kubernetes.
"""

import re
from decimal import ROUND_CEILING, Decimal
from typing import Any

from atoll.dialects.wire import part, quantity, text
from atoll.interpreting import answers
from atoll.interpreting.aggregating import news, reported
from atoll.interpreting.fields import inner
from atoll.interpreting.operations import Interpretation, Item, Replicas
from atoll.interpreting.quantities import quantity_text
from atoll.interpreting.thirdparty.statuses import picking
from atoll.model.selector import as_integer
from atoll.wire import Object

_STATUS = (
    *("clusterInfo", "error", "jobManagerDeploymentStatus", "jobStatus", "lifecycleState"),
    *("observedGeneration", "reconciliationStatus", "taskManager"),
)
_STEADY = (
    *("RUNNING", "FINISHED", "FAILED", "CANCELED", "SUSPENDED"),
    *("CANCELLING", "FAILING", "RESTARTING"),
)
_BEGINNING = ("CREATED", "INITIALIZING", "RECONCILING")
# Another cluster could not pull or run that image either: moving the job would not help.
_OF_THE_USER = ("ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff")
_SLOTS = "taskmanager.numberOfTaskSlots"
_MEMORY = re.compile(r"([0-9]+)\s*(b|bytes|k|kb|m|mb|g|gb|t|tb)?")
_POWER = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def _healthy(observed: Object) -> bool:
    """The job runs or has ended, or has not begun through a fault that is the user's own."""
    status = inner(observed, "status")
    state = text(part(status, "jobStatus", "status") or {}, "state", "status.jobStatus")
    if not state:
        ready = text(status, "jobManagerDeploymentStatus", "status") == "READY"
        return ready and text(status, "lifecycleState", "status") == "STABLE"
    if state in _BEGINNING:
        error = text(status, "error", "status")
        return any(each in error for each in _OF_THE_USER)
    return state in _STEADY


def _managers(wire: Object) -> int:
    found = _number(inner(wire, "spec", "jobManager").get("replicas"))
    return 1 if found is None else found


def _workers(wire: Object) -> int:
    """As many task managers as are asked for, or as the job's parallelism fills."""
    asked = _number(inner(wire, "spec", "taskManager").get("replicas"))
    if asked is not None:
        return asked
    parallelism = _number(inner(wire, "spec", "job").get("parallelism"))
    slots = _number(inner(wire, "spec", "flinkConfiguration").get(_SLOTS))
    return 1 if parallelism is None or not slots else -(-parallelism // slots)


def _number(value: Any) -> int | None:
    """A whole number, which Flink's settings write as text; None if there is none."""
    found = as_integer(value) if isinstance(value, str) else value
    usable = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return found if usable else None


def _request(wire: Object, manager: str) -> dict[str, Decimal]:
    resource = inner(wire, "spec", manager, "resource")
    path = f"spec.{manager}.resource"
    found = {}
    if resource.get("cpu") is not None:
        found["cpu"] = quantity(resource["cpu"], f"{path}.cpu")[0]
    if resource.get("memory") is not None:
        found["memory"] = _bytes(resource["memory"], f"{path}.memory")
    return found


def _bytes(written: Any, path: str) -> Decimal:
    flink = _MEMORY.fullmatch(written.strip().lower()) if isinstance(written, str) else None
    if flink is None:
        return quantity(written, path)[0].to_integral_value(ROUND_CEILING)
    size, unit = flink.groups()
    return Decimal(int(size) << 10 * _POWER[(unit or "b")[0]])


def _needs(wire: Object, request: dict[str, Decimal]) -> dict[str, Any]:
    """A request, and the nodes that all pods are limited to."""
    pod = inner(wire, "spec", "podTemplate", "spec")
    nodes = {key: pod[key] for key in ("nodeSelector", "tolerations") if pod.get(key)}
    written = {key: quantity_text(value, binary=key == "memory") for key, value in request.items()}
    found = {
        "resourceRequest": written,
        "nodeClaim": nodes,
        "priorityClassName": text(pod, "priorityClassName", "spec.podTemplate.spec"),
    }
    return {key: value for key, value in found.items() if value}


def _replicas(wire: Object) -> Replicas:
    """All managers together, as if each needed as much as the larger sort does."""
    requests = [_request(wire, each) for each in ("jobManager", "taskManager")]
    most: dict[str, Decimal] = {}
    for each in requests:
        for key, value in each.items():
            most[key] = max(value, most.get(key, value))
    total = _managers(wire) + _workers(wire)
    return answers.replicas(total, _needs(wire, most), wire, "spec")


def _components(wire: Object) -> tuple[Object, ...]:
    sorts = (("jobManager", _managers(wire)), ("taskManager", _workers(wire)))
    listed = []
    for manager, wanted in sorts:
        needs = _needs(wire, _request(wire, manager))
        found = {"name": manager.lower(), "replicas": wanted, "replicaRequirements": needs}
        listed.append({key: value for key, value in found.items() if value != {}})
    return answers.components(listed)


def _summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """What the last cluster says, in the order of their names: a job has one set of managers."""
    found = list(reported(items))
    if not found:
        return None
    _, last = found[-1]
    return news(template, {key: last[key] for key in _STATUS if last.get(key)})


FLINK = {
    ("flink.apache.org/v1beta1", "FlinkDeployment"): Interpretation(
        replicas=_replicas,
        components=_components,
        aggregate=_summed,
        reflect=picking(*_STATUS),
        health=_healthy,
    )
}
