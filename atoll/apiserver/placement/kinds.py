"""Atoll's own kinds for a plane: the resources it serves for them, and the rules of admission.

An explanation is stored small and shown whole; it is read by whoever may read its binding, and
names other bindings only to those who may read them.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from types import ModuleType

from atoll.apiserver.admission import Admission, Hooks, Kinds, Only
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.custom import resources_of
from atoll.apiserver.housekeeping.definitions import COLLECTION as DEFINITIONS
from atoll.apiserver.karmada.admission import Rules, refuse
from atoll.apiserver.karmada.agents import AGENT, AGENTS
from atoll.apiserver.karmada.kinds import karmada_kinds
from atoll.apiserver.placement.definitions import own_definitions
from atoll.apiserver.resource import Reading, Resource, unconverted
from atoll.apiserver.status import forbidden
from atoll.dialects import prices
from atoll.effects import Effects
from atoll.errors import Invalid
from atoll.wire import Wire

_BINDINGS = "work.karmada.io"
_EXPLAINED = {"Explanation": "resourcebindings", "ClusterExplanation": "clusterresourcebindings"}
_PUBLISHED = "ClusterNodes"
_PLURALS = {"ResourceBinding": "resourcebindings"}
_HIDDEN = "another binding"


def plane_kinds(effects: Effects) -> Kinds:
    """All kinds of a plane beyond Kubernetes' own: Karmada's and ours."""
    karmada = karmada_kinds(effects)
    collections = frozenset(each.collection for each in _resources())
    keep_definitions = Rules(effects, collections).keep_definitions
    return Kinds(
        (*karmada.resources, *_resources()),
        Hooks(
            mutating=(*karmada.hooks.mutating, Only(_default, collections)),
            validating=(
                *karmada.hooks.validating,
                Only(keep_definitions, (DEFINITIONS,)),
                Only(_check, collections),
            ),
        ),
        karmada.services,
        roles=karmada.roles,
        namespaces=karmada.namespaces,
    )


@cache
def _resources() -> tuple[Resource, ...]:
    found = (each for definition in own_definitions() for each in resources_of(definition))
    return tuple(map(_served, found))


def _served(resource: Resource) -> Resource:
    plural = _EXPLAINED.get(resource.kind)
    if plural is None:
        return replace(resource, from_stored=unconverted)
    return replace(
        resource,
        from_stored=lambda stored: _explaining().expanded(stored),
        to_stored=lambda shown: _explaining().compact(shown),
        reading=Reading(_BINDINGS, plural, _shown),
    )


def _explaining() -> ModuleType:
    """Loaded with the first explanation: it brings the scheduler along, a second of start."""
    from atoll.dialects import explanations

    return explanations


def _shown(explanation: Wire, may: Callable[[Attributes], bool]) -> Wire:
    """An explanation without the names of bindings that this reader may not read."""

    def other(told: Wire) -> Wire:
        plural = _PLURALS.get(told.get("kind", ""), "clusterresourcebindings")
        place = told.get("namespace", ""), told.get("name", "")
        if may(Attributes("get", _BINDINGS, plural, *place)):
            return told
        return {"name": _HIDDEN, "because": told.get("because", "")}

    decisions = [
        {**each, "others": [other(told) for told in each["others"]]} if "others" in each else each
        for each in explanation.get("decisions") or ()
    ]
    return {**explanation, **({"decisions": decisions} if decisions else {})}


def _default(seen: Admission) -> Wire:
    """The mutating hook that fills in the cluster of a price."""
    assert seen.object is not None
    if seen.resource.group != prices.GROUP or seen.resource.kind != prices.KIND:
        return seen.object
    return dict(prices.defaulted(seen.object))


def _check(seen: Admission) -> None:
    """The validating hook: ApiError 422 with everything that is wrong."""
    new, resource = seen.object, seen.resource
    if new is None or seen.subresource or resource.group != prices.GROUP:
        return
    if resource.kind == _PUBLISHED and AGENTS in seen.identity.groups:
        _keep_to_its_own(seen)
    refuse(seen, _problems(resource.kind, new))


def _keep_to_its_own(seen: Admission) -> None:
    """Roles cannot say by which name something may be made: an agent speaks of its own cluster."""
    if seen.identity.name != f"{AGENT}{seen.name}":
        why = "an agent publishes the nodes of its own cluster only"
        raise forbidden(seen.resource.plural, seen.resource.group, seen.name, why)


def _problems(kind: str, new: Wire) -> Iterable[Invalid]:
    """What is wrong with an object of one of our own kinds."""
    if kind == prices.KIND:
        return prices.problems(new)
    if kind in _EXPLAINED:
        found: Iterable[Invalid] = _explaining().problems(new)
        return found
    # Loaded with the first of them, for the same reason.
    from atoll.dialects import cluster_nodes

    return cluster_nodes.problems(new)
