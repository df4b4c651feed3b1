"""Pod templates wherever a kind keeps them: what their pods need, and as components of a workload.

An object and the way to its templates come in; a template that is absent needs nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

from atoll.dialects.wire import at, part
from atoll.interpreting import answers
from atoll.interpreting.depending import needing
from atoll.interpreting.fields import inner, replaced
from atoll.interpreting.operations import Dependency, Replicas
from atoll.interpreting.requirements import requirements
from atoll.wire import Object

Template = tuple[str, Object]
"""A pod template, and its path."""


def template_at(wire: Object, *keys: str) -> Template:
    """The pod template at this path; an empty one if there is none."""
    return ".".join(keys), inner(wire, *keys)


def template_in(wire: Object, path: str) -> Template:
    """The pod template of a part of an object."""
    return at(path, "template"), part(wire, "template", path) or {}


def spec_of(template: Template) -> tuple[str, Object]:
    """The spec of a template's pods, and its path."""
    path, wire = template
    return at(path, "spec"), part(wire, "spec", path) or {}


def needs(template: Template) -> dict[str, Any] | None:
    """What a pod of this template needs."""
    path, spec = spec_of(template)
    return requirements(spec, path)


def counted(count: int, template: Template, owner: Object) -> Replicas:
    """So many pods of this template."""
    return answers.replicas(count, needs(template), owner, template[0])


def component(name: str, count: int, template: Template) -> Object:
    """So many pods of this template, as one component of several."""
    found = needs(template)
    wire: dict[str, Any] = {"name": name, "replicas": count}
    return wire | ({"replicaRequirements": found} if found else {})


def of_templates(
    templates: Callable[[Object], Iterator[Template]],
) -> Callable[[Object], tuple[Dependency, ...]]:
    """What the pods of all these templates of an object refer to."""

    def dependencies(wire: Object) -> tuple[Dependency, ...]:
        return needing(wire, map(spec_of, templates(wire)))

    return dependencies


def suspended_there(desired: Object, observed: Object) -> Object:
    """Whoever suspends it in a member does so there."""
    spec = inner(observed, "spec")
    if "suspend" not in spec:
        return desired
    return replaced(desired, ("spec", "suspend"), spec["suspend"])


def setting(*keys: str) -> Callable[[Object, int], Object]:
    """The object with so many replicas at this path."""
    return lambda wire, count: replaced(wire, keys, count)
