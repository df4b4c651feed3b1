"""LimitRanges: what containers are given that ask for nothing, and how little or much is allowed.

The limit ranges of a namespace and a pod or a claim come in; the pod with its defaults goes out, or
all that is wrong with it, in Kubernetes' words.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.admitting.sums import Sum, of_container, of_pod
from atoll.apiserver.kinds.amounts import quality
from atoll.apiserver.kinds.reading import part, parts, text
from atoll.apiserver.objects.metadata import metadata
from atoll.wire import Wire

ANNOTATION = "kubernetes.io/limit-ranger"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))
_SIDES = (("requests", "request", "defaultRequest"), ("limits", "limit", "default"))


def with_defaults(pod: Wire, ranges: Iterable[Wire]) -> Wire:
    """The pod whose containers have what the limit ranges give them; itself if that is nothing."""
    for limits in ranges:
        given = [one for one in parts(limits, "spec", "limits") if one.get("type") == "Container"]
        defaults = {
            side: {name: amount for one in given for name, amount in part(one, field).items()}
            for side, _, field in _SIDES
        }
        if any(defaults.values()):
            pod = _filled(pod, defaults)
    return pod


def _filled(pod: Wire, defaults: dict[str, Wire]) -> Wire:
    spec, told = dict(part(pod, "spec")), []
    for kind, said in _CONTAINERS:
        containers = []
        for container in parts(spec, kind):
            filled, gifts = _completed(container, defaults)
            containers.append(filled)
            told += [f"{gift} for {said} {text(container, 'name')}" for gift in gifts]
        if containers:
            spec[kind] = containers
    if not told:
        return pod
    meta = metadata(pod)
    note = {ANNOTATION: "LimitRanger plugin set: " + "; ".join(told)}
    annotated = {**meta, "annotations": {**(meta.get("annotations") or {}), **note}}
    status = {**part(pod, "status"), "qosClass": quality(spec)}
    return {**pod, "metadata": annotated, "spec": spec, "status": status}


def _completed(container: Wire, defaults: dict[str, Wire]) -> tuple[Wire, list[str]]:
    """The container, and what it was given: `cpu, memory request`."""
    resources, gifts = dict(part(container, "resources")), []
    for side, said, _ in _SIDES:
        there = part(resources, side)
        missing = sorted(set(defaults[side]) - set(there))
        if missing:
            resources[side] = {**there, **{name: defaults[side][name] for name in missing}}
            gifts.append(f"{', '.join(missing)} {said}")
    return {**container, "resources": resources}, gifts


def check_pod(pod: Wire, ranges: Iterable[Wire]) -> None:
    """Refused with all that the first limit range which minds has against a pod."""
    for limits in ranges:
        faults: list[str] = []
        for limit in parts(limits, "spec", "limits"):
            spec = part(pod, "spec")
            if limit.get("type") == "Container":
                for container in parts(spec, "containers") + parts(spec, "initContainers"):
                    asked = of_container(container, "requests")
                    faults += _faults(limit, asked, of_container(container, "limits"))
            elif limit.get("type") == "Pod":
                faults += _faults(limit, of_pod(spec, "requests"), of_pod(spec, "limits"))
        _refuse(faults)


def check_claim(claim: Wire, ranges: Iterable[Wire]) -> None:
    """Refused with all that the first limit range which minds has against a claim of storage."""
    asked = Sum(part(claim, "spec", "resources", "requests"))
    for limits in ranges:
        faults: list[str] = []
        for limit in parts(limits, "spec", "limits"):
            if limit.get("type") != "PersistentVolumeClaim":
                continue
            for name, least in sorted(part(limit, "min").items()):
                faults += _below(limit, name, least, asked, Sum())
            for name, most in sorted(part(limit, "max").items()):
                faults += _above(limit, name, most, {"request": asked}, "request")
        _refuse(faults)


def _refuse(faults: list[str]) -> None:
    once = list(dict.fromkeys(faults))
    if once:
        raise Refused(once[0] if len(once) == 1 else f"[{', '.join(once)}]")


def _faults(limit: Wire, asked: Sum, most: Sum) -> Iterator[str]:
    for name, least in sorted(part(limit, "min").items()):
        yield from _below(limit, name, least, asked, most)
    for name, highest in sorted(part(limit, "max").items()):
        yield from _above(limit, name, highest, {"limit": most, "request": asked}, "limit")
    for name, ratio in sorted(part(limit, "maxLimitRequestRatio").items()):
        yield from _stretched(limit, name, ratio, asked, most)


def _below(limit: Wire, name: str, least: str, asked: Sum, most: Sum) -> Iterator[str]:
    says = f"minimum {name} usage per {limit['type']} is {least}"
    floor = Sum({name: least}).get(name, Decimal(0))
    if name not in asked:
        yield f"{says}.  No request is specified"
    elif asked[name] < floor:
        yield f"{says}, but request is {asked.shown(name)}"
    elif name in most and most[name] < floor:
        yield f"{says}, but limit is {most.shown(name)}"


def _above(
    limit: Wire, name: str, highest: str, given: dict[str, Sum], needed: str
) -> Iterator[str]:
    says = f"maximum {name} usage per {limit['type']} is {highest}"
    roof = Sum({name: highest}).get(name, Decimal(0))
    if name not in given[needed]:
        yield f"{says}.  No {needed} is specified"
        return
    for said, amounts in given.items():
        if name in amounts and amounts[name] > roof:
            yield f"{says}, but {said} is {amounts.shown(name)}"
            return


def _stretched(limit: Wire, name: str, ratio: str, asked: Sum, most: Sum) -> Iterator[str]:
    says = f"{name} max limit to request ratio per {limit['type']} is {ratio}, but"
    if not asked.get(name):
        yield f"{says} no request is specified or request is 0"
    elif not most.get(name):
        yield f"{says} no limit is specified or limit is 0"
    elif most[name] / asked[name] > Sum({name: ratio}).get(name, Decimal(0)):
        yield f"{says} provided ratio is {most[name] / asked[name]:.6f}"
