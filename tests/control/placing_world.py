"""A tiny plane for the placing tests: clusters and bindings on the wire, and a store of one.

The store does what an API server does to an Update: it refuses an old resourceVersion, counts the
generation when the spec changes, and keeps spec and status apart.
"""

from collections.abc import Mapping
from typing import Any

from atoll.control.scheduler.decide.plan import Placing, SeenBinding, plan
from atoll.dialects.karmada import cluster as cluster_dialect
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.model.action import Plan, Tell, Update
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Surroundings

NOW = 1_800_000_000.0
DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
WEIGHTED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
EVEN = {**WEIGHTED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}
DUPLICATED = {"replicaSchedulingType": "Duplicated"}


def make_cluster(name: str, cpu: int = 100, **facts: Any) -> dict[str, Any]:
    """A cluster that serves Deployments and has so many CPUs left."""
    metadata = {"name": name, "labels": facts.pop("labels", {})}
    if facts.pop("deleting", False):
        metadata["deletionTimestamp"] = "2027-01-01T00:00:00Z"
    apis = [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}]
    return {
        "metadata": metadata,
        "spec": facts,
        "status": {
            "apiEnablements": apis,
            "resourceSummary": {"allocatable": {"cpu": str(cpu), "pods": "1000"}},
        },
    }


def make_fleet(*clusters: dict[str, Any]) -> Fleet:
    return Fleet.of(cluster_dialect.decode(each) for each in clusters)


def make_binding(replicas: int = 2, **facts: Any) -> dict[str, Any]:
    """A Deployment's binding as the detector makes it."""
    placement = {"replicaScheduling": facts.pop("dividing", DIVIDED), **facts.pop("placement", {})}
    name = facts.pop("name", "web")
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": name}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "namespace": "shop",
            "name": f"{name}-deployment",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "generation": 1,
            "labels": {names.POLICY_ID: "id"},
        },
        "spec": {
            "resource": {**resource, "uid": "u1"},
            "placement": placement,
            "replicas": replicas,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            **facts,
        },
    }


class World:
    """One binding in a store, and the clusters around it."""

    def __init__(self, binding: dict[str, Any], *clusters: dict[str, Any]) -> None:
        self.binding: Mapping[str, Any] = binding
        self.fleet = make_fleet(*clusters)
        self.surroundings = Surroundings()
        self.now = NOW
        self.writes = 0
        self.told: list[Tell] = []

    def look(self) -> Placing:
        """Plan for what there is."""
        return plan(self.seen, self.now)

    @property
    def seen(self) -> SeenBinding:
        binding = decode(self.binding)
        return SeenBinding(binding=binding, fleet=self.fleet, surroundings=self.surroundings)

    def settle(self) -> Placing:
        """Plan and carry out until nothing is left to do; the first placing is returned."""
        first = placing = self.look()
        for _ in range(5):
            if not placing.plan.actions:
                return first
            self.perform(placing.plan)
            placing = self.look()
        raise AssertionError("never settles")

    def perform(self, given: Plan, most: int | None = None) -> None:
        """Carry out the beginning of a plan."""
        for action in given.actions[:most]:
            if isinstance(action, Update):
                assert action.object["metadata"]["resourceVersion"] == self.version, "refused"
                self._write(action)
            elif isinstance(action, Tell):
                self.told.append(action)

    def edit(self, **spec: Any) -> None:
        """A user, or another controller, changes the spec."""
        self._write(Update({**self.binding, "spec": {**self.binding["spec"], **spec}}))
        self.writes -= 1

    @property
    def version(self) -> str:
        return str(self.binding["metadata"]["resourceVersion"])

    @property
    def targets(self) -> dict[str, int]:
        clusters = self.binding["spec"].get("clusters", [])
        return {each["name"]: each.get("replicas", 0) for each in clusters}

    @property
    def status(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.binding.get("status", {})
        return found

    @property
    def condition(self) -> tuple[str, str, str]:
        (found,) = (each for each in self.status["conditions"] if each["type"] == "Scheduled")
        return found["status"], found["reason"], found["message"]

    def _write(self, update: Update) -> None:
        self.writes += 1
        before, metadata = self.binding, dict(self.binding["metadata"])
        metadata["resourceVersion"] = str(int(self.version) + 1)
        if update.subresource == "status":
            self.binding = {**before, "metadata": metadata, "status": update.object["status"]}
            return
        metadata["annotations"] = update.object["metadata"].get("annotations", {})
        if update.object["spec"] != before["spec"]:
            metadata["generation"] += 1
        self.binding = {**before, "metadata": metadata, "spec": update.object["spec"]}


def updates(given: Plan) -> list[Update]:
    return [each for each in given.actions if isinstance(each, Update)]
