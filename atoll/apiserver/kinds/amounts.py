"""What containers request and are limited to, and how well their pod is treated for it."""

from atoll.apiserver.fields.error import Errors, faulty, forbidden, invalid, required
from atoll.apiserver.kinds.reading import part, parts
from atoll.dialects.kubernetes.names import qualified_faults
from atoll.model.quantity import parse
from atoll.wire import Wire

_OWN = frozenset(["cpu", "memory", "ephemeral-storage"])
_PAGES = "hugepages-"
_NATIVE = "kubernetes.io/"


def amounts_errors(amounts: Wire, path: str) -> Errors:
    """Amounts of what containers have: known, not below zero, whole where they must be."""
    for name, amount in sorted(amounts.items()):
        where, value = f"{path}[{name}]", parse(amount)
        if name not in _OWN:
            yield from _name_errors(name, where)
        if value is None:
            continue
        if value < 0:
            yield invalid(where, amount, "must be greater than or equal to 0")
        if _is_extended(name) and value % 1:
            yield invalid(where, amount, "must be an integer")
        if name.startswith(_PAGES) and _is_no_multiple(name, amount):
            yield invalid(where, amount, f"{amount} is not positive integer multiple of {name}")


def _name_errors(name: str, where: str) -> Errors:
    if faults := qualified_faults(name):
        return faulty(where, name, faults)
    if "/" in name or name.startswith(_PAGES):
        return []
    reasons = (
        "must be a standard resource type or fully qualified",
        "must be a standard resource for containers",
    )
    return faulty(where, name, reasons)


def _is_extended(name: str) -> bool:
    return "/" in name and _NATIVE not in name


def _is_no_multiple(name: str, amount: str) -> bool:
    size, value = parse(name.removeprefix(_PAGES)), parse(amount)
    return size is None or value is None or size <= 0 or value <= 0 or value % size != 0


def resources_errors(resources: Wire, path: str) -> Errors:
    """Requests may not be above limits; of what cannot be shared both must be the same."""
    limits, requests = part(resources, "limits"), part(resources, "requests")
    if not limits and not requests:
        return
    yield from amounts_errors(limits, f"{path}.limits")
    yield from amounts_errors(requests, f"{path}.requests")
    for name, asked in sorted(requests.items()):
        amount, limit = parse(asked), parse(limits.get(name))
        alone = _is_extended(name) or name.startswith(_PAGES)
        if limit is None:
            if alone:
                why = "Limit must be set for non overcommitable resources"
                yield required(f"{path}.limits", why)
        elif amount is not None and amount != limit and (alone or amount > limit):
            relation = "equal to" if alone else "less than or equal to"
            why = f"must be {relation} {name} limit of {limits[name]}"
            yield invalid(f"{path}.requests", asked, why)
    named = {*limits, *requests}
    if any(name.startswith(_PAGES) for name in named) and not {"cpu", "memory"} & named:
        yield forbidden(path, "HugePages require cpu or memory")


def quality(spec: Wire) -> str:
    """The quality of service class: by what the containers request and limit of cpu and memory."""
    containers = parts(spec, "containers") + parts(spec, "initContainers")
    every = [part(container, "resources") for container in containers]
    asked = [
        amount
        for resources in every
        for kind in ("requests", "limits")
        for name in ("cpu", "memory")
        if (amount := parse(part(resources, kind).get(name))) is not None and amount > 0
    ]
    if not asked:
        return "BestEffort"
    guaranteed = all(
        part(resources, "limits").get(name) is not None
        and parse(part(resources, "limits").get(name))
        == parse(part(resources, "requests").get(name))
        for resources in every
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if guaranteed else "Burstable"
