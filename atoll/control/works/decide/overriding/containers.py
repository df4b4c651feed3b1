"""Overriders of containers: their images, commands and arguments.

Those of the native kinds are found by themselves; the image of any other kind where a predicate
points. Init containers are left alone, as in Karmada.
"""

from collections.abc import Callable
from typing import Any

from atoll.control.works.decide.overriding import images
from atoll.dialects.patches import (
    ADD,
    REMOVE,
    REPLACE,
    Operation,
    Pointer,
    operator,
    patched,
    read,
)
from atoll.dialects.wire import at, checked, elements, part, text, texts
from atoll.wire import Object

_IN_A_TEMPLATE = ("spec", "template", "spec")
_POD_SPECS = {
    "Pod": ("spec",),
    "ReplicaSet": _IN_A_TEMPLATE,
    "Deployment": _IN_A_TEMPLATE,
    "DaemonSet": _IN_A_TEMPLATE,
    "StatefulSet": _IN_A_TEMPLATE,
    "Job": _IN_A_TEMPLATE,
}


def image(manifest: Object, overrider: Object, path: str) -> Object:
    """With the image that a predicate points at changed, or else those of all containers."""
    predicate = part(overrider, "predicate", path)
    if predicate is not None:
        here = at(path, "predicate.path")
        pointer = Pointer(text(predicate, "path", at(path, "predicate")), here)
        written = read(manifest, pointer)
        if not isinstance(written, str):
            raise pointer.wrong("leads to something that is no text, so to no image")
        changed = images.overridden(written, overrider, path)
        result: Object = patched(manifest, Operation(REPLACE, pointer, changed))
        return result

    def with_image(container: Object) -> Object:
        written = text(container, "image", "image")
        return {**container, "image": images.overridden(written, overrider, path)}

    return _each_container(manifest, with_image)


def command(manifest: Object, overrider: Object, path: str) -> Object:
    """With words added to the command of the container named, or taken from it."""
    return _words(manifest, overrider, path, "command")


def arguments(manifest: Object, overrider: Object, path: str) -> Object:
    """With words added to the arguments of the container named, or taken from them."""
    return _words(manifest, overrider, path, "args")


def _words(manifest: Object, overrider: Object, path: str, key: str) -> Object:
    name = text(overrider, "containerName", path)
    wanted = operator(overrider, path, (ADD, REMOVE))
    value = texts(overrider, "value", path)

    def with_words(container: Object) -> Object:
        if container.get("name") != name:
            return container
        words = elements(container, key, f"container {name}")
        if wanted == ADD:
            return {**container, key: [*words, *value]}
        return {**container, key: [word for word in words if word not in value]}

    return _each_container(manifest, with_words)


def _each_container(manifest: Object, change: Callable[[Object], Object]) -> Object:
    """With every container of the pod it makes changed; as it is if its kind makes none."""
    way = _POD_SPECS.get(manifest.get("kind", ""))
    return manifest if way is None else _below(manifest, way, change)


def _below(
    here: Object, way: tuple[str, ...], change: Callable[[Object], Object]
) -> dict[str, Any]:
    if way:
        inner = part(here, way[0], "")
        return dict(here) if inner is None else {**here, way[0]: _below(inner, way[1:], change)}
    containers = elements(here, "containers", "")
    if not containers:
        return dict(here)
    return {**here, "containers": [change(checked(each, "containers")) for each in containers]}
