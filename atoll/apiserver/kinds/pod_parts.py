"""The parts of a pod that are changed through endpoints of their own: its size, and its guests.

What is proposed and the old pod come in; the pod with just that part changed goes out, or what is
wrong with the change. A guest is a container that joins a running pod (ephemeral), to look into it.
"""

from typing import Any

from atoll.apiserver.fields.error import Errors, FieldError, forbidden, invalid
from atoll.apiserver.kinds.amounts import quality
from atoll.apiserver.kinds.reading import each, part, parts, text
from atoll.apiserver.kinds.rules import needed, unique
from atoll.apiserver.objects.metadata import metadata
from atoll.wire import Wire

_LISTS = ("containers", "initContainers")
_GUESTS = "ephemeralContainers"
_SIZED = ("resources", "resizePolicy")
_SIDES = ("requests", "limits")
_RESIZABLE = frozenset(["cpu", "memory"])
_NOT_OF_GUESTS = (
    *("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe"),
    *("lifecycle", "resizePolicy"),
)


def resized(proposed: Wire, old: Wire) -> Wire:
    """The old pod, its containers as large as proposed; as it is if they are other containers."""
    wanted, before = part(proposed, "spec"), part(old, "spec")
    if any(len(parts(wanted, kind)) != len(parts(before, kind)) for kind in _LISTS):
        return proposed
    fresh = {
        kind: [
            _sized(new, was)
            for new, was in zip(parts(wanted, kind), parts(before, kind), strict=True)
        ]
        for kind in _LISTS
        if parts(before, kind)
    }
    return _with_spec(proposed, old, {**before, **fresh})


def _sized(new: Wire, was: Wire) -> Wire:
    if text(new, "name") != text(was, "name"):
        return new
    kept = {key: value for key, value in was.items() if key not in _SIZED}
    return {**kept, **{key: new[key] for key in _SIZED if key in new}}


def resize_errors(new: Wire, old: Wire) -> Errors:
    """What may not be about another size: new names, another quality, what cannot be resized."""
    after, before = part(new, "spec"), part(old, "spec")
    for kind in _LISTS:
        now, was = parts(after, kind), parts(before, kind)
        if len(now) != len(was):
            yield forbidden(f"spec.{kind}", "containers may not be added or removed on resize")
            return
        for index, (one, other) in enumerate(zip(now, was, strict=True)):
            if text(one, "name") != text(other, "name"):
                why = "containers may not be renamed or reordered on resize"
                yield forbidden(f"spec.{kind}[{index}].name", why)
                return
    if quality(after) != quality(before):
        why = "Pod QOS Class may not change as a result of resizing"
        yield invalid("spec", quality(before), why)
    if any(
        _beyond(one) != _beyond(other)
        for kind in _LISTS
        for one, other in zip(parts(after, kind), parts(before, kind), strict=True)
    ):
        yield forbidden("spec", "only cpu and memory resources are mutable")
        return
    yield from (error for kind in _LISTS for error in _removals(after, before, kind))


def _beyond(container: Wire) -> Wire:
    """What a container asks for that cannot be resized."""
    return {
        f"{side} {name}": amount
        for side in _SIDES
        for name, amount in part(container, "resources", side).items()
        if name not in _RESIZABLE
    }


def _removals(after: Wire, before: Wire, kind: str) -> Errors:
    return [
        forbidden(f"spec.{kind}[{index}].resources.{side}", f"resource {side} cannot be removed")
        for index, (one, other) in enumerate(
            zip(parts(after, kind), parts(before, kind), strict=True)
        )
        for side in _SIDES
        if part(other, "resources", side).keys() - part(one, "resources", side).keys()
    ]


def with_guests(proposed: Wire, old: Wire) -> Wire:
    """The old pod with the guests that are proposed."""
    spec = {key: value for key, value in part(old, "spec").items() if key != _GUESTS}
    guests = parts(proposed, "spec", _GUESTS)
    return _with_spec(proposed, old, {**spec, _GUESTS: guests} if guests else spec)


def guest_errors(new: Wire, old: Wire) -> Errors:
    """What is wrong with guests: their names, what they cannot have, and that they may not go."""
    spec = part(new, "spec")
    taken = {text(one, "name") for kind in _LISTS for one in parts(spec, kind)}
    hosts = set(taken)
    for guest, where in each(parts(spec, _GUESTS), f"spec.{_GUESTS}"):
        name, host = text(guest, "name"), text(guest, "targetContainerName")
        yield from needed(guest, where, "name")
        yield from unique(taken, name, f"{where}.name") if name else ()
        yield from needed(guest, where, "image")
        if host and host not in hosts:
            yield FieldError("FieldValueNotFound", f"{where}.targetContainerName", host, "")
        why = "cannot be set for an Ephemeral Container"
        yield from (forbidden(f"{where}.{key}", why) for key in _NOT_OF_GUESTS if guest.get(key))
    yield from _farewells(spec, part(old, "spec"))


def _farewells(after: Wire, before: Wire) -> Errors:
    now = {text(one, "name"): one for one in parts(after, _GUESTS)}
    for guest in parts(before, _GUESTS):
        name = text(guest, "name")
        if now.get(name) != guest:
            done = "changed" if name in now else "removed"
            why = f'existing ephemeral containers "{name}" may not be {done}\n'
            yield forbidden(f"spec.{_GUESTS}", why)


def _with_spec(proposed: Wire, old: Wire, spec: Wire) -> Wire:
    """The old pod with this spec; only whose its fields are is taken from what is proposed."""
    meta: dict[str, Any] = dict(metadata(old))
    if "managedFields" in metadata(proposed):
        meta["managedFields"] = metadata(proposed)["managedFields"]
    return {**old, "metadata": meta, "spec": spec}
