"""A workload to be placed: what it is, what it needs, what is wanted, and where it is now."""

from dataclasses import dataclass
from typing import NamedTuple

from atoll.model.cluster import Api
from atoll.model.demand import Component, Demand
from atoll.model.intent import Intent


class Target(NamedTuple):
    """A cluster chosen, and how many replicas it runs."""

    name: str
    replicas: int = 0


@dataclass(frozen=True, slots=True)
class Resource:
    """The user's object that is placed."""

    api: Api
    namespace: str = ""
    name: str = ""
    uid: str = ""

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.api[1]} {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One object, its intent, and what was decided before."""

    resource: Resource
    intent: Intent
    replicas: int = 0
    demand: Demand | None = None
    components: tuple[Component, ...] = ()
    targets: tuple[Target, ...] = ()
    """What the last decision put where."""
    evicting: tuple[str, ...] = ()
    """Clusters it is being moved away from."""
    observed_term: str = ""
    """The term the last decision was made under."""
    fresh: bool = False
    """Place anew, as if for the first time: someone asked for it since the last decision."""
    priority: int = 0
    affinity_group: str = ""
    anti_affinity_group: str = ""

    @property
    def is_workload(self) -> bool:
        return self.replicas > 0 or self.demand is not None or bool(self.components)

    @property
    def key(self) -> tuple[str, str]:
        """The namespace and name Karmada gives a binding; names it among the others of a group."""
        kind = self.resource.api[1]
        return self.resource.namespace, f"{self.resource.name}-{kind}".lower()
