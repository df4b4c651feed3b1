"""Clusters come, change their credentials and leave; those that are gone leave nothing running."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from sites import until
from test_pipeline import deployment, policy
from whole import ADMINISTRATOR, Whole, whole

from atoll.client.api import ApiClient, Collection
from atoll.client.inprocess import InProcess
from atoll.control.hub import CLUSTER, WORK, Hub
from atoll.control.running import controlling
from atoll.dialects.kubernetes import conditions
from atoll.main import build, run
from atoll.members.ways import endpoint
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from simulation.link import LinkedMember
from simulation.link import build as build_member
from simulation.world import World, simulate

CLUSTERS = Collection(CLUSTER, "Cluster", "clusters", namespaced=False)
SECRETS = Collection("v1", "Secret", "secrets", namespaced=True)
LEASES = Collection("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
SPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)


def cluster(it: Whole | Hub, name: str) -> dict[str, Any] | None:
    hub = it.hub if isinstance(it, Whole) else it
    found = hub.plane.find(Ref(CLUSTER, "Cluster", "", name))
    return None if found is None else dict(found)


def ready(hub: Hub, name: str) -> tuple[str, str, str] | None:
    status = (cluster(hub, name) or {}).get("status") or {}
    found = conditions.find(status.get("conditions") or (), "Ready")
    return None if found is None else (found["status"], found["reason"], found["message"])


def works(it: Whole, name: str) -> list[Any]:
    found = it.hub.plane.all(WORK, "Work")
    return [each for each in found if each["metadata"]["namespace"] == f"karmada-es-{name}"]


def arrived(it: Whole, name: str) -> bool:
    return it.members[name].store.get("deployments.apps", "default/nginx") is not None


def running_for(name: str) -> list[str]:
    """The tasks that serve a cluster."""
    all_tasks = (each.get_name() for each in asyncio.all_tasks())
    return [each for each in all_tasks if each.startswith((f"{name} ", f"{name}:"))]


def test_a_cluster_that_is_removed_is_cleaned_first_and_leaves_nothing_running() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(policy("m1", "m2"))
            await it.create(deployment(2))
            await until(lambda: arrived(it, "m1") and arrived(it, "m2"))
            assert running_for("m1")
            await it.delete(cluster(it, "m1") or {})
            await until(lambda: cluster(it, "m1") is None)
            await until(lambda: not running_for("m1"))
            assert not arrived(it, "m1")
            assert not works(it, "m1")
            assert it.hub.plane.find(Ref("v1", "Namespace", "", "karmada-es-m1")) is None
            assert "m1" not in it.hub.sites
            assert arrived(it, "m2")

    asyncio.run(story())


def test_one_that_is_gone_already_can_be_removed() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(policy("m1", "m2"))
            await it.create(deployment(2))
            await until(lambda: arrived(it, "m1") and arrived(it, "m2"))
            it.members["m1"].kill()
            await it.delete(cluster(it, "m1") or {})
            await until(lambda: cluster(it, "m1") is None)
            assert arrived(it, "m1")  # nobody could ask for it any more

    asyncio.run(story())


def test_the_only_place_of_something_can_be_removed_and_come_back() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(policy("m1"))
            await it.create(deployment(2))
            await until(lambda: arrived(it, "m1"))
            wire = cluster(it, "m1") or {}
            await it.delete(wire)
            await until(lambda: cluster(it, "m1") is None)
            assert not arrived(it, "m1")
            fresh = {"apiVersion": CLUSTER, "kind": "Cluster", "spec": wire["spec"]}
            await it.create({**fresh, "metadata": {"name": "m1"}})
            await until(lambda: arrived(it, "m1"))

    asyncio.run(story())


@asynccontextmanager
async def plane_with(
    world: World, member: LinkedMember, ways: list[str]
) -> AsyncIterator[tuple[Hub, ApiClient]]:
    """A plane that reads Clusters as in production, and notes which ways it takes to a member."""
    effects = world.effects("hub")
    plane = build(effects, MemoryLog())

    def reach(wire: Any, secret: Any) -> Any:
        found = endpoint(wire, secret)
        ways.append(f"{found.server} {found.token}")
        return member.transport

    async with AsyncExitStack() as stack:
        await run(plane, effects, stack)
        await stack.enter_async_context(running(member))
        inside = InProcess(plane.server.handle, ADMINISTRATOR)
        hub = await stack.enter_async_context(controlling(inside, effects, reach=reach))
        yield hub, ApiClient(inside)


def lived(tell: Callable[[Hub, ApiClient, list[str]], Awaitable[None]]) -> None:
    """A story of one member, in virtual time."""

    async def main(world: World) -> None:
        member, ways = build_member("m1", world.effects("m1")), list[str]()
        async with plane_with(world, member, ways) as (hub, user):
            await tell(hub, user, ways)

    simulate(main, seed=4)


async def soon(holds: Callable[[], object], within_s: float = 600.0) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.5)


def a_cluster(mode: str = "Push", **spec: Any) -> dict[str, Any]:
    wire = {"apiVersion": CLUSTER, "kind": "Cluster", "metadata": {"name": "m1"}}
    return {**wire, "spec": {"syncMode": mode, **spec}}


def a_secret(token: str) -> dict[str, Any]:
    data = {"token": token, "caBundle": "an authority"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "m1", "namespace": "default"},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


def test_a_cluster_is_reached_as_it_says_and_anew_when_it_says_otherwise() -> None:
    async def tell(hub: Hub, user: ApiClient, ways: list[str]) -> None:
        named = {"namespace": "default", "name": "m1"}
        spec = {"apiEndpoint": "https://one", "secretRef": named}
        await user.create(CLUSTERS, a_cluster(**spec))
        await soon(lambda: ready(hub, "m1"))
        status, reason, message = ready(hub, "m1") or ("", "", "")
        assert (status, reason) == ("False", "StatusCollectionFailed")
        assert message == "Secret default/m1, which has the token of cluster m1, is not there"
        secret = await user.create(SECRETS, a_secret("first"))
        await soon(lambda: (ready(hub, "m1") or ("",))[0] == "True")
        first = hub.sites["m1"]
        await user.replace(SECRETS, {**secret, "data": a_secret("second")["data"]})
        await soon(lambda: hub.sites.get("m1") not in (None, first))
        second = hub.sites["m1"]
        wire = await user.get(CLUSTERS.path(name="m1"))
        wire["spec"]["apiEndpoint"] = "https://two"
        await user.replace(CLUSTERS, wire)
        await soon(lambda: hub.sites.get("m1") not in (None, second))
        await soon(lambda: (ready(hub, "m1") or ("",))[0] == "True")
        assert ways == ["https://one first", "https://one second", "https://two second"]

    lived(tell)


def test_a_cluster_that_pulls_is_never_spoken_to_and_unknown_when_its_lease_ends() -> None:
    async def tell(hub: Hub, user: ApiClient, ways: list[str]) -> None:
        begun = hub.now
        await user.create(SPACES, {"metadata": {"name": "karmada-cluster"}})
        await user.create(CLUSTERS, a_cluster("Pull", apiEndpoint="https://one"))
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        place = {"metadata": {"name": "m1", "namespace": "karmada-cluster"}}
        held = await user.create(LEASES, {**lease, **place, "spec": {}})
        while hub.now < begun + 120:
            renewed = hub.effects.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            held = await user.replace(LEASES, {**held, "spec": {"renewTime": renewed}})
            await asyncio.sleep(10.0)
        assert ready(hub, "m1") is None  # it lives, and has yet to say how it is
        silent = hub.now
        await soon(lambda: ready(hub, "m1"))
        assert (ready(hub, "m1") or ())[:2] == ("Unknown", "ClusterStatusNeverUpdated")
        assert 40 <= hub.now - silent <= 61
        assert ways == []
        assert "m1" not in hub.sites
        space = hub.plane.find(Ref("v1", "Namespace", "", "karmada-es-m1"))
        assert space is not None

    lived(tell)
