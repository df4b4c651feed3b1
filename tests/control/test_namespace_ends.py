"""A namespace that holds something protected: the rest goes, and people are told what is left."""

import asyncio
from typing import Any

from sites import until
from whole import whole

from atoll.dialects.karmada import names
from atoll.model.action import Ref

SHOP = Ref("v1", "Namespace", "", "shop")


def config(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"namespace": "shop", "name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_what_is_protected_does_not_keep_the_rest_and_is_named() -> None:
    async def story() -> None:
        async with whole([]) as it:
            plane = it.hub.plane
            for kind in ("ConfigMap", "ServiceAccount"):
                await plane.follow("v1", kind)
            space = await it.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
            )
            # Before and behind it in every order that a sweep may have.
            for name in ("a", "z"):
                await it.create(config(name))
            kept = await it.create(config("kept", **{names.DELETION_PROTECTED: "Always"}))
            account = {"namespace": "shop", "name": "worker"}
            await it.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
            await it.delete(space)

            def told() -> dict[str, Any]:
                status = (plane.find(SHOP) or {}).get("status") or {}
                return {each["type"]: each for each in status.get("conditions") or ()}

            def left() -> list[str]:
                return [each["metadata"]["name"] for each in plane.all("v1", "ConfigMap")]

            await until(told)
            # What is known of each kind comes in its own time.
            await until(lambda: left() == ["kept"])
            await until(lambda: not plane.find(Ref("v1", "ServiceAccount", "shop", "worker")))
            failure = told()["NamespaceDeletionContentFailure"]
            assert (failure["status"], failure["reason"]) == ("True", "ContentDeletionFailed")
            assert 'configmaps "kept" is forbidden' in failure["message"]
            assert names.DELETION_PROTECTED in failure["message"]
            remaining = told()["NamespaceContentRemaining"]
            assert remaining["message"] == (
                "Some resources are remaining: configmaps. has 1 resource instances"
            )
            await it.replace({**kept, "metadata": {**kept["metadata"], "labels": {}}})
            await until(lambda: plane.find(SHOP) is None)

    asyncio.run(story())
