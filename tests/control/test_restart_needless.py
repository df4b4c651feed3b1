"""A plane that lives on notices what it would see if it were started anew."""

import asyncio
from typing import Any

from sites import POLICY, until
from test_pipeline import NGINX, deployment, policy, ready, replicas_in
from whole import whole

from atoll.control.hub import CLUSTER
from atoll.model.action import Ref

M1 = Ref(CLUSTER, "Cluster", "", "m1")


def override(tier: str) -> dict[str, Any]:
    """Another label for nginx in the clusters of a tier."""
    added = [{"operator": "add", "value": {"tint": "dark"}}]
    rule = {
        "targetCluster": {"labelSelector": {"matchLabels": {"tier": tier}}},
        "overriders": {"labelsOverrider": added},
    }
    return {
        "apiVersion": POLICY,
        "kind": "OverridePolicy",
        "metadata": {"namespace": "default", "name": "dark"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "overrideRules": [rule],
        },
    }


def test_an_override_follows_the_labels_of_a_cluster() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(override("a"))
            await it.create(policy("m1"))
            await it.create(deployment())
            await until(lambda: ready(it) == 4)

            def labels() -> dict[str, str]:
                found: dict[str, str] = (it.hub.sites["m1"].find(NGINX) or {})["metadata"]["labels"]
                return found

            assert "tint" not in labels()
            cluster = it.hub.plane.find(M1) or {}
            metadata = {**cluster["metadata"], "labels": {"tier": "a"}}
            await it.replace({**cluster, "metadata": metadata})
            await until(lambda: labels().get("tint") == "dark")

    asyncio.run(story())


def test_what_was_in_the_way_in_a_member_is_replaced_once_it_is_gone() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            member = it.hub.sites["m1"]
            collection = member.collection("apps/v1", "Deployment")
            theirs = await member.api.create(collection, deployment(2))
            await it.create(policy("m1"))
            await it.create(deployment())

            def refused() -> bool:
                works = it.hub.plane.all("work.karmada.io/v1alpha1", "Work")
                told = [each.get("status") or {} for each in works]
                conditions = [one for each in told for one in each.get("conditions") or ()]
                return any("already exists" in each["message"] for each in conditions)

            await until(refused)
            assert replicas_in(it, "m1") == 2
            await member.api.delete(collection, theirs)
            await until(lambda: replicas_in(it, "m1") == 4)

    asyncio.run(story())
