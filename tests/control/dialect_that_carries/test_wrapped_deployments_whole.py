"""A policy with its template inside: decided, delivered, told in its own kind, and deleted."""

import asyncio
from typing import Any

from served_dialect import naming, serve, warnings
from sites import until
from test_pipeline import deployment, policy
from whole import Whole, whole
from wrapped_deployments import API_VERSION, WRAPPED, WRAPPED_DEPLOYMENTS

from atoll.control.running import USUAL_SOURCES
from atoll.model.action import Ref

ONE = Ref(API_VERSION, WRAPPED, "default", "web")
WEB = Ref("apps/v1", "Deployment", "default", "web")
MEMBERS = ["m1", "m2", "m3"]


def wrapped(replicas: int, *clusters: str) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": WRAPPED,
        "metadata": {"namespace": ONE.namespace, "name": ONE.name},
        "spec": {
            "template": {"spec": deployment(replicas, "web")["spec"]},
            "clusters": list(clusters),
            "overrides": [],
        },
    }


def there(it: Whole) -> dict[str, int]:
    """The members that have it, and with how many replicas."""
    found = {each: it.hub.sites[each].find(WEB) for each in MEMBERS}
    return {name: wire["spec"]["replicas"] for name, wire in found.items() if wire is not None}


def told(it: Whole) -> dict[str, str]:
    """What its status says of each cluster."""
    status = (it.hub.plane.find(ONE) or {}).get("status", {})
    return {each["name"]: each["health"] for each in status.get("clusters", [])}


def test_a_template_inside_is_delivered_told_of_followed_and_deleted() -> None:
    async def story() -> None:
        async with whole(MEMBERS, sources=(*USUAL_SOURCES, WRAPPED_DEPLOYMENTS)) as it:
            await it.hub.plane.follow("v1", "Event")
            await serve(it, API_VERSION, WRAPPED)
            made = await it.create(wrapped(2, "m1", "m2"))
            await until(lambda: there(it) == {"m1": 2, "m2": 2})
            await until(lambda: told(it) == {"m1": "Healthy", "m2": "Healthy"})
            assert it.hub.plane.find(WEB) is None, "the plane has no such Deployment"
            await until(lambda: warnings(it, "FieldsIgnored"))
            changed = wrapped(3, "m2", "m3")["spec"]
            await it.change(ONE, **changed)
            await until(lambda: there(it) == {"m2": 3, "m3": 3})
            await until(lambda: told(it) == {"m2": "Healthy", "m3": "Healthy"})
            await it.delete(made)
            await until(lambda: it.hub.plane.find(ONE) is None and there(it) == {})

    asyncio.run(story())


def test_what_two_dialects_want_belongs_to_the_first_until_that_is_gone() -> None:
    async def story() -> None:
        async with whole(MEMBERS, sources=(*USUAL_SOURCES, WRAPPED_DEPLOYMENTS)) as it:
            await it.hub.plane.follow("v1", "Event")
            await serve(it, API_VERSION, WRAPPED)
            made = await it.create(wrapped(2, "m1"))
            await until(lambda: there(it) == {"m1": 2})
            await it.create(policy("m2"))
            await it.create(deployment(1, "web"))
            await until(lambda: warnings(it, "ApplyPolicyFailed"))
            [refused] = {*warnings(it, "ApplyPolicyFailed")}
            assert refused.startswith("Deployment: policy default/")
            assert f"belongs to {WRAPPED} web" in refused
            assert there(it) == {"m1": 2}
            await until(lambda: told(it) == {"m1": "Healthy"})
            assert not (it.hub.plane.find(WEB) or {}).get("status"), "it is of another"
            await it.delete(made)
            await until(lambda: there(it) == {"m2": 1})

    asyncio.run(story())


def test_nothing_else_names_this_dialect() -> None:
    words = ("WrappedDeployment", "wrapped_deployments", "wrapped.example.org")
    assert naming(*words) == {"tests/control/dialect_that_carries"}
