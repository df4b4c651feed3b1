"""What users' scripts and webhooks answer, checked: from plain values to what interpreters give.

Whatever is wrong with an answer is an Invalid that says where in it; who gave it is for the caller
to add.
"""

from functools import partial
from typing import Any

from atoll.dialects.karmada import demand
from atoll.dialects.wire import checked, count, elements, name, part, parts, text
from atoll.errors import Invalid
from atoll.interpreting.kinds import kind_of, named
from atoll.interpreting.operations import Dependency, Item, Replicas
from atoll.interpreting.quantities import normal
from atoll.wire import Object


def replicas(found: int, needs: Object | None, template: Object, path: str) -> Replicas:
    """So many replicas, each of which needs this."""
    if not needs:
        return Replicas(found)
    requirements = _requirements(needs, path)
    each = demand.decode(requirements, path, named(template, "namespace"))
    return Replicas(found, requirements, each)


def components(found: Any) -> tuple[Object, ...]:
    """The components in a list of them."""
    listed = parts({"components": found}, "components", "")
    return tuple(_component(each, here) for here, each in listed)


def _component(wire: Object, path: str) -> Object:
    name(wire, "name", path)
    count(wire, "replicas", path)
    here = f"{path}.replicaRequirements"
    needs = part(wire, "replicaRequirements", path)
    if needs is None:
        return wire
    written = _requirements(needs, here)
    demand.decode(written, here)
    return {**wire, "replicaRequirements": written}


def _requirements(needs: Object, path: str) -> Object:
    """What a replica needs, with quantities as the API writes them."""
    requests = part(needs, "resourceRequest", path)
    if not requests:
        return needs
    here = f"{path}.resourceRequest"
    written = {key: normal(value, f"{here}[{key}]") for key, value in requests.items()}
    return {**needs, "resourceRequest": written}


def same_object(found: Any, template: Object) -> Object:
    """The object itself, if it is still the one it was made from."""
    wire = checked(found, "the object")
    for what in (kind_of, partial(named, key="namespace"), partial(named, key="name")):
        if what(wire) != what(template):
            problem = f"must not change what the object is: {what(template)!r} became"
            raise Invalid("the object", wire.get("kind"), f"{problem} {what(wire)!r}")
    return wire


def item_wire(item: Item) -> dict[str, Any]:
    """What one cluster reports, as those who add up are told."""
    wire: dict[str, Any] = {"clusterName": item.cluster, "health": item.health.value}
    return wire | {"applied": item.applied} | ({"status": item.status} if item.status else {})


def dependencies(found: Any) -> list[Dependency]:
    """The dependencies in a list of them."""
    listed = elements({"dependencies": found}, "dependencies", "")
    return [_dependency(each, f"dependencies[{index}]") for index, each in enumerate(listed)]


def _dependency(value: Any, path: str) -> Dependency:
    wire = checked(value, path)
    selector = part(wire, "labelSelector", path)
    chosen = text(wire, "name", path)
    if not chosen and selector is None:
        raise Invalid(path, dict(wire), "must have a name or a labelSelector")
    return Dependency(
        name(wire, "apiVersion", path),
        name(wire, "kind", path),
        text(wire, "namespace", path),
        chosen,
        selector,
    )


def in_order(found: list[Dependency]) -> tuple[Dependency, ...]:
    """Each dependency once, sorted."""
    return tuple(sorted({repr(_place(each)): each for each in found}.values(), key=_place))


def _place(each: Dependency) -> tuple[str, str, str, str, str]:
    return each.api_version, each.kind, each.namespace, each.name, repr(each.selector)
