"""What can be asked about objects of a kind, and who answers: the first layer that knows.

A layer is a table of kinds; each says by functions what it knows of its kind. Layers in front
(users' declarations, webhooks, well-known third-party kinds) win over those behind, one operation
at a time. Objects come in as on the wire and are never changed; what is not understood in one is
an `Invalid` that names the field. An error in a layer is not covered up by the layers behind it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from atoll.dialects.wire import flag, part, text
from atoll.interpreting.kinds import Kind, kind_of
from atoll.model.action import Ref
from atoll.model.demand import Demand
from atoll.model.health import Health
from atoll.wire import Object

H = TypeVar("H")


class Operation(StrEnum):
    """What can be asked; the values are the names of the fields of `Interpretation`."""

    REPLICAS = "replicas"
    REVISE = "revise"
    RETAIN = "retain"
    AGGREGATE = "aggregate"
    REFLECT = "reflect"
    HEALTH = "health"
    DEPENDENCIES = "dependencies"
    COMPONENTS = "components"


@dataclass(frozen=True, slots=True)
class Replicas:
    """How many there are to be, and what each needs: as a binding stores it, and as a model."""

    count: int
    requirements: Object | None = None
    demand: Demand | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """What one cluster reports of an object. Without a status nothing was collected yet."""

    cluster: str
    status: Object | None = None
    applied: bool = False
    health: Health = Health.UNKNOWN

    @classmethod
    def of(cls, wire: Object, path: str = "") -> "Item":
        """An element of a binding's `status.aggregatedStatus`."""
        written = text(wire, "health", path)
        return cls(
            text(wire, "clusterName", path),
            part(wire, "status", path),
            flag(wire, "applied", path, default=False),
            Health(written) if written in tuple(Health) else Health.UNKNOWN,
        )


@dataclass(frozen=True, slots=True)
class Dependency:
    """What must be where an object is: one object by name, or those a label selector means."""

    api_version: str
    kind: str
    namespace: str
    name: str = ""
    selector: Object | None = None

    def wire(self) -> dict[str, Any]:
        """As bindings keep it in their annotation."""
        of = {"apiVersion": self.api_version, "kind": self.kind, "namespace": self.namespace}
        which = {"name": self.name, "labelSelector": self.selector}
        return {key: value for key, value in (of | which).items() if value}


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a layer knows of one kind; None where it knows nothing."""

    replicas: Callable[[Object], Replicas] | None = None
    revise: Callable[[Object, int], Object] | None = None
    retain: Callable[[Object, Object], Object] | None = None
    aggregate: Callable[[Object, tuple[Item, ...]], Object | None] | None = None
    reflect: Callable[[Object], Object | None] | None = None
    health: Callable[[Object], bool] | None = None
    dependencies: Callable[[Object], tuple[Dependency, ...]] | None = None
    components: Callable[[Object], tuple[Object, ...]] | None = None


class Layer(Protocol):
    """Kinds and what is known of each, as a dictionary or by rules."""

    def get(self, kind: Kind, /) -> Interpretation | None: ...


@dataclass(frozen=True, slots=True)
class Interpreters:
    """Layers in order of precedence. Of a kind that nobody knows, objects pass unchanged."""

    layers: tuple[Layer, ...]

    def has(self, ref: Ref, operation: Operation) -> bool:
        """Whether any layer knows this operation for this kind."""
        known = (layer.get((ref.api_version, ref.kind)) for layer in self.layers)
        return any(getattr(each, operation, None) is not None for each in known)

    def replicas(self, template: Object) -> Replicas | None:
        """How many replicas a template asks for; None if it is not a workload."""
        hook = self._first(template, lambda known: known.replicas)
        return None if hook is None else hook(template)

    def revise(self, template: Object, count: int) -> Object:
        """The template with so many replicas."""
        hook = self._first(template, lambda known: known.revise)
        return template if hook is None else hook(template, count)

    def retain(self, desired: Object, observed: Object) -> Object:
        """What is to be written to a member: as desired, with the fields that are the member's."""
        hook = self._first(desired, lambda known: known.retain)
        return desired if hook is None else hook(desired, observed)

    def aggregate(self, template: Object, items: tuple[Item, ...]) -> Object | None:
        """The status the template is to have; None if it is to stay as it is."""
        hook = self._first(template, lambda known: known.aggregate)
        return None if hook is None else hook(template, items)

    def reflect(self, observed: Object) -> Object | None:
        """The part of a member object's status that is reported; None if there is none."""
        hook = self._first(observed, lambda known: known.reflect)
        return part(observed, "status", "") if hook is None else hook(observed)

    def health(self, observed: Object) -> Health:
        """Whether a member's object is healthy; of a kind that nobody knows, every one is."""
        hook = self._first(observed, lambda known: known.health)
        healthy = hook is None or hook(observed)
        return Health.HEALTHY if healthy else Health.UNHEALTHY

    def dependencies(self, template: Object) -> tuple[Dependency, ...]:
        """What must be in every cluster the template goes to."""
        hook = self._first(template, lambda known: known.dependencies)
        return () if hook is None else hook(template)

    def components(self, template: Object) -> tuple[Object, ...]:
        """The pod templates of a workload that has several, as a binding stores them."""
        hook = self._first(template, lambda known: known.components)
        return () if hook is None else hook(template)

    def _first(self, wire: Object, pick: Callable[[Interpretation], H | None]) -> H | None:
        kind = kind_of(wire)
        for layer in self.layers:
            known = layer.get(kind)
            hook = None if known is None else pick(known)
            if hook is not None:
                return hook
        return None
