"""Fleets and streams of bindings to measure the scheduler with, drawn from a seed.

Clusters: 100 APIs in 30 groups, 3 labels, 20 regions, 20 to 80 percent used, and, if asked for,
nodes in the nine grades Karmada sets by default. Bindings differ as they do in life: many policies,
more sizes, all replica counts; some are new, some grow or shrink, some are only looked at again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from atoll.dialects.karmada import cluster, placement
from atoll.model.amount import Amount
from atoll.model.binding import Binding, Resource, Target
from atoll.model.cluster import Cluster
from atoll.model.demand import Demand, NodeClaim, NodeTerm
from atoll.model.intent import Intent
from atoll.model.node import Node
from atoll.model.selector import Operator, Requirement
from atoll.model.taint import Effect, Taint
from atoll.scheduling.nodes.table import NodeTable

CASES = ("duplicated by label", "static weights", "dynamic weights", "region spread, aggregated")
REGIONS = 20
_GIB = 2**30
_CPU_GRADES = (0, 1, 2, 4, 8, 16, 32, 64, 128)
_MEMORY_GRADES = (0, 4, 16, 32, 64, 128, 256, 512, 1024)
_MOST = "9223372036854775807"


def clusters(count: int, *, models: bool, seed: int = 0) -> list[Cluster]:
    """A fleet decoded from the wire, as it would arrive."""
    chance = Random(seed)
    return [cluster.decode(_cluster(number, chance, models=models)) for number in range(count)]


def _cluster(number: int, chance: Random, *, models: bool) -> dict[str, Any]:
    nodes = chance.randint(10, 30)
    cpu, memory, used = nodes * 16, nodes * 64, chance.uniform(0.2, 0.8)
    allocatable = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": str(nodes * 110)}
    allocated = {
        "cpu": f"{int(cpu * used * 1000)}m",
        "memory": f"{int(memory * used * 1024)}Mi",
        "pods": str(int(nodes * 110 * used)),
    }
    summary: dict[str, Any] = {"allocatable": allocatable, "allocated": allocated}
    spec: dict[str, Any] = {
        "provider": ("aws", "gcp", "onprem")[number % 3],
        "region": f"region-{number % REGIONS}",
        "zones": [f"zone-{number % 60}"],
    }
    if number % 10 == 7:
        spec["taints"] = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
    if models:
        spec["resourceModels"] = _models()
        counts = [0, 0, nodes // 4, nodes // 3, nodes // 4, nodes // 6, 0, 0, 0]
        summary["allocatableModelings"] = [
            {"grade": grade, "count": count} for grade, count in enumerate(counts)
        ]
    labels = {"env": ("prod", "test", "dev")[number % 3], "tier": f"t{number % 5}", "unit": "u1"}
    status = {"apiEnablements": _apis(), "resourceSummary": summary}
    metadata = {"name": f"cluster-{number:05}", "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": status}


def _apis() -> list[dict[str, Any]]:
    kinds = [[f"Kind{group}x{kind}" for kind in range(3)] for group in range(29)]
    kinds.append(["Deployment", *(f"Other{kind}" for kind in range(12))])
    groups = [f"group{group}.example.io/v1" for group in range(29)] + ["apps/v1"]
    return [
        {"groupVersion": group, "resources": [{"name": each.lower(), "kind": each} for each in own]}
        for group, own in zip(groups, kinds, strict=True)
    ]


def _models() -> list[dict[str, Any]]:
    def span(grades: tuple[int, ...], grade: int, unit: str) -> dict[str, str]:
        last = grade + 1 == len(grades)
        return {
            "min": f"{grades[grade]}{unit}",
            "max": _MOST if last else f"{grades[grade + 1]}{unit}",
        }

    return [
        {
            "grade": grade,
            "ranges": [
                {"name": "cpu", **span(_CPU_GRADES, grade, "")},
                {"name": "memory", **span(_MEMORY_GRADES, grade, "Gi")},
            ],
        }
        for grade in range(len(_CPU_GRADES))
    ]


def policies(case: str, count: int, seed: int = 0) -> list[Intent]:
    """So many different placements of one case."""
    chance = Random(f"{case} {seed}")
    return [placement.decode(_placement(case, chance, number)) for number in range(count)]


def _placement(case: str, chance: Random, number: int) -> dict[str, Any]:
    tolerations = [{"key": "dedicated", "operator": "Exists"}] if number % 2 else []
    excluded = {"exclude": [f"cluster-{chance.randrange(5000):05}" for _ in range(3)]}
    wire: dict[str, Any] = {"clusterAffinity": excluded, "clusterTolerations": tolerations}
    divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
    match case:
        case "duplicated by label":
            env = ("prod", "test", "dev")[number % 3]
            wire["clusterAffinity"] = excluded | {"labelSelector": {"matchLabels": {"env": env}}}
            wire["replicaScheduling"] = {"replicaSchedulingType": "Duplicated"}
        case "static weights":
            wire["replicaScheduling"] = divided | {"weightPreference": _weights(chance)}
        case "dynamic weights":
            dynamic = {"dynamicWeight": "AvailableReplicas"}
            wire["replicaScheduling"] = divided | {"weightPreference": dynamic}
        case _:
            wire["replicaScheduling"] = divided | {"replicaDivisionPreference": "Aggregated"}
            wire["spreadConstraints"] = [
                {"spreadByField": "region", "minGroups": 2, "maxGroups": 3},
                {"spreadByField": "cluster", "minGroups": 3, "maxGroups": 6},
            ]
    return wire


def _weights(chance: Random) -> dict[str, Any]:
    tiers = [
        {
            "targetCluster": {"labelSelector": {"matchLabels": {"tier": f"t{tier}"}}},
            "weight": chance.randint(1, 9),
        }
        for tier in range(5)
    ]
    names = [
        {
            "targetCluster": {"clusterNames": [f"cluster-{chance.randrange(100):05}"]},
            "weight": chance.randint(5, 20),
        }
        for _ in range(6)
    ]
    return {"staticWeightList": tiers + names}


@dataclass(frozen=True, slots=True)
class Stream:
    """Bindings one after the other; what was decided of each is fed back for later ones."""

    intents: list[Intent]
    chance: Random
    seen: list[tuple[Binding, tuple[Target, ...]]]

    @classmethod
    def of(cls, intents: list[Intent], seed: int = 0) -> "Stream":
        return cls(intents, Random(seed), [])

    def decided(self, binding: Binding, targets: tuple[Target, ...]) -> None:
        if targets and len(targets) <= 200:
            self.seen.append((binding, targets))

    def batch(self, count: int) -> Iterator[Binding]:
        """Half are new; of the others most change their replicas and some are placed afresh."""
        for number in range(count):
            if self.seen and self.chance.random() < 0.5:
                yield self._again()
            else:
                yield self._new(number)

    def _new(self, number: int) -> Binding:
        chance = self.chance
        uid = f"{chance.getrandbits(64):016x}"
        return Binding(
            resource=Resource(("apps/v1", "Deployment"), "default", f"web-{number}", uid),
            intent=chance.choice(self.intents),
            replicas=min(200, int(chance.expovariate(1 / 40)) + 1),
            demand=Demand(_requests(chance)),
        )

    def _again(self) -> Binding:
        binding, targets = self.chance.choice(self.seen)
        scale = self.chance.choice((0.5, 0.8, 1.0, 1.0, 1.3, 2.0))
        replicas = max(1, int(binding.replicas * scale))
        fresh = self.chance.random() < 0.1
        return replace(binding, targets=targets, replicas=replicas, fresh=fresh)


def _requests(chance: Random) -> tuple[tuple[str, Amount], ...]:
    return (
        ("cpu", Amount(chance.randint(1, 80) * 50)),
        ("memory", Amount(chance.randint(1, 64) * _GIB // 8 * 1000, binary=True)),
    )


def typical_demand(chance: Random) -> Demand:
    """A replica that wants certain nodes: by label, by required affinity, tolerating nothing."""
    zones = tuple(f"zone-{zone}" for zone in chance.sample(range(6), 3))
    term = NodeTerm((Requirement("zone", Operator.IN, zones),))
    return Demand(_requests(chance), NodeClaim((("disk", "ssd"),), (term,)))


def node_table(count: int, seed: int = 0) -> NodeTable:
    """So many nodes of one cluster, used to different degrees; some tainted, some closed."""
    chance = Random(seed)
    return NodeTable.of(_node(number, chance) for number in range(count))


def _node(number: int, chance: Random) -> Node:
    used = chance.uniform(0.1, 0.95)
    allocatable = {"cpu": 32_000, "memory": 128 * _GIB, "nvidia.com/gpu": 8 * (number % 4 == 0)}
    return Node(
        name=f"node-{number:06}",
        labels={"zone": f"zone-{number % 6}", "disk": ("ssd", "ssd", "hdd")[number % 3]},
        taints=(Taint("dedicated", Effect.NO_SCHEDULE, "ml"),) if number % 10 == 0 else (),
        unschedulable=number % 97 == 0,
        allocatable=allocatable,
        requested={name: int(amount * used) for name, amount in allocatable.items()},
        slots=110,
        pods=int(110 * used),
    )
