"""What one replica of a workload needs of a cluster and of a node."""

from dataclasses import dataclass

from atoll.model.amount import Amount
from atoll.model.selector import Requirement
from atoll.model.taint import Toleration


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Nodes meant by one term of a required node affinity: labels and fields, all of them."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """Nodes a replica can run on. `terms` is None without a required affinity; terms are ORed."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """Requests by resource name, sorted by name, and the nodes that will do."""

    requests: tuple[tuple[str, Amount], ...] = ()
    claim: NodeClaim = NodeClaim()
    namespace: str = ""
    priority_class: str = ""


@dataclass(frozen=True, slots=True)
class Component:
    """One pod template of a workload that has several; all of them together are one set."""

    name: str
    replicas: int
    demand: Demand | None = None
