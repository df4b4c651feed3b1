"""Which change wakes which controller: one table, in the order in which they are told.

Whoever is to be told of a change registers under its controller's name; one that the table does not
know is refused when the plane starts. What falls under several rows is told by one after the other.
docs/ARCHITECTURE.md shows the same table.
"""

from bisect import insort
from collections.abc import Callable, Mapping

from atoll.dialects import prices
from atoll.dialects.karmada.objects import kinds

What = tuple[str, str]
"""API version and kind; no version for a pseudo-kind."""
Hearer = Callable[..., None]

CONFIG = "config.karmada.io/v1alpha1"
RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER = kinds.CLUSTER.key
CLUSTER_NODES = (prices.API_VERSION, "ClusterNodes")
POLICIES, AWAITED = ("", "policies of any source"), ("", "what policies wait for")
TEMPLATES, MEMBERS_OBJECTS = ("", "templates"), ("", "members' objects")
MEMBER_REACHED, MEMBER_ANSWERS = (
    ("", "a member reached or let go"),
    ("", "a member answering again"),
)

_OF_BINDINGS = (
    *("hub", "scheduler", "delivery", "policies", "detector", "works", "status"),
    *("preemption", "eviction", "clusters"),
)
WAKES: Mapping[What, tuple[str, ...]] = {
    kinds.RESOURCE_BINDING.key: (*_OF_BINDINGS, "dependencies"),
    kinds.CLUSTER_RESOURCE_BINDING.key: _OF_BINDINGS,
    kinds.WORK.key: ("delivery", "works", "status", "eviction", "clusters", "access"),
    CLUSTER: (
        *("scheduler", "delivery", "works", "namespaces", "taints", "eviction", "clusters"),
        *("access", "process"),
    ),
    CLUSTER_NODES: ("hub",),
    kinds.OVERRIDE_POLICY.key: ("hub", "works"),
    kinds.CLUSTER_OVERRIDE_POLICY.key: ("hub", "works", "namespaces"),
    kinds.CLUSTER_TAINT_POLICY.key: ("taints",),
    kinds.CLUSTER_PRICE.key: ("prices",),
    kinds.WORKLOAD_REBALANCER.key: ("rebalancer",),
    (CONFIG, "ResourceInterpreterCustomization"): ("interpretation",),
    (CONFIG, "ResourceInterpreterWebhookConfiguration"): ("interpretation",),
    ("v1", "Namespace"): ("namespaces", "clusters", "access"),
    (RBAC, "ClusterRole"): ("access",),
    (RBAC, "ClusterRoleBinding"): ("access",),
    ("scheduling.k8s.io/v1", "PriorityClass"): ("detector",),
    POLICIES: ("hub", "detector", "idle_policies"),
    AWAITED: ("detector",),
    TEMPLATES: ("policies", "detector", "works", "status", "dependencies"),
    MEMBERS_OBJECTS: ("delivery",),
    MEMBER_REACHED: ("delivery",),
    MEMBER_ANSWERS: ("delivery",),
}


class Wakes:
    """Who is told of what, in the order of the table."""

    def __init__(self) -> None:
        self._hearers: dict[What, list[tuple[int, int, Hearer]]] = {}

    def add(self, controller: str, what: What, hearer: Hearer, row: What | None = None) -> None:
        """Have a controller told of each change of this; several of one go as they came.

        `row`: the row of the table that it is told by, if that is not of this very kind.
        """
        told = WAKES.get(row or what, ())
        assert controller in told, f"wakes.py does not say that {row or what} wakes {controller}"
        place = list(WAKES).index(row or what), told.index(controller), hearer
        insort(self._hearers.setdefault(what, []), place, key=_place)

    def of(self, *changed: What) -> list[Hearer]:
        """Whoever is to be told, in their order."""
        return [hearer for what in changed for _, _, hearer in self._hearers.get(what, ())]


def _place(registered: tuple[int, int, Hearer]) -> tuple[int, int]:
    return registered[:2]
