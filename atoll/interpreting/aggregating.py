"""The status of a template from what members report of it, for the kinds of Kubernetes.

Reports are taken by the names of their clusters, so the order in which they come in never matters.
Workloads: sums of their counters; conditions and whatever else stands in the template's status are
left alone, and the generation observed moves on only when every member has observed the template
as it is now. Jobs: complete when they are in every member, failed when they are in any; then the
status is final. Pods, volumes and claims are in one phase each, and the least settled one wins; a
member that has not reported yet counts as pending. Times are the members' own, so that the same
reports always give the same status.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from atoll.dialects.wire import (
    at,
    checked,
    elements,
    flag,
    instant,
    number,
    part,
    parts,
    text,
    text_by_name,
)
from atoll.interpreting.counters import COUNTERS
from atoll.interpreting.fields import inner, without
from atoll.interpreting.kinds import kind_of
from atoll.interpreting.operations import Item
from atoll.interpreting.reflecting import generation
from atoll.wire import Object


def in_order(items: tuple[Item, ...]) -> list[Item]:
    """The reports by the names of their clusters."""
    return sorted(items, key=lambda item: item.cluster)


def reported(items: tuple[Item, ...]) -> Iterator[tuple[str, Object]]:
    """The statuses that were collected, by cluster, each with where it stands."""
    for item in in_order(items):
        if item.status is not None:
            yield place(item), status_of(item)


def status_of(item: Item) -> Object:
    """A cluster's status; empty if it was not collected yet."""
    return {} if item.status is None else checked(item.status, place(item))


def place(item: Item) -> str:
    """Where a cluster's status stands in a binding, for errors."""
    return at(f"aggregatedStatus[{item.cluster}]", "status")


def news(template: Object, status: dict[str, Any]) -> dict[str, Any] | None:
    """This status, unless the template's says the same already."""
    said = part(template, "status", "") or {}
    return None if _told(said) == _told(status) else status


def _told(value: Any) -> Any:
    """What a value says: absent, null, zero and empty are all the same."""
    if isinstance(value, dict):
        told = {key: _told(each) for key, each in value.items()}
        return {key: each for key, each in told.items() if each}
    return [_told(each) for each in value] if isinstance(value, list) else value


