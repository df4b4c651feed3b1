"""A creation that was on its way for very long comes to a member when its Work is gone."""

import asyncio
from collections.abc import Sequence

from sites import until
from test_pipeline import NGINX, deployment, policy, ready
from whole import Whole, whole

from atoll.client.api import ApiClient
from atoll.client.collection import Collection
from atoll.control.hub import WORK
from atoll.dialects.karmada import names
from atoll.store.record import Event
from atoll.wire import Wire

DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)


async def as_sent(it: Whole) -> Wire:
    """What was sent to the member, from which it made what it has."""
    found = await ApiClient(it.members["m1"].transport).get(DEPLOYMENTS.path("default", "nginx"))
    kept = {key: found["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    return {**{key: found[key] for key in ("apiVersion", "kind", "spec")}, "metadata": kept}


async def let_end(it: Whole) -> None:
    """Remove the template, and wait until nothing of it is left."""
    template = it.hub.plane.find(NGINX)
    assert template is not None
    await it.delete(template)
    works = [each["metadata"]["name"] for each in it.hub.plane.all(WORK, "Work")]
    (own,) = (each for each in works if each.startswith("nginx"))

    def is_over() -> bool:
        left = [each["metadata"]["name"] for each in it.hub.plane.all(WORK, "Work")]
        there = it.members["m1"].store.get("deployments.apps", "default/nginx")
        return own not in left and there is None

    await until(is_over)


def gone(it: Whole) -> list[str]:
    """The names of Deployments that go from now on."""
    told: list[str] = []

    def listen(events: Sequence[Event]) -> None:
        told.extend(
            each.after.name
            for each in events
            if each.removed and each.after.collection == "deployments.apps"
        )

    it.members["m1"].store.listen(listen)
    return told


def test_what_comes_after_its_work_is_gone_is_taken_back() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(policy("m1"))
            await it.create(deployment(1))
            await until(lambda: ready(it) == 1)
            sent = await as_sent(it)
            await let_end(it)
            going, member = gone(it), ApiClient(it.members["m1"].transport)
            await member.create(DEPLOYMENTS, sent)
            await until(lambda: going)
            assert going == ["default/nginx"]

    asyncio.run(story())


def test_what_names_a_work_that_this_plane_never_had_is_left_alone() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(policy("m1"))
            await it.create(deployment(1))
            await until(lambda: ready(it) == 1)
            sent = await as_sent(it)
            await let_end(it)
            going, member = gone(it), ApiClient(it.members["m1"].transport)
            foreign = {**sent["metadata"]["annotations"], names.WORK_NAME: "other"}
            metadata = {**sent["metadata"], "name": "other", "annotations": foreign}
            await member.create(DEPLOYMENTS, {**sent, "metadata": metadata})
            await member.create(DEPLOYMENTS, sent)
            await until(lambda: going)
            assert going == ["default/nginx"]
            assert it.members["m1"].store.get("deployments.apps", "default/other") is not None

    asyncio.run(story())
