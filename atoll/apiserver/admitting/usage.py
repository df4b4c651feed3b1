"""What an object uses up of a quota, by the names that quotas have for it.

An object and its collection come in, amounts go out: how many there are of its kind; of pods what
they ask for, of claims their storage, of services their ports. Every name is about one collection.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal

from atoll.apiserver.admitting.classes import class_of
from atoll.apiserver.admitting.sums import Sum, of_container, of_pod
from atoll.apiserver.kinds.amounts import quality
from atoll.apiserver.kinds.labels import selector_of
from atoll.apiserver.kinds.reading import items, part, parts, text
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.wire import Wire

COUNT = "count/"
PODS, CLAIMS, SERVICES = "pods", "persistentvolumeclaims", "services"
UNCOUNTED = "events"
_BY_NAME = frozenset(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"])
_OF_CLASS = ".storageclass.storage.k8s.io/"
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_DEMANDED = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
_HUGE = "hugepages-"
_ENDED = ("Succeeded", "Failed")


def collection_of(name: str) -> str:
    """The collection whose objects use up what a quota calls by this name."""
    if name.startswith(COUNT):
        return name.removeprefix(COUNT)
    if name in _BY_NAME:
        return name
    if name.startswith(SERVICES):
        return SERVICES
    if name in (CLAIMS, "requests.storage") or _OF_CLASS in name:
        return CLAIMS
    return PODS


def is_plain(names: Iterable[str]) -> bool:
    """Whether only the number of objects matters, whatever they are."""
    return all(name.startswith(COUNT) or name in _BY_NAME for name in names)


def counted(collection: str) -> Sum:
    """What any object of a collection uses up: one of its kind."""
    used = Sum()
    used[COUNT + collection] = Decimal(1)
    if collection in _BY_NAME:
        used[collection] = Decimal(1)
    return used


def used_by(collection: str, obj: Wire, now: datetime) -> Sum:
    """What an object uses up."""
    used = counted(collection)
    match collection:
        case "pods":
            _add_pod(used, obj, now)
        case "services":
            _add_service(used, obj)
        case "persistentvolumeclaims":
            _add_claim(used, obj)
    return used


def _add_pod(used: Sum, pod: Wire, now: datetime) -> None:
    """A pod that has ended, or should have by now, only counts as being there."""
    if text(pod, "status", "phase") in _ENDED or _is_overdue(pod, now):
        return
    spec = part(pod, "spec")
    overhead = Sum(part(spec, "overhead"))
    asked, most = of_pod(spec, "requests"), of_pod(spec, "limits")
    asked.add(overhead)
    for name, amount in overhead.items():
        if most.get(name):
            most[name] += amount
    _add_compute(used, asked, most)


def _is_overdue(pod: Wire, now: datetime) -> bool:
    meta = metadata(pod)
    ends = parse_rfc3339(meta.get("deletionTimestamp") or "")
    grace_s = meta.get("deletionGracePeriodSeconds")
    return ends is not None and grace_s is not None and now > ends + timedelta(seconds=grace_s)


def _add_compute(used: Sum, asked: Sum, most: Sum) -> None:
    used["pods"] = Decimal(1)
    for name in asked:
        if name in _COMPUTE or name.startswith(_HUGE):
            used.put(name, asked, name)
            used.put(name, asked, f"requests.{name}")
        elif "/" in name:
            used.put(name, asked, f"requests.{name}")
    for name in _COMPUTE:
        if name in most:
            used.put(name, most, f"limits.{name}")


def missing(pod: Wire, names: Iterable[str]) -> str:
    """What a pod must say of itself before these can be counted; nothing if it says it all."""
    spec = part(pod, "spec")
    needed = sorted(_DEMANDED.intersection(names))
    if not needed or any(part(spec, "resources", side) for side in ("requests", "limits")):
        return ""
    lacking: dict[str, list[str]] = {}
    for container in parts(spec, "containers") + parts(spec, "initContainers"):
        said = Sum()
        _add_compute(said, of_container(container, "requests"), of_container(container, "limits"))
        for name in needed:
            if name not in said:
                lacking.setdefault(name, []).append(text(container, "name"))
    told = [f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)]
    return f"must specify {'; '.join(told)}" if told else ""


def _add_service(used: Sum, service: Wire) -> None:
    spec = part(service, "spec")
    ports = parts(spec, "ports")
    balances = spec.get("type") == "LoadBalancer"
    used["services"] = Decimal(1)
    used["services.loadbalancers"] = Decimal(balances)
    open_ports = len(ports) if balances or spec.get("type") == "NodePort" else 0
    if balances and spec.get("allocateLoadBalancerNodePorts") is False:
        open_ports = sum(1 for port in ports if port.get("nodePort"))
    used["services.nodeports"] = Decimal(open_ports)


def _add_claim(used: Sum, claim: Wire) -> None:
    names = [CLAIMS]
    storage = Sum(part(claim, "spec", "resources", "requests"))
    storage.raise_to(Sum(part(claim, "status", "allocatedResources")))
    used[CLAIMS] = Decimal(1)
    if "storage" in storage:
        storage["storage"] = storage["storage"].to_integral_value(ROUND_UP)
        used.put("storage", storage, "requests.storage")
        names.append("requests.storage")
    if kind := class_of(claim):
        for name in names:
            used.put(name, used, f"{kind}{_OF_CLASS}{name}")


def scopes_of(quota: Wire) -> list[Wire]:
    """What a quota is limited to, as requirements that must all be met."""
    plain = [{"scopeName": name, "operator": "Exists"} for name in items(quota, "spec", "scopes")]
    return plain + parts(quota, "spec", "scopeSelector", "matchExpressions")


def is_within(collection: str, obj: Wire, scopes: Iterable[Wire]) -> bool:
    """Whether an object is among those that a quota with these scopes is about."""
    return all(_meets(collection, obj, scope) for scope in scopes)


def _meets(collection: str, obj: Wire, scope: Wire) -> bool:
    name, spec = text(scope, "scopeName"), part(obj, "spec")
    if collection == CLAIMS:
        wanted = text(spec, "volumeAttributesClassName")
        return name == "VolumeAttributesClass" and _named(scope, wanted)
    if collection != PODS:
        return False
    match name:
        case "Terminating":
            return is_limited(obj)
        case "NotTerminating":
            return not is_limited(obj)
        case "BestEffort":
            return quality(spec) == "BestEffort"
        case "NotBestEffort":
            return quality(spec) != "BestEffort"
        case "PriorityClass":
            return _named(scope, text(spec, "priorityClassName"))
        case "CrossNamespacePodAffinity":
            return _looks_elsewhere(part(spec, "affinity"))
    return False


def is_limited(pod: Wire) -> bool:
    """Whether a pod says itself when it must have ended."""
    deadline_s = part(pod, "spec").get("activeDeadlineSeconds")
    return isinstance(deadline_s, int) and deadline_s >= 0


def _named(scope: Wire, name: str) -> bool:
    written = {"key": "name", **{key: scope.get(key) for key in ("operator", "values")}}
    return selector_of({"matchExpressions": [written]}).matches({"name": name} if name else {})


def _looks_elsewhere(affinity: Wire) -> bool:
    """Whether a pod wants to be near pods of other namespaces, or far from them."""
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = parts(affinity, kind, "requiredDuringSchedulingIgnoredDuringExecution")
        for weighted in parts(affinity, kind, "preferredDuringSchedulingIgnoredDuringExecution"):
            terms.append(part(weighted, "podAffinityTerm"))
        if any(one.get("namespaces") or one.get("namespaceSelector") is not None for one in terms):
            return True
    return False
