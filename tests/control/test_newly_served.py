"""Kinds that a server comes to serve later: followed as templates, and delivered to members."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from test_pipeline import policy
from whole import Whole, plane_over

from atoll.client.api import Collection
from atoll.client.transport import Transport
from atoll.control.hub import BINDING, WORK
from atoll.control.site import Site
from atoll.exchange import Request, Response
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from simulation.link import build
from simulation.world import World, simulate

CRDS = Collection(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False
)


def definition(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": f"{plural}.example.io"},
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def thing(kind: str) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": kind.lower()}
    return {"apiVersion": "example.io/v1", "kind": kind, "metadata": metadata, "spec": {"size": 3}}


def selecting(*kinds: str) -> dict[str, Any]:
    wire = policy("m1")
    wire["spec"]["resourceSelectors"] = [
        {"apiVersion": "example.io/v1", "kind": kind} for kind in kinds
    ]
    return wire


def work_of(kind: str) -> dict[str, Any]:
    """A Work as somebody writes it by hand."""
    metadata = {"namespace": "karmada-es-m1", "name": kind.lower()}
    spec = {"workload": {"manifests": [thing(kind)]}}
    return {"apiVersion": WORK, "kind": "Work", "metadata": metadata, "spec": spec}


@dataclass
class SlowToList(Transport):
    """A way to a server that takes its time to hand over which kinds there are."""

    inner: Transport

    async def send(self, request: Request) -> Response:
        answer = await self.inner.send(request)
        if request.path == "/apis/example.io/v1":
            await asyncio.sleep(1.0)
        return answer

    async def close(self) -> None:
        await self.inner.close()


async def serve(site: Site, *kinds: str) -> None:
    """Have the server behind a site serve more kinds, and nobody told of it."""
    # By then whoever tries again after pauses does so rarely: it would take too long.
    await asyncio.sleep(300)
    for kind in kinds:
        await site.api.create(CRDS, definition(kind))
        await asyncio.sleep(0.4)  # shorter than to read which kinds there are


async def soon(holds: Callable[[], object], within_s: float = 5.0) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.1)


def lived(tell: Callable[[Whole], Awaitable[None]]) -> None:
    """A story of a plane with one member, in virtual time."""

    async def main(world: World) -> None:
        effects = world.effects("hub")
        members = {"m1": build("m1", effects)}
        async with (
            running(*members.values()),
            plane_over(members, MemoryLog(), effects, way=SlowToList) as it,
        ):
            await tell(it)

    simulate(main, seed=5)


def test_templates_of_kinds_that_are_served_after_their_policy_came_are_bound() -> None:
    kinds = ("Widget", "Gadget", "Gizmo")

    async def tell(it: Whole) -> None:
        await it.create(selecting(*kinds))
        # Others come while the plane's kinds are read because of the first.
        await serve(it.hub.plane, *kinds)
        for kind in kinds:
            await it.api.create(
                Collection("example.io/v1", kind, f"{kind.lower()}s", True), thing(kind)
            )
        for kind in kinds:
            binding = Ref(BINDING, "ResourceBinding", "default", f"{kind.lower()}-{kind.lower()}")
            await soon(lambda ref=binding: it.hub.plane.find(ref))
        assert len(it.hub.plane.all(BINDING, "ResourceBinding")) == len(kinds)

    lived(tell)


def test_what_a_member_comes_to_serve_later_is_delivered_then() -> None:
    async def tell(it: Whole) -> None:
        member, ref = it.hub.sites["m1"], Ref.of(thing("Widget"))
        await it.create(work_of("Widget"))

        def applied() -> dict[str, Any]:
            work = it.hub.plane.find(Ref(WORK, "Work", "karmada-es-m1", "widget")) or {}
            [*found] = (work.get("status") or {}).get("conditions") or ()
            return next((dict(each) for each in found if each["type"] == "Applied"), {})

        await soon(lambda: "does not serve Widget" in applied().get("message", ""))
        await serve(member, "Widget")
        await soon(lambda: member.find(ref))
        assert (member.find(ref) or {})["spec"] == {"size": 3}
        await soon(lambda: applied()["status"] == "True")

    lived(tell)
