"""From a template and a policy to running objects in members, and status back."""

import asyncio
from typing import Any

from sites import POLICY, until
from whole import Whole, whole

from atoll.control.hub import BINDING, WORK
from atoll.model.action import Ref

NGINX = Ref("apps/v1", "Deployment", "default", "nginx")


def deployment(replicas: int = 4, name: str = "nginx") -> dict[str, Any]:
    labels = {"app": name}
    container = {
        "name": "nginx",
        "image": "nginx",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "default", "name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def policy(*clusters: str, weights: dict[str, int] | None = None) -> dict[str, Any]:
    placement: dict[str, Any] = {"clusterAffinity": {"clusterNames": list(clusters)}}
    if weights:
        listed = [
            {"targetCluster": {"clusterNames": [name]}, "weight": weight}
            for name, weight in weights.items()
        ]
        placement["replicaScheduling"] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": listed},
        }
    return {
        "apiVersion": POLICY,
        "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": "nginx"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": placement,
        },
    }


def replicas_in(it: Whole, name: str, ref: Ref = NGINX) -> int | None:
    found = it.hub.sites[name].find(ref)
    return found["spec"]["replicas"] if found else None


def ready(it: Whole, ref: Ref = NGINX) -> int:
    found = it.hub.plane.find(ref) or {}
    return (found.get("status") or {}).get("readyReplicas", 0)


def condition(wire: dict[str, Any] | None, kind: str) -> str:
    conditions = ((wire or {}).get("status") or {}).get("conditions") or ()
    return next((each["reason"] for each in conditions if each["type"] == kind), "")


def test_a_deployment_is_divided_delivered_and_its_status_is_summed_up() -> None:
    async def story() -> None:
        async with whole(["m1", "m2", "m3"]) as it:
            await it.create(policy("m1", "m2", weights={"m1": 1, "m2": 3}))
            await it.create(deployment(4))
            await until(lambda: ready(it) == 4)
            assert (replicas_in(it, "m1"), replicas_in(it, "m2")) == (1, 3)
            assert replicas_in(it, "m3") is None
            binding = Ref(BINDING, "ResourceBinding", "default", "nginx-deployment")
            await until(lambda: condition(it.hub.plane.find(binding), "FullyApplied"))
            found = it.hub.plane.find(binding)
            assert condition(found, "Scheduled") == "Success"
            assert condition(found, "FullyApplied") == "FullyAppliedSuccess"
            works = it.hub.plane.all(WORK, "Work")
            assert sorted(each["metadata"]["namespace"] for each in works) == [
                "karmada-es-m1",
                "karmada-es-m2",
            ]
            assert {each["metadata"]["name"] for each in works} == {"nginx-687f7fb96f"}

    asyncio.run(story())


