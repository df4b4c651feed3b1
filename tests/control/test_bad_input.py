"""What users get wrong: each is told where they will look, and everything else goes on."""

import asyncio
from typing import Any

import orjson
from sites import PATIENCE_S, POLICY, until
from test_dependencies import carrying, in_member, thing, until_in, workload
from test_pipeline import NGINX, condition, deployment, policy, ready, replicas_in
from whole import Whole, whole

from atoll.control.hub import BINDING, WORK
from atoll.dialects.karmada import names
from atoll.model.action import Ref
from atoll.wire import Wire

OF_NGINX = Ref(BINDING, "ResourceBinding", "default", "nginx-deployment")
BAD = Ref(POLICY, "OverridePolicy", "default", "bad")
GOOD = Ref("apps/v1", "Deployment", "default", "good")
MIB = 1024 * 1024


async def events(it: Whole, about: Ref, reason: str) -> list[Wire]:
    wires, _ = await it.api.list(it.hub.plane.collection("v1", "Event"))
    found = it.hub.plane.find(about) or {}
    uid = found.get("metadata", {}).get("uid")
    return [
        each
        for each in wires
        if each["involvedObject"].get("uid") == uid and each["reason"] == reason
    ]


async def told(it: Whole, about: Ref, reason: str, how: str = "Warning") -> str:
    """The message of a warning, or of other news, on an object as soon as there is one."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await events(it, about, reason)
            if found:
                assert found[0]["type"] == how
                assert found[0]["involvedObject"]["kind"] == about.kind
                return str(found[0]["message"])
            await asyncio.sleep(0.01)


def override(path: str, value: Any, cluster: str = "m2") -> Wire:
    patch = {"path": path, "operator": "replace", "value": value}
    return {
        "apiVersion": POLICY,
        "kind": "OverridePolicy",
        "metadata": {"namespace": "default", "name": "bad"},
        "spec": {
            "resourceSelectors": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"},
            ],
            "overrideRules": [
                {
                    "targetCluster": {"clusterNames": [cluster]},
                    "overriders": {"plaintext": [patch]},
                }
            ],
        },
    }


def named(wire: Wire, name: str, **spec: Any) -> Wire:
    return {
        **wire,
        "metadata": {**wire["metadata"], "name": name},
        "spec": {**wire["spec"], **spec},
    }


def of_config_maps(*clusters: str) -> Wire:
    return named(
        policy(*clusters), "config", resourceSelectors=[{"apiVersion": "v1", "kind": "ConfigMap"}]
    )


async def others_go_on(it: Whole, *clusters: str) -> None:
    """A workload that comes now arrives, and its status comes back."""
    await it.create(deployment(1, "good"))
    await until(lambda: all(replicas_in(it, each, GOOD) == 1 for each in clusters))
    await until(lambda: ready(it, GOOD) == len(clusters))


def test_a_template_that_a_member_refuses() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(override("/spec/replicas", -1))
            await it.create(policy("m1", "m2"))
            await it.create(deployment(2))
            for about in (NGINX, OF_NGINX):
                message = await told(it, about, "SyncFailed")
                assert "cluster m2 refused Deployment default/nginx" in message
                assert "spec.replicas: Invalid value: -1" in message

            def refusals() -> list[str]:
                status = (it.hub.plane.find(OF_NGINX) or {}).get("status") or {}
                told_by = status.get("aggregatedStatus") or ()
                return [each["appliedMessage"] for each in told_by if "appliedMessage" in each]

            await until(refusals)
            assert "cluster m2 refused" in refusals()[0]
            assert condition(it.hub.plane.find(OF_NGINX), "FullyApplied") == "FullyAppliedFailed"
            await until(lambda: replicas_in(it, "m1") == 2)
            await others_go_on(it, "m1", "m2")
            await it.change(BAD, **override("/spec/replicas", 3)["spec"])
            await until(lambda: replicas_in(it, "m2") == 3)
            await until(
                lambda: (
                    condition(it.hub.plane.find(OF_NGINX), "FullyApplied") == "FullyAppliedSuccess"
                )
            )

    asyncio.run(story())


ODD_MANIFESTS = [
    {"apiVersion": "v1", "kind": "ConfigMap"},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": "x"},
    {"metadata": {"name": "a"}},
    {"apiVersion": 1, "kind": [], "metadata": {"name": {}}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": ["x"]}},
]


def test_a_work_written_by_hand_with_manifests_that_are_no_objects() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(policy("m1"))
            refs = []
            for number, manifest in enumerate(ODD_MANIFESTS):
                refs.append(Ref(WORK, "Work", names.execution_namespace("m1"), f"odd-{number}"))
                metadata = {"namespace": refs[-1].namespace, "name": refs[-1].name}
                spec = {"workload": {"manifests": [manifest]}}
                odd = {"apiVersion": WORK, "kind": "Work", "metadata": metadata, "spec": spec}
                await it.create(odd)

            def applied(ref: Ref) -> str:
                return condition(it.hub.plane.find(ref), "Applied")

            await until(lambda: all(map(applied, refs)))
            assert {applied(each) for each in refs} == {"AppliedFailed"}
            told_of = str([(it.hub.plane.find(each) or {})["status"] for each in refs])
            assert told_of.count("must give apiVersion, kind and a name") == len(refs)
            await others_go_on(it, "m1")

    asyncio.run(story())


def test_a_member_that_does_not_let_go_of_an_object() -> None:
    # A server keeps some namespaces, whoever wants them gone.
    kept = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-public"}}
    work = Ref(WORK, "Work", "karmada-es-m1", "kept")
    written = {
        "apiVersion": work.api_version,
        "kind": work.kind,
        "metadata": {
            "namespace": work.namespace,
            "name": work.name,
            "finalizers": [names.EXECUTION_FINALIZER],
            "annotations": {names.CONFLICT_RESOLUTION: "overwrite"},
        },
        "spec": {"workload": {"manifests": [kept]}},
    }

    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(named(policy("m1"), "right"))
            made = await it.create(written)
            await until(lambda: condition(it.hub.plane.find(work), "Applied"))
            await it.delete(made)
            message = await told(it, work, "SyncFailed")
            assert message.startswith("cluster m1 refused to delete Namespace kube-public: ")
            await others_go_on(it, "m1")

    asyncio.run(story())


def test_an_override_with_a_path_that_does_not_exist() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(override("/spec/nowhere/x", 1))
            await it.create(policy("m1", "m2"))
            await it.create(deployment(2))
            for about in (NGINX, BAD):
                message = await told(it, about, "ApplyOverridePolicyFailed")
                assert "cluster(m2)" in message
                assert "spec.overrideRules[0].overriders.plaintext[0].path" in message
                assert "/spec has no field 'nowhere'" in message
            await until(lambda: replicas_in(it, "m1") == 2)
            await others_go_on(it, "m1", "m2")
            assert replicas_in(it, "m2") is None
            await it.change(BAD, **override("/spec/replicas", 3)["spec"])
            await until(lambda: replicas_in(it, "m2") == 3)

    asyncio.run(story())


def test_a_policy_that_matches_nothing() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            mistyped = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "ngnix"}
            await it.create(deployment(1, "good"))
            made = await it.create(named(policy("m1"), "mine", resourceSelectors=[mistyped]))
            await it.create(named(policy("m1"), "right"))
            await until(lambda: ready(it, GOOD) == 1)
            message = await told(it, Ref.of(made), "NothingSelected")
            assert "no Deployment of apps/v1 named ngnix in namespace default" in message
            right = Ref(POLICY, "PropagationPolicy", "default", "right")
            assert await events(it, right, "NothingSelected") == []
            # What it looks for may come at any time.
            await it.create(deployment(2, "ngnix"))
            late = Ref("apps/v1", "Deployment", "default", "ngnix")
            await until(lambda: replicas_in(it, "m1", late) == 2)
            assert len(await events(it, Ref.of(made), "NothingSelected")) == 1

    asyncio.run(story())


def test_two_policies_that_fight() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            first = await it.create(named(policy("m1"), "first"))
            await it.create(deployment(2))
            await until(lambda: ready(it) == 2)
            second = await it.create(named(policy("m2"), "second", priority=5))
            message = await told(it, Ref.of(second), "HeldByOthers")
            assert "Deployment default/nginx is held by policy default/first" in message
            assert await events(it, Ref.of(first), "HeldByOthers") == []
            assert replicas_in(it, "m2") is None
            before = it.hub.performer.writes
            await others_go_on(it, "m2")  # a new one goes to the higher priority
            applied = await told(it, GOOD, "ApplyPolicySucceed", "Normal")
            assert "policy default/second is applied" in applied
            assert "not applied, though selecting this too: policy default/first" in applied
            assert it.hub.performer.writes - before < 100, "nobody writes in circles"
            await it.delete(first)
            await until(lambda: replicas_in(it, "m2") == 2)
            await until(lambda: replicas_in(it, "m1") is None)

    asyncio.run(story())


def test_an_object_of_a_megabyte() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(of_config_maps("m1", "m2"))
            await it.create(named(policy("m1", "m2"), "right"))
            big = Ref("v1", "ConfigMap", "default", "big")
            text = "x" * (MIB - 1)
            await it.create(thing(big, data={"a": text}))
            await until_in(it, big, "m1", "m2")
            for cluster in ("m1", "m2"):
                there = await in_member(it, cluster, big) or {}
                assert there["data"]["a"] == text
            await others_go_on(it, "m1", "m2")

    asyncio.run(story())


def test_an_object_that_just_fits_into_the_plane_has_no_room_for_what_is_noted_on_it() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(named(policy("m1"), "right"))
            wire = deployment(1)
            [container] = wire["spec"]["template"]["spec"]["containers"]
            size = 3 * MIB - len(orjson.dumps(wire)) - 100
            container["args"] = ["x" * size]
            await it.create(wire)
            message = await told(it, NGINX, "ApplyPolicyFailed")
            assert "the plane refused Deployment default/nginx: Request entity too large" in message
            await others_go_on(it, "m1")

    asyncio.run(story())


LONG = ("a-" * 150)[:252] + "b"


def test_names_of_253_characters() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(of_config_maps("m1"))
            await it.create(named(policy("m1"), "right"))
            longest = Ref("v1", "ConfigMap", "default", LONG)
            assert len(longest.name) == 253
            await it.create(thing(longest))
            message = await told(it, longest, "ApplyPolicyFailed")
            assert "the name has 253 characters" in message
            fitting = next(
                name
                for name in (LONG[cut:] for cut in range(0, 40, 2))
                if not names.too_long("ConfigMap", name, "default")
            )
            assert len(fitting) >= 241
            await it.create(thing(Ref("v1", "ConfigMap", "default", fitting)))
            await until_in(it, Ref("v1", "ConfigMap", "default", fitting), "m1")
            await others_go_on(it, "m1")

    asyncio.run(story())


def test_a_dependency_whose_name_is_too_long() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            long = Ref("v1", "ConfigMap", "default", LONG)
            short = Ref("v1", "ConfigMap", "default", "settings")
            for each in (long, short):
                await it.create(thing(each))
            await it.create(carrying("m1"))
            await it.create(workload(needs=(long, short)))
            await until_in(it, short, "m1")
            message = await told(it, NGINX, "GetDependenciesFailed")
            assert "cannot go along: the name has 253 characters" in message
            await others_go_on(it, "m1")

    asyncio.run(story())
