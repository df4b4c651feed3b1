"""Karmada's kinds for a plane: the resources it serves for them, and the rules of their admission.

They are served like custom resources, but no definition of them is stored: nobody can delete or
change it under the controllers. Stored objects have their defaults, so they go out as stored.
"""

from dataclasses import replace
from functools import cache

from atoll.apiserver.admission import Hooks, Kinds, Only
from atoll.apiserver.custom import resources_of
from atoll.apiserver.housekeeping.definitions import COLLECTION as DEFINITIONS
from atoll.apiserver.karmada.admission import Customizations, Rules
from atoll.apiserver.karmada.agents import AGENT_ROLES, PEOPLE_ROLES
from atoll.apiserver.karmada.definitions import definitions
from atoll.apiserver.resource import Resource, unconverted
from atoll.dialects.karmada import names, older
from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.effects import Effects
from atoll.lua.pool import Pool
from atoll.lua.scripts import Scripts

_READING = ("get", "list", "watch")


def karmada_kinds(effects: Effects) -> Kinds:
    """The kinds of a plane."""
    collections = frozenset(each.collection for each in _resources())
    rules = Rules(effects, collections)
    scripts = Scripts(Pool(size=1))
    own = (rules.check, Customizations(scripts.problem).check)
    return Kinds(
        _resources(),
        Hooks(
            mutating=(Only(rules.default, collections),),
            validating=(
                Only(rules.keep_protected, operations=("DELETE",)),
                Only(rules.keep_definitions, (DEFINITIONS,)),
                *(Only(each, collections) for each in own),
            ),
        ),
        {"scripts": scripts.keep},
        roles=(*AGENT_ROLES, *PEOPLE_ROLES),
        # Where Karmada's own agents agree who of them is to work.
        namespaces=(names.SYSTEM_NAMESPACE,),
    )


@cache
def _resources() -> tuple[Resource, ...]:
    return tuple(
        _served(resource) for definition in definitions() for resource in resources_of(definition)
    )


def _served(resource: Resource) -> Resource:
    if resource.version != resource.stored_version:
        # A status that could be written here would lose what only the newer version has.
        strategy = replace(resource.strategy, has_status=False)
        return replace(resource, strategy=strategy, verbs=_READING, from_stored=older.binding)
    strategy = resource.strategy
    if resource.kind == "Cluster":
        strategy = replace(strategy, unconditional_update=True, name_errors=name_problems)
    return replace(resource, strategy=strategy, from_stored=unconverted)