def test_nobody_hears_that_a_binding_has_arrived_before_it_is_told_where_it_goes() -> None:
    told: list[tuple[str, str]] = []

    def heard(_: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        told.append((condition(after, "Scheduled"), condition(after, "FullyApplied")))

    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            it.hear(BINDING, "ResourceBinding", heard)
            await it.create(policy("m1", "m2"))
            await it.create(deployment())
            await until(lambda: ready(it) == 8)
            await until(lambda: any(arrived for _, arrived in told))

    asyncio.run(story())
    assert {scheduled for scheduled, arrived in told if arrived} == {"Success"}


def test_a_policy_that_comes_later_changes_or_scales_moves_what_runs() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(deployment(2))
            written = await it.create(policy("m1"))
            await until(lambda: replicas_in(it, "m1") == 2)
            await until(lambda: ready(it) == 2)
            await it.change(Ref.of(written), **policy("m2")["spec"])
            await until(lambda: replicas_in(it, "m2") == 2)
            await until(lambda: replicas_in(it, "m1") is None)
            await it.change(NGINX, replicas=5)
            await until(lambda: replicas_in(it, "m2") == 5)
            await until(lambda: ready(it) == 5)
            works = it.hub.plane.all(WORK, "Work")
            assert [each["metadata"]["namespace"] for each in works] == ["karmada-es-m2"]

    asyncio.run(story())


def test_overrides_differ_by_cluster_and_drift_is_corrected() -> None:
    override = {
        "apiVersion": POLICY,
        "kind": "OverridePolicy",
        "metadata": {"namespace": "default", "name": "images"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "overrideRules": [
                {
                    "targetCluster": {"clusterNames": ["m2"]},
                    "overriders": {
                        "imageOverrider": [
                            {"component": "Registry", "operator": "replace", "value": "mirror.io"}
                        ]
                    },
                }
            ],
        },
    }

    def image(it: Whole, name: str) -> str:
        found = it.hub.sites[name].find(NGINX)
        return found["spec"]["template"]["spec"]["containers"][0]["image"] if found else ""

    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(override)
            await it.create(policy("m1", "m2"))
            await it.create(deployment(1))
            await until(lambda: image(it, "m1") and image(it, "m2"))
            assert image(it, "m1") == "nginx"
            assert image(it, "m2") == "mirror.io/nginx"
            await it.change(NGINX, at="m1", replicas=7)
            await until(lambda: replicas_in(it, "m1") == 1)

    asyncio.run(story())


def test_deleting_the_template_removes_it_everywhere_and_nothing_else() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(policy("m1", "m2"))
            made = await it.create(deployment(1))
            foreign = it.hub.sites["m1"]
            await foreign.api.create(
                foreign.collection("apps/v1", "Deployment"), deployment(1, "theirs")
            )
            await until(lambda: replicas_in(it, "m1") and replicas_in(it, "m2"))
            await it.delete(made)
            await until(lambda: replicas_in(it, "m1") is None and replicas_in(it, "m2") is None)
            await until(lambda: not it.hub.plane.all(WORK, "Work"))
            await until(lambda: not it.hub.plane.all(BINDING, "ResourceBinding"))
            theirs = Ref("apps/v1", "Deployment", "default", "theirs")
            assert replicas_in(it, "m1", theirs) == 1

    asyncio.run(story())


def test_an_object_that_is_there_already_is_left_alone_and_the_binding_says_so() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            site = it.hub.sites["m1"]
            await site.api.create(site.collection("apps/v1", "Deployment"), deployment(9))
            await it.create(policy("m1"))
            await it.create(deployment(1))
            binding = Ref(BINDING, "ResourceBinding", "default", "nginx-deployment")
            await until(lambda: condition(it.hub.plane.find(binding), "FullyApplied"))
            assert condition(it.hub.plane.find(binding), "FullyApplied") == "FullyAppliedFailed"
            assert replicas_in(it, "m1") == 9

    asyncio.run(story())


def test_objects_of_a_kind_that_users_define_are_propagated_too() -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.io"},
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
    widget = {
        "apiVersion": "example.io/v1",
        "kind": "Widget",
        "metadata": {"namespace": "default", "name": "w"},
        "spec": {"size": 3},
    }

    async def story() -> None:
        async with whole(["m1"]) as it:
            for site in (it.hub.plane, it.hub.sites["m1"]):
                crds = site.collection("apiextensions.k8s.io/v1", "CustomResourceDefinition")
                await site.api.create(crds, definition)
                await site.directory.read()
            await until(lambda: it.hub.plane.directory.find("example.io/v1", "Widget"))
            chosen = policy("m1")
            chosen["spec"]["resourceSelectors"] = [
                {"apiVersion": "example.io/v1", "kind": "Widget"}
            ]
            await it.create(chosen)
            await it.create(widget)
            cluster = it.hub.plane.find(Ref("cluster.karmada.io/v1alpha1", "Cluster", "", "m1"))
            enablements = [*cluster["status"]["apiEnablements"]]
            enablements.append(
                {
                    "groupVersion": "example.io/v1",
                    "resources": [{"name": "widgets", "kind": "Widget"}],
                }
            )
            status = {**cluster["status"], "apiEnablements": enablements}
            await it.api.replace(
                it.hub.plane.collection("cluster.karmada.io/v1alpha1", "Cluster"),
                {**cluster, "status": status},
                "status",
            )
            ref = Ref.of(widget)
            await until(lambda: it.hub.sites["m1"].find(ref))
            assert it.hub.sites["m1"].find(ref)["spec"] == {"size": 3}

    asyncio.run(story())


def test_a_namespace_goes_to_every_member_and_so_does_what_is_in_it() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            chosen = policy("m1", "m2")
            chosen["metadata"]["namespace"] = "shop"
            await it.create(chosen)
            made = deployment(2)
            made["metadata"]["namespace"] = "shop"
            await it.create(made)
            ref = Ref("apps/v1", "Deployment", "shop", "nginx")
            await until(lambda: ready(it, ref) == 4)
            assert it.hub.sites["m2"].find(Ref("v1", "Namespace", "", "shop"))

    asyncio.run(story())