def workload(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums of the counters, and the generation that all members have observed."""
    counters = COUNTERS[kind_of(template)]
    old, current = inner(template, "status"), _generation(template)
    observed = generation(old, "observedGeneration", "status")
    caught_up = [path for path, status in reported(items) if _is_current(status, path, current)]
    if len(caught_up) == len(items):
        observed = current
    rest = without(old, (*counters.names, "observedGeneration"))
    seen = {"observedGeneration": observed} if observed else {}
    return news(template, {**rest, **_sums(template, items), **seen})


def autoscaler(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums of the replicas there are and of those wanted."""
    return news(template, _sums(template, items))


def budget(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums, and every pod being disrupted under the name of its cluster."""
    disrupted = {
        f"{item.cluster}/{pod}": since
        for item in in_order(items)
        for pod, since in text_by_name(status_of(item), "disruptedPods", place(item)).items()
    }
    found = {"disruptedPods": disrupted} if disrupted else {}
    return news(template, _sums(template, items) | found)


def _sums(template: Object, items: tuple[Item, ...]) -> dict[str, Any]:
    counters = COUNTERS[kind_of(template)]
    read = [counters.read(status, path) for path, status in reported(items)]
    return counters.written({name: sum(each[name] for each in read) for name in counters.names})


def _generation(template: Object) -> int:
    return generation(inner(template, "metadata"), "generation", "metadata")


def _is_current(status: Object, path: str, current: int) -> bool:
    """The member's controller has seen its object, and its object is the template's newest."""
    seen = generation(status, "observedGeneration", path)
    of_template = generation(status, "resourceTemplateGeneration", path)
    return seen >= generation(status, "generation", path) and of_template >= current


COMPLETE, FAILED, CRITERIA_MET = "Complete", "Failed", "SuccessCriteriaMet"
Moment = tuple[int, str]
"""A time as a number to compare, and as it was written."""
NEVER: Moment = (0, "")
_TIMES = ("lastScheduleTime", "lastSuccessfulTime")


def job(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums of its pods, how it ended, and when."""
    old = inner(template, "status")
    if _ended(old, "status"):
        return None
    sums, conditions = _sums(template, items), _conditions(items)
    times = {
        "startTime": text(old, "startTime", "status") or _start(items, ended=bool(conditions)),
        "completionTime": _latest(items, "completionTime") if _all(items, "completionTime") else "",
    }
    found = sums | {key: when for key, when in times.items() if when}
    return news(template, found | ({"conditions": conditions} if conditions else {}))


def cron_job(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """All active jobs, and the latest times."""
    active = [each for path, one in reported(items) for each in elements(one, "active", path)]
    times = {key: _latest(items, key) for key in _TIMES}
    found = {key: when for key, when in times.items() if when}
    return news(template, found | ({"active": active} if active else {}))


def _ended(status: Object, path: str) -> str:
    """How a job ended; empty while it has not."""
    return next((sort for sort in _true(status, path) if sort in (COMPLETE, FAILED)), "")


def _true(status: Object, path: str) -> dict[str, Moment]:
    """The conditions that hold, and since when."""
    return {
        text(each, "type", here): _moment(each, "lastTransitionTime", here) or NEVER
        for here, each in parts(status, "conditions", path)
        if text(each, "status", here) == "True"
    }


def _conditions(items: tuple[Item, ...]) -> list[dict[str, Any]]:
    """How the whole ended; empty while it has not."""
    seen = [(item.cluster, (status_of(item), place(item))) for item in in_order(items)]
    held = [(cluster, _true(*told), _ended(*told)) for cluster, told in seen]
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


def _moment(wire: Object, key: str, path: str) -> Moment | None:
    found = instant(wire, key, path)
    return None if found is None else (found, text(wire, key, path))


PENDING = "Pending"
_OF_PODS = ("Failed", PENDING, "Running", "Succeeded")
_OF_VOLUMES = ("Failed", PENDING, "Available", "Bound", "Released")
_OF_CLAIMS = ("Lost", PENDING, "Bound")


def pod(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The phase, and the states of the containers in all members."""
    if not items:
        return None
    phase = _phase(items, _OF_PODS)
    containers = {
        key: [
            _container(each, here)
            for path, status in reported(items)
            for here, each in parts(status, key, path)
        ]
        for key in ("containerStatuses", "initContainerStatuses")
    }
    found = {key: value for key, value in containers.items() if value}
    return news(template, {**found, **({"phase": phase} if phase else {})})


def _phase_alone(
    known: tuple[str, ...], template: Object, items: tuple[Item, ...]
) -> dict[str, Any] | None:
    phase = _phase(items, known)
    return news(template, {"phase": phase}) if phase else None


volume, claim = partial(_phase_alone, _OF_VOLUMES), partial(_phase_alone, _OF_CLAIMS)


def _phase(items: tuple[Item, ...], known: tuple[str, ...]) -> str:
    """The first of the known phases that any member is in; empty if none is."""
    phases = {text(status_of(item), "phase", place(item)) or PENDING for item in items}
    return next((phase for phase in known if phase in phases), "")


def _container(wire: Object, path: str) -> dict[str, Any]:
    """Whether it is ready and its state: names repeat from member to member and are left out."""
    return {
        "name": "",
        "image": "",
        "imageID": "",
        "restartCount": 0,
        "ready": flag(wire, "ready", path, default=False),
        "state": part(wire, "state", path) or {},
    }


Address = tuple[str, str, str]
Port = tuple[int, str, str]


def service(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The addresses of a load balancer; other services have no status."""
    if text(inner(template, "spec"), "type", "spec") != "LoadBalancer":
        return None
    return ingress(template, items)


def ingress(template: Object, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The addresses in all members."""
    ports_by_address: dict[Address, set[Port]] = {}
    for path, status in reported(items):
        here = at(path, "loadBalancer")
        for place, each in parts(part(status, "loadBalancer", path) or {}, "ingress", here):
            ports_by_address.setdefault(_address(each, place), set()).update(_ports(each, place))
    points = [
        _written(address, sorted(ports_by_address[address]))
        for address in sorted(ports_by_address, key=_by_name_first)
    ]
    return news(template, {"loadBalancer": {"ingress": points} if points else {}})


def _address(wire: Object, path: str) -> Address:
    return text(wire, "hostname", path), text(wire, "ip", path), text(wire, "ipMode", path)


def _by_name_first(address: Address) -> tuple[bool, str, str, bool, str]:
    """Names before mere numbers, and those that say how they are used before those that do not."""
    hostname, ip, mode = address
    return not hostname, hostname, ip, not mode, mode


def _ports(wire: Object, path: str) -> list[Port]:
    return [
        (number(each, "port", at) or 0, text(each, "protocol", at), text(each, "error", at))
        for at, each in parts(wire, "ports", path)
    ]


def _written(address: Address, ports: list[Port]) -> dict[str, Any]:
    hostname, ip, mode = address
    said = {"hostname": hostname, "ip": ip, "ipMode": mode}
    found: dict[str, Any] = {key: value for key, value in said.items() if value}
    if ports:
        found["ports"] = [
            {"port": port, "protocol": protocol} | ({"error": error} if error else {})
            for port, protocol, error in ports
        ]
    return found
