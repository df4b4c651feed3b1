"""What is sent to one cluster on behalf of a binding, and what came of it there."""

from dataclasses import dataclass
from typing import Any

from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.metadata import Metadata
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class WorkSpec:
    """What a cluster is to have; whoever wrote a Work by hand may have written any manifest."""

    manifests: tuple[Any, ...] = ()
    is_suspended: bool = False
    preserves: bool = False


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """What is told of a Work."""

    conditions: tuple[Object, ...] = ()
    manifests: tuple[Object, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """A Work. `problem`: what cannot be read of it; its spec and status are then worth nothing."""

    wire: Object
    meta: Metadata
    cluster: str
    """The cluster it is for; empty where it stands in no cluster's namespace."""
    bindings: tuple[Ref, ...]
    """The binding it is of."""
    spec: WorkSpec
    status: WorkStatus
    problem: Invalid | None = None

    @property
    def ref(self) -> Ref:
        return self.meta.ref

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace and its name."""
        return self.meta.ref.namespace, self.meta.ref.name
