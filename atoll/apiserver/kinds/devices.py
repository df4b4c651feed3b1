"""The kinds of resource.k8s.io/v1: devices that there are, and claims to some of them."""

from atoll.apiserver.fields.error import (
    Errors,
    faulty,
    invalid,
    named,
    not_supported,
    required,
    too_many,
)
from atoll.apiserver.kinds.csi import driver_name_errors
from atoll.apiserver.kinds.reading import each, fill, fill_zero, given, part, parts, text
from atoll.apiserver.kinds.rules import fixed, needed, unique
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, subdomain_faults
from atoll.wire import Wire

_MODES = ("All", "ExactCount")
_REQUESTS_MAX, _SELECTORS_MAX, _FIRST_MAX, _DEVICES_MAX = 32, 32, 8, 128
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def _default_claim(claim: Wire) -> None:
    spec = part(claim, "spec")
    for request in parts(spec, "devices", "requests"):
        exactly = given(request, "exactly")
        for wish in [*parts(request, "firstAvailable"), *([] if exactly is None else [exactly])]:
            fill(wish, allocationMode="ExactCount")
            if wish["allocationMode"] == "ExactCount":
                fill_zero(wish, count=1)


def _claim_errors(claim: Wire, path: str = "spec") -> Errors:
    requests, where = parts(claim, "spec", "devices", "requests"), f"{path}.devices.requests"
    if len(requests) > _REQUESTS_MAX:
        yield too_many(where, len(requests), _REQUESTS_MAX)
        return
    names: set[str] = set()
    for request, place in each(requests, where):
        name = text(request, "name")
        yield from named(f"{place}.name", name, label_faults)
        yield from _request_errors(request, place)
        yield from unique(names, name, place)


def _request_errors(request: Wire, where: str) -> Errors:
    exactly, first = given(request, "exactly"), parts(request, "firstAvailable")
    why = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not first:
        yield required(where, why)
        return
    if exactly is not None and first:
        yield invalid(where, None, f"{why}, but multiple fields are set")
        return
    if exactly is not None:
        yield from _wish_errors(exactly, f"{where}.exactly")
        return
    if len(first) > _FIRST_MAX:
        yield too_many(f"{where}.firstAvailable", len(first), _FIRST_MAX)
        return
    for wish, place in each(first, f"{where}.firstAvailable"):
        yield from named(f"{place}.name", text(wish, "name"), label_faults)
        yield from _wish_errors(wish, place)


def _wish_errors(wish: Wire, where: str) -> Errors:
    name = text(wish, "deviceClassName")
    yield from named(f"{where}.deviceClassName", name, subdomain_faults)
    yield from _selectors_errors(wish, where)
    mode, count = wish.get("allocationMode"), wish.get("count") or 0
    if mode not in _MODES:
        yield not_supported(f"{where}.allocationMode", mode, _MODES)
    elif mode == "All" and count:
        yield invalid(f"{where}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid(f"{where}.count", count, "must be greater than zero")


def _selectors_errors(holder: Wire, where: str) -> Errors:
    selectors, place = parts(holder, "selectors"), f"{where}.selectors"
    if len(selectors) > _SELECTORS_MAX:
        return [too_many(place, len(selectors), _SELECTORS_MAX)]
    return [
        required(f"{spot}.cel")
        for selector, spot in each(selectors, place)
        if given(selector, "cel") is None
    ]


def _slice_errors(piece: Wire) -> Errors:
    spec = part(piece, "spec")
    yield from driver_name_errors(text(spec, "driver"), "spec.driver")
    yield from _pool_errors(part(spec, "pool"))
    node = spec.get("nodeName")
    if node == "":
        yield invalid("spec.nodeName", node, "must be either unset or set to a non-empty string")
    elif isinstance(node, str):
        yield from faulty("spec.nodeName", node, subdomain_faults(node))
    placed = [f"`{key}`" for key in _PLACES if spec.get(key)]
    why = f"exactly one of {', '.join(f'`{key}`' for key in _PLACES)} is required"
    if not placed:
        yield required("spec", why)
    elif len(placed) > 1:
        shown = "{" + ", ".join(placed) + "}"
        yield invalid("spec", shown, f"{why}, but multiple fields are set")
    devices = parts(spec, "devices")
    if len(devices) > _DEVICES_MAX:
        yield too_many("spec.devices", len(devices), _DEVICES_MAX)
        return
    names: set[str] = set()
    for device, where in each(devices, "spec.devices"):
        name = text(device, "name")
        yield from named(f"{where}.name", name, label_faults)
        yield from unique(names, name, where)


def _pool_errors(pool: Wire) -> Errors:
    where = "spec.pool"
    yield from needed(pool, where, "name")
    name = text(pool, "name")
    for piece in name.split("/") if name else ():
        yield from faulty(f"{where}.name", piece, subdomain_faults(piece))
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield invalid(f"{where}.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        yield invalid(f"{where}.generation", generation, "must be greater than or equal to zero")


DEVICE_CLASS = Strategy(
    tracks_generation=True,
    returns_deleted=True,
    errors=lambda device_class: _selectors_errors(part(device_class, "spec"), "spec"),
)
RESOURCE_CLAIM = Strategy(
    has_status=True,
    returns_deleted=True,
    default=_default_claim,
    errors=_claim_errors,
    update_errors=fixed(["spec"]),
)
RESOURCE_CLAIM_TEMPLATE = Strategy(
    returns_deleted=True,
    default=lambda template: _default_claim(part(template, "spec")),
    errors=lambda template: _claim_errors(part(template, "spec"), "spec.spec"),
    update_errors=fixed(["spec"]),
)
RESOURCE_SLICE = Strategy(
    tracks_generation=True,
    returns_deleted=True,
    selectable={"spec.nodeName": ("spec", "nodeName"), "spec.driver": ("spec", "driver")},
    errors=_slice_errors,
    update_errors=fixed(["spec", "pool", "name"], ["spec", "driver"], ["spec", "nodeName"]),
)
