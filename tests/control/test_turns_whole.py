"""Whoever changes little is not held up by bulk, whomever that is about."""

import asyncio
from typing import Any

from sites import POLICY, until
from whole import Whole, whole

from atoll.control.hub import BINDING, WORK
from atoll.model.action import Ref
from atoll.wire import Wire

MANY = 80
ALL = Ref(POLICY, "ClusterPropagationPolicy", "", "all")


def wanting(kind: str, name: str, namespace: str, *clusters: str) -> dict[str, Any]:
    return {
        "apiVersion": POLICY,
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}],
            "placement": placement(*clusters),
        },
    }


def placement(*clusters: str) -> dict[str, Any]:
    return {"clusterAffinity": {"clusterNames": [*clusters]}}


def text(namespace: str) -> dict[str, Any]:
    metadata = {"name": "words", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


async def filled(it: Whole) -> None:
    """As many namespaces as many, each with something of one policy; and one that is empty."""
    await it.create(wanting(ALL.kind, ALL.name, "", "m1"))
    for space in ("quiet", *(f"space-{number}" for number in range(MANY))):
        await it.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        if space != "quiet":
            await it.create(text(space))
    await it.create(wanting("PropagationPolicy", "own", "quiet", "m2"))
    await until(lambda: len(sent(it, "m1")) == MANY)


def sent(it: Whole, cluster: str) -> list[str]:
    """The namespaces of which something is sent to a cluster, as they came."""
    works = it.hub.plane.all(WORK, "Work")
    found = [each for each in works if each["metadata"]["namespace"].endswith(cluster)]
    manifests = [each["spec"]["workload"]["manifests"][0] for each in found]
    return [each["metadata"]["namespace"] for each in manifests if each["kind"] == "ConfigMap"]


def test_a_policy_that_moves_many_holds_up_nobody_who_has_another() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await filled(it)
            order: list[str] = []

            def came(before: Wire | None, after: Wire | None) -> None:
                if before is None and after is not None:
                    order.extend(each for each in sent(it, "m2") if each not in order)

            it.hear(WORK, "Work", came)
            await it.change(ALL, placement=placement("m1", "m2"))
            await it.create(text("quiet"))
            await until(lambda: len(order) == MANY + 1)
            assert order.index("quiet") < MANY / 2

    asyncio.run(story())


def test_what_a_write_is_caused_by_is_known_for_as_long_as_it_is_under_way() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            heard: list[tuple[str, str]] = []
            it.hub.plane.listen(
                lambda _, after: heard.append(
                    (after["kind"], it.hub.performer.cause_of(Ref.of(after))) if after else ("", "")
                )
            )
            await it.create(wanting(ALL.kind, ALL.name, "", "m1"))
            await it.create(text("default"))
            await until(lambda: sent(it, "m1"))
            await it.change(ALL, placement=placement())
            await until(lambda: ("ResourceBinding", str(ALL)) in heard)
            bound = Ref(BINDING, "ResourceBinding", "default", "words-configmap")
            await until(lambda: it.hub.performer.cause_of(bound) == "")
            assert it.hub.performer.cause_of(bound) == ""

    asyncio.run(story())
