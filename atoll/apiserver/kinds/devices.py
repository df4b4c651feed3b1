"""The kinds of resource.k8s.io/v1: devices that there are, and claims to some of them."""

from atoll.apiserver.fields.error import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from atoll.apiserver.kinds.csi import driver_name_errors
from atoll.apiserver.kinds.reading import Object, each, fill, fill_zero, given, part, parts, text
from atoll.apiserver.kinds.rules import unchanged
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, subdomain_faults

_MODES = ("All", "ExactCount")
_REQUESTS_MAX, _SELECTORS_MAX, _FIRST_MAX, _DEVICES_MAX = 32, 32, 8, 128
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def _default_claim(claim: Object) -> None:
    _default_requests(part(claim, "spec"))


def _default_template(template: Object) -> None:
    _default_requests(part(template, "spec", "spec"))


def _default_requests(spec: Object) -> None:
    for request in parts(spec, "devices", "requests"):
        exactly = given(request, "exactly")
        for wish in [*parts(request, "firstAvailable"), *([] if exactly is None else [exactly])]:
            fill(wish, allocationMode="ExactCount")
            if wish["allocationMode"] == "ExactCount":
                fill_zero(wish, count=1)


def _claim_errors(claim: Object) -> list[FieldError]:
    return _requests_errors(part(claim, "spec"), "spec")


def _template_errors(template: Object) -> list[FieldError]:
    return _requests_errors(part(template, "spec", "spec"), "spec.spec")


def _requests_errors(spec: Object, path: str) -> list[FieldError]:
    requests, where = parts(spec, "devices", "requests"), f"{path}.devices.requests"
    if len(requests) > _REQUESTS_MAX:
        return [too_many(where, len(requests), _REQUESTS_MAX)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for request, place in each(requests, where):
        errors += _name_errors(text(request, "name"), f"{place}.name")
        errors += _request_errors(request, place)
        if text(request, "name") in names:
            errors.append(duplicate(place, text(request, "name")))
        names.add(text(request, "name"))
    return errors


def _name_errors(name: str, where: str) -> list[FieldError]:
    if not name:
        return [required(where)]
    return [invalid(where, name, reason) for reason in label_faults(name)]


def _request_errors(request: Object, where: str) -> list[FieldError]:
    exactly, first = given(request, "exactly"), parts(request, "firstAvailable")
    why = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not first:
        return [required(where, why)]
    if exactly is not None and first:
        return [invalid(where, None, f"{why}, but multiple fields are set")]
    if exactly is not None:
        return _wish_errors(exactly, f"{where}.exactly")
    if len(first) > _FIRST_MAX:
        return [too_many(f"{where}.firstAvailable", len(first), _FIRST_MAX)]
    errors = []
    for wish, place in each(first, f"{where}.firstAvailable"):
        errors += _name_errors(text(wish, "name"), f"{place}.name") + _wish_errors(wish, place)
    return errors


def _wish_errors(wish: Object, where: str) -> list[FieldError]:
    name, place = text(wish, "deviceClassName"), f"{where}.deviceClassName"
    errors = [invalid(place, name, reason) for reason in subdomain_faults(name)]
    if not name:
        errors = [required(place)]
    errors += _selectors_errors(wish, where)
    mode, count = wish.get("allocationMode"), wish.get("count") or 0
    if mode not in _MODES:
        errors.append(not_supported(f"{where}.allocationMode", mode, _MODES))
    elif mode == "All" and count:
        why = "must not be specified when allocationMode is 'All'"
        errors.append(invalid(f"{where}.count", count, why))
    elif mode == "ExactCount" and count <= 0:
        errors.append(invalid(f"{where}.count", count, "must be greater than zero"))
    return errors


def _selectors_errors(holder: Object, where: str) -> list[FieldError]:
    selectors, place = parts(holder, "selectors"), f"{where}.selectors"
    if len(selectors) > _SELECTORS_MAX:
        return [too_many(place, len(selectors), _SELECTORS_MAX)]
    return [
        required(f"{spot}.cel")
        for selector, spot in each(selectors, place)
        if given(selector, "cel") is None
    ]


def _spec_update_errors(new: Object, old: Object) -> list[FieldError]:
    return unchanged(new, old, "spec")


def _class_errors(device_class: Object) -> list[FieldError]:
    return _selectors_errors(part(device_class, "spec"), "spec")


def _slice_errors(piece: Object) -> list[FieldError]:
    spec = part(piece, "spec")
    errors = driver_name_errors(text(spec, "driver"), "spec.driver")
    errors += _pool_errors(part(spec, "pool"), "spec.pool")
    node = spec.get("nodeName")
    if node == "":
        why = "must be either unset or set to a non-empty string"
        errors.append(invalid("spec.nodeName", node, why))
    elif isinstance(node, str):
        errors += [invalid("spec.nodeName", node, reason) for reason in subdomain_faults(node)]
    placed = [f"`{key}`" for key in _PLACES if spec.get(key)]
    why = f"exactly one of {', '.join(f'`{key}`' for key in _PLACES)} is required"
    if not placed:
        errors.append(required("spec", why))
    elif len(placed) > 1:
        shown = "{" + ", ".join(placed) + "}"
        errors.append(invalid("spec", shown, f"{why}, but multiple fields are set"))
    devices = parts(spec, "devices")
    if len(devices) > _DEVICES_MAX:
        return [*errors, too_many("spec.devices", len(devices), _DEVICES_MAX)]
    names: set[str] = set()
    for device, where in each(devices, "spec.devices"):
        name = text(device, "name")
        errors += _name_errors(name, f"{where}.name")
        if name in names:
            errors.append(duplicate(where, name))
        names.add(name)
    return errors


def _pool_errors(pool: Object, where: str) -> list[FieldError]:
    name, place = text(pool, "name"), f"{where}.name"
    errors = [] if name else [required(place)]
    for piece in name.split("/") if name else ():
        errors += [invalid(place, piece, reason) for reason in subdomain_faults(piece)]
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        errors.append(invalid(f"{where}.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        why = "must be greater than or equal to zero"
        errors.append(invalid(f"{where}.generation", generation, why))
    return errors


def _slice_update_errors(new: Object, old: Object) -> list[FieldError]:
    paths = (("pool", "name"), ("driver",), ("nodeName",))
    return [error for path in paths for error in unchanged(new, old, "spec", *path)]


DEVICE_CLASS = Strategy(tracks_generation=True, returns_deleted=True, errors=_class_errors)
RESOURCE_CLAIM = Strategy(
    has_status=True,
    returns_deleted=True,
    default=_default_claim,
    errors=_claim_errors,
    update_errors=_spec_update_errors,
)
RESOURCE_CLAIM_TEMPLATE = Strategy(
    returns_deleted=True,
    default=_default_template,
    errors=_template_errors,
    update_errors=_spec_update_errors,
)
RESOURCE_SLICE = Strategy(
    tracks_generation=True,
    returns_deleted=True,
    selectable={"spec.nodeName": ("spec", "nodeName"), "spec.driver": ("spec", "driver")},
    errors=_slice_errors,
    update_errors=_slice_update_errors,
)
