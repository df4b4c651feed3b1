"""Ray (ray.io): a cluster of one head and groups of workers, alone or for a job or a service."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from atoll.dialects.wire import EXACT, count, part, parts, quantity, text
from atoll.interpreting import answers
from atoll.interpreting.aggregating import news, reported
from atoll.interpreting.fields import holds, inner, replaced
from atoll.interpreting.operations import Interpretation, Item, Replicas
from atoll.interpreting.quantities import quantity_text
from atoll.interpreting.reflecting import generation
from atoll.interpreting.thirdparty.pods import (
    Template,
    component,
    needs,
    of_templates,
    template_at,
    template_in,
)
from atoll.interpreting.thirdparty.statuses import Tally, all_conditions, latest, of_several
from atoll.wire import Object

_SERVICE = ("spec", "rayClusterConfig")
_ACTIVE = "activeServiceStatus"
HEAD = "headGroupSpec"
WORKERS = "workerGroupSpecs"
_WORKERS = (
    *("readyWorkerReplicas", "availableWorkerReplicas", "maxWorkerReplicas", "minWorkerReplicas"),
    "desiredWorkerReplicas",
)
_AMOUNTS = ("desiredCPU", "desiredMemory", "desiredGPU", "desiredTPU")
# From good to bad; what is not listed counts as least.
_DEPLOYED = {
    "Initializing": 1,
    "Waiting": 2,
    "Suspending": 3,
    "Suspended": 3,
    "Retrying": 4,
    "Running": 5,
    "Complete": 6,
    "ValidationFailed": 7,
    "Failed": 8,
}
_JOB = {"PENDING": 1, "RUNNING": 2, "SUCCEEDED": 3, "STOPPED": 4, "FAILED": 5}
_APPLICATION = {
    "NOT_STARTED": 1,
    "DEPLOYING": 2,
    "DELETING": 3,
    "UNHEALTHY": 4,
    "DEPLOY_FAILED": 5,
}


def _templates(where: tuple[str, ...], *more: str, wire: Object) -> Iterator[Template]:
    """The pods of the head, of every group of workers, and of whoever hands in the job."""
    yield template_at(wire, *where, HEAD, "template")
    for here, group in parts(inner(wire, *where), WORKERS, ".".join(where)):
        yield template_in(group, here)
    for key in more:
        yield template_at(wire, "spec", key)


def _components(where: tuple[str, ...], wire: Object) -> tuple[Object, ...]:
    """One head, and the groups of workers by name."""
    spec, found = inner(wire, *where), []
    if inner(spec, HEAD).get("template") is not None:
        found.append(component("ray-head", 1, template_at(wire, *where, HEAD, "template")))
    for index, (here, group) in enumerate(parts(spec, WORKERS, ".".join(where)), 1):
        name = text(group, "groupName", here) or f"worker-{index}"
        found.append(component(name, count(group, "replicas", here), template_in(group, here)))
    return tuple(found)


def _provisioned(observed: Object) -> bool:
    """The head is ready, all pods were there once, and none is failing."""
    status = inner(observed, "status")
    there = all(holds(status, "status", each) for each in ("HeadPodReady", "RayClusterProvisioned"))
    return there and not holds(status, "status", "RayClusterReplicaFailure")


def _job_healthy(observed: Object) -> bool:
    """It runs, or has succeeded."""
    status = inner(observed, "status")
    deployed = text(status, "jobDeploymentStatus", "status")
    succeeded = text(status, "jobStatus", "status") == "SUCCEEDED"
    return deployed == "Running" or (deployed == "Complete" and succeeded)


@of_several
def _cluster_summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """Sums of workers and resources; where the head is and how it is, from the first that says."""
    found = list(reported(items))
    status = Tally(sums=_WORKERS).status(template, items)
    status |= {key: _amount(found, key) for key in _AMOUNTS}
    first = {key: _first(found, key) for key in ("endpoints", "head", "state")}
    told = [each for _, each in found if each.get("state")]
    times = {"stateTransitionTimes": told[0].get("stateTransitionTimes") if told else None}
    rest = first | times | _said_by_all(items)
    return news(template, status | {key: each for key, each in rest.items() if each})


def _said_by_all(items: tuple[Item, ...]) -> dict[str, Any]:
    updated = latest(items, "lastUpdateTime")
    return {"conditions": all_conditions(items), "lastUpdateTime": updated}


def _amount(found: list[tuple[str, Object]], key: str) -> str:
    total, binary = Decimal(), False
    for path, status in found:
        if status.get(key) not in (None, ""):
            value, in_bytes = quantity(status[key], f"{path}.{key}")
            total, binary = EXACT.add(total, value), binary or in_bytes
    return quantity_text(total, binary=binary)


def _first(found: list[tuple[str, Object]], key: str) -> Any:
    return next((each[key] for _, each in found if each.get(key)), None)


@of_several
def _job_summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """The worst of the clusters, and its reason."""
    statuses = [each for _, each in reported(items)]
    deployed = _worst(statuses, "jobDeploymentStatus", _DEPLOYED)
    found = {key: deployed.get(key) for key in ("jobDeploymentStatus", "reason", "message")}
    found["jobStatus"] = _worst(statuses, "jobStatus", _JOB).get("jobStatus")
    old = {key: value for key, value in inner(template, "status").items() if key not in found}
    return news(template, old | {key: value for key, value in found.items() if value})


def _worst(statuses: list[Object], key: str, badness: Mapping[str, int]) -> Object:
    """The first of the statuses that are worst in a field; an empty one if none has it."""
    told = [each for each in statuses if each.get(key)]
    return max(told, key=lambda each: badness.get(str(each[key]), 0), default={})


@of_several
def _service_summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """Sums of endpoints; of every application the worst state it has anywhere."""
    found = list(reported(items))
    status = Tally(sums=("numServeEndpoints",)).status(template, items)
    runs = all(each.get("serviceStatus") != "" for _, each in found)
    seen = [generation(each, "observedGeneration", path) for path, each in found]
    more = {
        "observedGeneration": max(seen, default=0),
        "serviceStatus": "Running" if runs else "",
        _ACTIVE: _active(found),
        "pendingServiceStatus": _first(found, "pendingServiceStatus"),
        **_said_by_all(items),
    }
    return news(template, status | {key: each for key, each in more.items() if each})


def _active(found: list[tuple[str, Object]]) -> Object | None:
    active = [part(each, _ACTIVE, path) or {} for path, each in found]
    told = [each for each in active if each]
    if not told:
        return None
    listed = [part(each, "applicationStatuses", _ACTIVE) or {} for each in told]
    names = sorted({name for each in listed for name in each})
    applications = {
        name: _worst([part(each, name, _ACTIVE) or {} for each in listed], "status", _APPLICATION)
        for name in names
    }
    return {**told[0], **({"applicationStatuses": applications} if applications else {})}


def _service_replicas(wire: Object) -> Replicas:
    """The head and all workers, as if each needed as much as the one that needs most."""
    head = template_at(wire, *_SERVICE, HEAD, "template")
    if not head[1]:
        return Replicas(0)
    groups = list(parts(inner(wire, *_SERVICE), WORKERS, ".".join(_SERVICE)))
    total = 1 + sum(count(group, "replicas", here) for here, group in groups)
    found = needs(head)
    if found is None:
        return Replicas(total)
    listed = [found, *(needs(template_in(group, here)) for here, group in groups)]
    requests = [(each or {}).get("resourceRequest") or {} for each in listed]
    most = {**requests[0], **{key: _most(requests, key) for key in ("cpu", "memory")}}
    request = {key: value for key, value in most.items() if value}
    merged = {**found, **({"resourceRequest": request} if request else {})}
    return answers.replicas(total, merged, wire, head[0])


def _most(requests: list[Object], key: str) -> str:
    given = [str(each[key]) for each in requests if each.get(key)]
    return max(given, key=lambda each: quantity(each, key)[0], default="")


def _service_revised(wire: Object, total: int) -> Object:
    """The head is one; the workers are divided among the groups as they were before."""
    groups = [group for _, group in parts(inner(wire, *_SERVICE), WORKERS, ".".join(_SERVICE))]
    if not groups:
        return wire
    shares = _shares([count(group, "replicas", WORKERS) for group in groups], max(0, total - 1))
    divided = [{**group, "replicas": share} for group, share in zip(groups, shares, strict=True)]
    return replaced(wire, (*_SERVICE, WORKERS), divided)


def _shares(before: list[int], total: int) -> list[int]:
    """So many workers, divided in the proportion there was, or evenly if there were none."""
    weights = before if any(before) else [1] * len(before)
    whole = sum(weights)
    shares = [total * weight // whole for weight in weights]
    # What is left goes where most was cut off; the first of equals.
    rest = sorted(range(len(weights)), key=lambda at: -(total * weights[at] % whole))
    for at in rest[: total - sum(shares)]:
        shares[at] += 1
    return shares


_CLUSTER_SPEC, _JOB_SPEC = ("spec",), ("spec", "rayClusterSpec")
RAY = {
    ("ray.io/v1", "RayCluster"): Interpretation(
        components=partial(_components, _CLUSTER_SPEC),
        aggregate=_cluster_summed,
        health=_provisioned,
    ),
    ("ray.io/v1", "RayJob"): Interpretation(
        components=partial(_components, _JOB_SPEC),
        aggregate=_job_summed,
        health=_job_healthy,
        dependencies=of_templates(
            lambda wire: _templates(_JOB_SPEC, "submitterPodTemplate", wire=wire)
        ),
    ),
    ("ray.io/v1", "RayService"): Interpretation(
        replicas=_service_replicas,
        revise=_service_revised,
        aggregate=_service_summed,
        health=lambda observed: holds(inner(observed, "status"), "status", "Ready"),
        dependencies=of_templates(lambda wire: _templates(_SERVICE, wire=wire)),
    ),
}
