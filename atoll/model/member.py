"""A member cluster as it is registered: how it is reached, and what the scheduler sees of it."""

from dataclasses import dataclass

from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.cluster import Cluster
from atoll.model.later import Later
from atoll.model.metadata import Metadata
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """How a member is reached, and what keeps work away from it."""

    is_pulled: bool = False
    """Whether an agent in the cluster does the work, and the plane never speaks to it."""
    secret: Ref | None = None
    """The Secret with the credentials for it, if it names one."""
    impersonator: Ref | None = None
    taints: tuple[Object, ...] = ()
    location: tuple[object, ...] = ()
    """Provider, region and zones, as far as overrides look at them."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A Cluster. `problem`: what cannot be read of it."""

    wire: Object
    meta: Metadata
    spec: MemberSpec
    conditions: tuple[Object, ...]
    ready: str | None
    """The status of its condition Ready; None without one."""
    cluster: Later[Cluster | Invalid]
    problem: Invalid | None = None

    @property
    def name(self) -> str:
        return self.meta.ref.name

    @property
    def is_ready(self) -> bool:
        return self.ready == "True"
