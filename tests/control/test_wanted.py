"""Only kinds that a policy selects or a binding is for are followed; a plane may have much else."""

import asyncio
from typing import Any

from sites import until
from test_pipeline import policy
from whole import whole

from atoll.store.memory import MemoryLog

COUNT = 600  # more than one page


def configmap(number: int) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": f"c{number}", "labels": {"nth": str(number)}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_a_kind_is_followed_from_when_somebody_wants_it() -> None:
    async def story() -> None:
        log = MemoryLog()
        async with whole(["m1"], log) as it:
            for number in range(COUNT):
                await it.create(configmap(number))
            assert it.hub.plane.all("v1", "ConfigMap") == []
            wanted = policy("m1")
            selector = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c7"}
            await it.create({**wanted, "spec": {**wanted["spec"], "resourceSelectors": [selector]}})
            arrived = it.members["m1"].store
            await until(lambda: arrived.get("configmaps", "default/c7"))
            assert len(it.hub.plane.all("v1", "ConfigMap")) == COUNT
        async with whole(["m1"], log) as again:
            assert len(again.hub.plane.all("v1", "ConfigMap")) == COUNT, "known before it begins"

    asyncio.run(story())
