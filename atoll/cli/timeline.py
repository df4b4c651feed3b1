"""What happens to a workload and the clusters around it, told as it happens.

Two sights of a plane come in, one later than the other; what changed between them goes out, in the
order in which one follows from the other: clusters, evictions, targets, replicas. How often to look
is the business of whoever looks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen of a workload and its clusters at one moment."""

    ready: Mapping[str, str] = field(default_factory=dict)
    taints: Mapping[str, frozenset[str]] = field(default_factory=dict)
    targets: Mapping[str, int] = field(default_factory=dict)
    evicted: Mapping[str, int] = field(default_factory=dict)
    running: int = 0
    wanted: int = 0

    @classmethod
    def of(cls, clusters: Sequence[Object], binding: Object, template: Object) -> "Sight":
        spec = binding.get("spec") or {}
        status = template.get("status") or {}
        return cls(
            ready={_name(each): ready_of(each) for each in clusters},
            taints={_name(each): frozenset(_taints(each)) for each in clusters},
            targets={each["name"]: each.get("replicas", 0) for each in spec.get("clusters") or ()},
            evicted={
                each["fromCluster"]: each.get("replicas", 0)
                for each in spec.get("gracefulEvictionTasks") or ()
            },
            running=status.get("readyReplicas", 0),
            wanted=(template.get("spec") or {}).get("replicas", 0),
        )

    @property
    def whole(self) -> bool:
        """Whether all replicas are placed and run, and no old copy is waited for."""
        return self.running == self.wanted == sum(self.targets.values()) and not self.evicted


def happened(before: Sight, after: Sight, workload: str) -> Iterator[tuple[str, str]]:
    """What changed between two sights: who, and what."""
    for name, ready in after.ready.items():
        if before.ready.get(name, ready) != ready:
            yield name, f"Ready={ready}"
        had = before.taints.get(name, after.taints[name])
        for taint in sorted(after.taints[name] - had):
            yield name, f"taint {taint}"
        for taint in sorted(had - after.taints[name]):
            yield name, f"taint {taint} is gone"
    for name, count in after.evicted.items():
        if name not in before.evicted:
            yield workload, f"evict {count} from {name}" if count else f"evict from {name}"
    moves = [
        f"{name} {before.targets.get(name, 0)}→{after.targets.get(name, 0)}"
        for name in sorted({*before.targets, *after.targets})
        if before.targets.get(name, 0) != after.targets.get(name, 0)
    ]
    if moves:
        yield workload, f"schedule {', '.join(moves)}"
    if (before.running, before.wanted) != (after.running, after.wanted):
        old = ", the old copy among them" if after.running > after.wanted else ""
        of = "" if old else f"/{after.wanted}"
        yield workload, f"{after.running}{of} ready{old}"
    for name in before.evicted:
        if name not in after.evicted:
            yield workload, f"the old copy in {name} is given up"


def _name(cluster: Object) -> str:
    return str(cluster["metadata"]["name"])


def ready_of(cluster: Object) -> str:
    """Whether a cluster is ready, as it is told of it."""
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return next((str(each["status"]) for each in conditions if each["type"] == "Ready"), "Unknown")


def _taints(cluster: Object) -> Iterator[str]:
    for each in (cluster.get("spec") or {}).get("taints") or ():
        yield f"{each.get('key', '').rpartition('/')[2]}:{each.get('effect', '')}"
