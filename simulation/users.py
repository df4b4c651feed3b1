"""Users of a plane: they make templates and policies, scale, relabel, move and delete them.

A client and draws come in; nothing goes out but what is then in the plane. Templates have a group,
and a policy means all templates of its group, so that relabelling one changes its policy.
"""

import asyncio
from random import Random
from typing import Any

from atoll.client.api import ApiClient, Collection, Refused, Wire
from simulation.world import World

DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)
CONFIGMAPS = Collection("v1", "ConfigMap", "configmaps", namespaced=True)
POLICIES = Collection(
    "policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", namespaced=True
)
NAMESPACE = "default"
GROUPS = ("red", "green", "blue")
TEMPLATES = tuple(
    (collection, f"{collection.plural[0]}{number}")
    for collection, count in ((DEPLOYMENTS, 4), (CONFIGMAPS, 2))
    for number in range(count)
)


class User:
    """One who does something now and then, and does not mind being refused."""

    def __init__(self, world: World, api: ApiClient, draws: Random, members: list[str]) -> None:
        self._world = world
        self._api = api
        self._draws = draws
        self._members = members

    async def run(self) -> None:
        """Go on for ever."""
        while True:
            await asyncio.sleep(self._draws.expovariate(1.0))
            try:
                await self._act()
            except Refused as refused:
                self._world.note(f"refused: {refused}")

    async def _act(self) -> None:
        if self._draws.random() < 0.35:
            await self._act_on_policy(self._draws.choice(GROUPS))
        else:
            await self._act_on_template(*self._draws.choice(TEMPLATES))

    async def _act_on_policy(self, group: str) -> None:
        found = await self._find(POLICIES, group)
        if found is None:
            self._world.note(f"policy {group} is made")
            await self._api.create(POLICIES, policy(group, self._placement()))
        elif self._draws.random() < 0.1:
            self._world.note(f"policy {group} is deleted")
            await self._api.delete(POLICIES, found)
        else:
            placement = self._placement()
            self._world.note(f"policy {group} moves to {placement['clusterAffinity']}")
            spec = {**found["spec"], "placement": placement}
            await self._api.replace(POLICIES, {**found, "spec": spec})

    async def _act_on_template(self, collection: Collection, name: str) -> None:
        draws = self._draws
        found = await self._find(collection, name)
        if found is None:
            self._world.note(f"{name} is made")
            made = template(collection, name, draws.choice(GROUPS), draws.randint(0, 6))
            await self._api.create(collection, made)
        elif draws.random() < 0.1:
            self._world.note(f"{name} is deleted")
            await self._api.delete(collection, found)
        elif draws.random() < 0.3:
            group = draws.choice(GROUPS)
            self._world.note(f"{name} is of group {group}")
            labels = {**(found["metadata"].get("labels") or {}), "group": group}
            metadata = {**found["metadata"], "labels": labels}
            await self._api.replace(collection, {**found, "metadata": metadata})
        else:
            size = draws.randint(0, 6)
            self._world.note(f"{name} is changed to {size}")
            await self._api.replace(collection, sized(found, size))

    async def _find(self, collection: Collection, name: str) -> Wire | None:
        try:
            return await self._api.get(collection.path(NAMESPACE, name))
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def _placement(self) -> dict[str, Any]:
        draws = self._draws
        chosen = draws.sample(self._members, draws.randint(1, len(self._members)))
        placement: dict[str, Any] = {"clusterAffinity": {"clusterNames": chosen}}
        how = draws.choice(("Duplicated", "Weighted", "Weighted", "Aggregated"))
        if how == "Duplicated":
            return placement
        scheduling: dict[str, Any] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": how,
        }
        if how == "Weighted":
            weights = [
                {"targetCluster": {"clusterNames": [name]}, "weight": draws.randint(1, 3)}
                for name in chosen
            ]
            scheduling["weightPreference"] = {"staticWeightList": weights}
        return {**placement, "replicaScheduling": scheduling}


def policy(group: str, placement: dict[str, Any]) -> Wire:
    """A policy for all templates of a group."""
    selectors = [
        {
            "apiVersion": collection.api_version,
            "kind": collection.kind,
            "labelSelector": {"matchLabels": {"group": group}},
        }
        for collection in (DEPLOYMENTS, CONFIGMAPS)
    ]
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"namespace": NAMESPACE, "name": group},
        "spec": {"resourceSelectors": selectors, "placement": placement},
    }


def template(collection: Collection, name: str, group: str, size: int) -> Wire:
    """A Deployment with so many replicas, or a ConfigMap that says the number."""
    labels = {"app": name}
    wire: Wire = {
        "apiVersion": collection.api_version,
        "kind": collection.kind,
        "metadata": {"namespace": NAMESPACE, "name": name, "labels": {**labels, "group": group}},
    }
    if collection is DEPLOYMENTS:
        wire["spec"] = {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]},
            },
        }
    return sized(wire, size)


def sized(wire: Wire, size: int) -> Wire:
    """The template with another size."""
    if wire["kind"] == CONFIGMAPS.kind:
        return {**wire, "data": {"size": str(size)}}
    return {**wire, "spec": {**wire["spec"], "replicas": size}}
