"""Which policy a template follows, when, and what that does in the members of a whole plane.

What must not happen is looked for once something has arrived that was asked for later.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from sites import POLICY, until
from whole import Whole, whole

from atoll.client.api import Refused, Stale
from atoll.control.hub import BINDING, WORK
from atoll.dialects.karmada import names
from atoll.model.action import Ref

MEMBERS = ["m1", "m2", "m3"]
Story = Callable[[Whole], Awaitable[None]]


def played(story: Story, gates: str = "") -> None:
    async def play() -> None:
        async with whole(MEMBERS, gates=gates) as it:
            await story(it)

    asyncio.run(play())


def settings(name: str = "app", value: str = "1", **labels: str) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"is": value}}


def policy(name: str, to: str, selector: dict[str, Any] | None = None, **spec: Any) -> Any:
    return {
        "apiVersion": POLICY,
        "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", **(selector or {})}],
            "placement": {"clusterAffinity": {"clusterNames": to.split()}},
            **spec,
        },
    }


def cluster_policy(name: str, to: str, selector: dict[str, Any] | None = None, **spec: Any) -> Any:
    wire = policy(name, to, {"namespace": "default", **(selector or {})}, **spec)
    return {**wire, "kind": "ClusterPropagationPolicy", "metadata": {"name": name}}


def where(it: Whole, name: str = "app") -> list[str]:
    """The members that have a ConfigMap."""
    ref = Ref("v1", "ConfigMap", "default", name)
    return [each for each in MEMBERS if it.hub.sites[each].find(ref)]


def value_in(it: Whole, member: str, name: str = "app") -> str | None:
    found = it.hub.sites[member].find(Ref("v1", "ConfigMap", "default", name))
    return found["data"]["is"] if found else None


def template(it: Whole, name: str = "app") -> dict[str, Any]:
    return it.hub.plane.find(Ref("v1", "ConfigMap", "default", name)) or {}


def binding(it: Whole, name: str = "app") -> dict[str, Any]:
    ref = Ref(BINDING, "ResourceBinding", "default", f"{name}-configmap")
    return it.hub.plane.find(ref) or {}


def holder(wire: dict[str, Any]) -> str:
    annotations = (wire.get("metadata") or {}).get("annotations") or {}
    return annotations.get(names.POLICY_NAME) or annotations.get(names.CLUSTER_POLICY_NAME) or ""


async def edited(it: Whole, ref: Ref, edit: Callable[[dict[str, Any]], None]) -> None:
    """Write an object as it is by then, with a change."""
    collection = it.hub.plane.collection(ref.api_version, ref.kind)
    while True:
        wire = await it.api.get(collection.path(ref.namespace, ref.name))
        edit(wire)
        with suppress(Stale):
            await it.api.replace(collection, wire)
            return


async def arrives(it: Whole, name: str, to: str) -> None:
    """Something else arrives that was made later, so that what came before has been looked at."""
    await it.create(policy(f"to-{name}", to, {"name": name}))
    await it.create(settings(name))
    await until(lambda: where(it, name) == to.split())


@pytest.mark.parametrize(
    ("policies", "chosen"),
    [
        pytest.param(
            [policy("a", "m1"), policy("b", "m2", priority=1)], "b", id="the-higher-priority"
        ),
        pytest.param([policy("b", "m1"), policy("a", "m2")], "a", id="the-earlier-name"),
        pytest.param(
            [
                policy("a", "m1"),
                policy("b", "m2", {"labelSelector": {"matchLabels": {"tier": "x"}}}),
            ],
            "b",
            id="labels-before-the-kind",
        ),
        pytest.param(
            [
                policy("a", "m1", {"labelSelector": {"matchLabels": {"tier": "x"}}}),
                policy("b", "m2", {"name": "app"}),
            ],
            "b",
            id="the-name-before-labels",
        ),
        pytest.param(
            [cluster_policy("a", "m1", {"name": "app"}, priority=9), policy("b", "m2")],
            "b",
            id="of-the-namespace-before-all-others",
        ),
    ],
)
def test_of_several_policies_one_is_followed(policies: list[Any], chosen: str) -> None:
    async def story(it: Whole) -> None:
        for each in policies:
            await it.create(each)
        await it.create(settings(tier="x"))
        await until(lambda: where(it) == ["m2"])
        assert holder(template(it)) == holder(binding(it)) == chosen

    played(story)


@pytest.mark.parametrize("gates", ["", "PropagationPolicyPreemption=true"], ids=["closed", "open"])
def test_a_policy_takes_from_another_only_by_preemption(gates: str) -> None:
    async def story(it: Whole) -> None:
        await it.create(policy("old", "m1"))
        await it.create(settings())
        await until(lambda: where(it) == ["m1"])
        await it.create(policy("new", "m2", {"name": "app"}, priority=5, preemption="Always"))
        if gates:
            await until(lambda: where(it) == ["m2"])
            assert holder(template(it)) == holder(binding(it)) == "new"
        else:
            await arrives(it, "later", "m3")
            assert (where(it), holder(template(it))) == (["m1"], "old")

    played(story, gates)


def test_a_lazy_policy_waits_until_the_template_changes() -> None:
    async def story(it: Whole) -> None:
        await it.create(settings())
        lazy = await it.create(policy("lazy", "m1", {"name": "app"}, activationPreference="Lazy"))
        await until(lambda: holder(template(it)) == "lazy")
        await arrives(it, "later", "m3")
        assert where(it) == []
        await edited(it, Ref.of(settings()), lambda wire: wire.update(data={"is": "2"}))
        await until(lambda: value_in(it, "m1") == "2")
        placement = {"clusterAffinity": {"clusterNames": ["m2"]}}
        await it.change(Ref.of(lazy), placement=placement)
        await arrives(it, "later-still", "m3")
        assert where(it) == ["m1"]
        await edited(it, Ref.of(settings()), lambda wire: wire.update(data={"is": "3"}))
        await until(lambda: where(it) == ["m2"])
        assert value_in(it, "m2") == "3"

    played(story)


def test_what_another_scheduler_places_is_left_to_it() -> None:
    async def story(it: Whole) -> None:
        await it.create(policy("theirs", "m1", {"name": "app"}, schedulerName="theirs"))
        await it.create(settings())
        await until(lambda: binding(it))
        await arrives(it, "later", "m3")
        found = binding(it)
        assert found["spec"]["schedulerName"] == "theirs"
        assert "clusters" not in found["spec"]
        assert not found.get("status")

        def placed(wire: dict[str, Any]) -> None:
            wire["spec"]["clusters"] = [{"name": "m2"}]

        await edited(it, Ref.of(found), placed)
        await until(lambda: where(it) == ["m2"])
        await edited(it, Ref.of(settings()), lambda wire: wire.update(data={"is": "2"}))
        await until(lambda: value_in(it, "m2") == "2")
        assert binding(it)["spec"]["clusters"] == [{"name": "m2"}]

    played(story)


def test_suspended_dispatching_holds_back_what_is_sent_to_all_or_to_some() -> None:
    async def story(it: Whole) -> None:
        made = await it.create(
            policy("held", "m1 m2", {"name": "app"}, suspension={"dispatching": True})
        )
        await it.create(settings())
        await until(lambda: dispatching(it) == {"m1": "False", "m2": "False"})
        assert where(it) == []
        only = {"dispatchingOnClusters": {"clusterNames": ["m2"]}}
        await it.change(Ref.of(made), suspension=only)
        await until(lambda: where(it) == ["m1"])
        await until(lambda: dispatching(it) == {"m1": "True", "m2": "False"})
        await it.change(Ref.of(made), suspension={})
        await until(lambda: where(it) == ["m1", "m2"])
        await it.change(Ref.of(made), suspension=only)
        await until(lambda: dispatching(it) == {"m1": "True", "m2": "False"})
        await edited(it, Ref.of(settings()), lambda wire: wire.update(data={"is": "2"}))
        await until(lambda: value_in(it, "m1") == "2")
        assert value_in(it, "m2") == "1"

    played(story)


def dispatching(it: Whole) -> dict[str, str]:
    found = {}
    for work in it.hub.plane.all(WORK, "Work"):
        said = (work.get("status") or {}).get("conditions") or ()
        state = [each["status"] for each in said if each["type"] == "Dispatching"]
        if state and work["spec"]["workload"]["manifests"][0]["kind"] == "ConfigMap":
            found[names.cluster_of(work["metadata"]["namespace"]) or ""] = state[0]
    return found


def test_suspended_scheduling_keeps_a_binding_where_it_is() -> None:
    async def story(it: Whole) -> None:
        made = await it.create(policy("held", "m1", {"name": "app"}))
        await it.create(settings())
        await until(lambda: where(it) == ["m1"])
        await edited(
            it,
            Ref.of(binding(it)),
            lambda wire: wire["spec"].update(suspension={"scheduling": True}),
        )
        placement = {"clusterAffinity": {"clusterNames": ["m2"]}}
        await it.change(Ref.of(made), placement=placement)
        await until(lambda: binding(it)["spec"]["placement"] == placement)
        await arrives(it, "later", "m3")
        assert where(it) == ["m1"]
        assert binding(it)["spec"]["suspension"] == {"scheduling": True}
        await edited(it, Ref.of(binding(it)), lambda wire: wire["spec"].pop("suspension"))
        await until(lambda: where(it) == ["m2"])

    played(story)


def test_a_protected_template_is_not_deleted() -> None:
    async def story(it: Whole) -> None:
        await it.create(policy("p", "m1"))
        await it.create(settings(**{names.DELETION_PROTECTED: "Always"}))
        await until(lambda: where(it) == ["m1"])
        with pytest.raises(Refused, match="is protected"):
            await it.delete(template(it))
        await edited(it, Ref.of(settings()), lambda wire: wire["metadata"].update(labels={}))
        await it.delete(await it.api.get("/api/v1/namespaces/default/configmaps/app"))
        await until(lambda: where(it) == [])

    played(story)


def test_permanent_ids_lead_from_a_policy_to_what_runs() -> None:
    async def story(it: Whole) -> None:
        made = await it.create(policy("p", "m1"))
        await it.create(settings())
        await until(lambda: where(it) == ["m1"])
        of_policy = made["metadata"]["labels"][names.POLICY_ID]
        assert template(it)["metadata"]["labels"][names.POLICY_ID] == of_policy
        labels = binding(it)["metadata"]["labels"]
        assert labels[names.POLICY_ID] == of_policy
        works = [each for each in it.hub.plane.all(WORK, "Work") if is_of(each, labels)]
        assert [each["metadata"]["namespace"] for each in works] == ["karmada-es-m1"]
        there = it.hub.sites["m1"].find(Ref.of(settings())) or {}
        work_id = works[0]["metadata"]["labels"][names.WORK_ID]
        assert there["metadata"]["labels"][names.WORK_ID] == work_id
        await it.delete(made)
        await until(lambda: it.hub.plane.find(Ref.of(made)) is None)
        assert not holder(template(it))
        assert not holder(binding(it))
        again = await it.create(policy("p", "m1"))
        other = again["metadata"]["labels"][names.POLICY_ID]
        assert other != of_policy
        await until(lambda: binding(it)["metadata"]["labels"].get(names.POLICY_ID) == other)
        assert where(it) == ["m1"]
        after = it.hub.sites["m1"].find(Ref.of(settings())) or {}
        assert after["metadata"]["uid"] == there["metadata"]["uid"]

    played(story)


def is_of(work: dict[str, Any], labels: dict[str, str]) -> bool:
    key = names.BINDING_ID
    return bool(labels[key]) and (work["metadata"].get("labels") or {}).get(key) == labels[key]


def test_a_relabelled_template_runs_on_until_another_policy_wants_it() -> None:
    async def story(it: Whole) -> None:
        for tier, to in (("x", "m1"), ("y", "m2")):
            labels = {"labelSelector": {"matchLabels": {"tier": tier}}}
            await it.create(policy(tier, to, labels))
        await it.create(settings(tier="x"))
        await until(lambda: where(it) == ["m1"])

        def relabelled(tier: str) -> Callable[[dict[str, Any]], None]:
            return lambda wire: wire["metadata"]["labels"].update(tier=tier)

        await edited(it, Ref.of(settings()), relabelled("none"))
        await until(lambda: not holder(template(it)) and not holder(binding(it)))
        await arrives(it, "later", "m3")
        assert where(it) == ["m1"]
        await edited(it, Ref.of(settings()), relabelled("y"))
        await until(lambda: where(it) == ["m2"])
        assert holder(template(it)) == holder(binding(it)) == "y"

    played(story)


def test_a_policy_that_selects_less_or_goes_leaves_what_runs_to_its_successor() -> None:
    async def story(it: Whole) -> None:
        first = await it.create(policy("first", "m1 m2"))
        await it.create(settings())
        await it.create(settings("other"))
        await until(lambda: where(it) == where(it, "other") == ["m1", "m2"])
        less = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "other"}]
        await it.change(Ref.of(first), resourceSelectors=less)
        await until(lambda: not holder(template(it)) and not holder(binding(it)))
        await it.delete(first)
        await until(lambda: not holder(template(it, "other")))
        await until(lambda: it.hub.plane.find(Ref.of(first)) is None)
        assert where(it) == where(it, "other") == ["m1", "m2"]
        await it.create(policy("second", "m2 m3"))
        await until(lambda: where(it) == where(it, "other") == ["m2", "m3"])

    played(story)


def test_a_workload_let_go_without_replicas_starts_nowhere_until_a_policy_has_it() -> None:
    web = Ref("apps/v1", "Deployment", "default", "web")

    def replicas(it: Whole) -> list[int | None]:
        found = [it.hub.sites[each].find(web) for each in ("m1", "m2")]
        return [each["spec"]["replicas"] if each else None for each in found]

    async def story(it: Whole) -> None:
        labels = {"app": "web"}
        pod = {"containers": [{"name": "web", "image": "web"}]}
        spec = {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        metadata = {"namespace": web.namespace, "name": web.name}
        wanted = policy("p", "m1 m2")
        wanted["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
        wanted["spec"]["placement"]["replicaScheduling"] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
        }
        made = await it.create(wanted)
        await it.create(
            {"apiVersion": web.api_version, "kind": web.kind, "metadata": metadata, "spec": spec}
        )
        await until(lambda: replicas(it) == [0, 0])
        await it.delete(made)
        await until(lambda: it.hub.plane.find(Ref.of(made)) is None)
        await it.change(web, replicas=4)
        await arrives(it, "later", "m3")
        assert replicas(it) == [0, 0]
        await it.create(wanted)
        await until(lambda: replicas(it) == [2, 2])

    played(story)


def test_workloads_of_a_group_keep_apart_behind_their_gate() -> None:
    async def story(it: Whole) -> None:
        apart = policy("apart", "m1 m2 m3", {"labelSelector": {"matchLabels": {"group": "g"}}})
        apart["spec"]["placement"] |= {
            "workloadAffinity": {"antiAffinity": {"groupByLabelKey": "group"}},
            "spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 1, "minGroups": 1}],
        }
        await it.create(apart)
        named = [f"app-{number}" for number in range(3)]
        await asyncio.gather(*(it.create(settings(name, group="g")) for name in named))
        await until(lambda: all(where(it, name) for name in named))
        assert sorted(where(it, name)[0] for name in named) == MEMBERS

    played(story, "WorkloadAffinity=true")


def test_what_has_no_namespace_is_bound_and_sent_too() -> None:
    role = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "reader")

    async def story(it: Whole) -> None:
        wanted = cluster_policy("roles", "m1 m3")
        wanted["spec"]["resourceSelectors"] = [
            {"apiVersion": role.api_version, "kind": role.kind, "name": role.name}
        ]
        await it.create(wanted)
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        made = await it.create(
            {
                "apiVersion": role.api_version,
                "kind": role.kind,
                "metadata": {"name": role.name},
                "rules": rules,
            }
        )
        sites = it.hub.sites
        await until(lambda: [each for each in MEMBERS if sites[each].find(role)] == ["m1", "m3"])
        bound = it.hub.plane.find(Ref(BINDING, "ClusterResourceBinding", "", "reader-clusterrole"))
        assert bound is not None
        assert holder(bound) == "roles"
        there = sites["m1"].find(role) or {}
        assert there["rules"] == rules
        await it.delete(made)
        await until(lambda: not [each for each in MEMBERS if sites[each].find(role)])

    played(story)


def test_a_binding_that_someone_deletes_is_made_again() -> None:
    async def story(it: Whole) -> None:
        await it.create(policy("p", "m1"))
        await it.create(settings())
        await until(lambda: where(it) == ["m1"])
        first = binding(it)
        await it.delete(first)
        await until(lambda: binding(it) and binding(it)["metadata"]["uid"] != uid_of(first))
        await until(lambda: where(it) == ["m1"])
        assert holder(binding(it)) == "p"

    played(story)


def test_a_template_made_anew_under_its_name_gets_a_binding_of_its_own() -> None:
    async def story(it: Whole) -> None:
        await it.create(policy("p", "m1"))
        await it.create(settings())
        await until(lambda: where(it) == ["m1"])
        first = binding(it)
        await it.delete(template(it))
        await it.create(settings(value="2"))
        await until(lambda: value_in(it, "m1") == "2")
        assert uid_of(binding(it)) != uid_of(first)
        assert binding(it)["spec"]["resource"]["uid"] == uid_of(template(it))

    played(story)


def uid_of(wire: dict[str, Any]) -> str:
    return str(wire["metadata"]["uid"])


@pytest.mark.parametrize("failback", ["Never", "WhenPossible"])
def test_what_had_to_go_elsewhere_comes_back_where_its_policy_says_so(failback: str) -> None:
    async def story(it: Whole) -> None:
        first = Ref("cluster.karmada.io/v1alpha1", "Cluster", "", "m1")
        await it.change(first, taints=[{"key": "closed", "effect": "NoSchedule"}])
        await until(lambda: it.hub.clusters["m1"].taints)
        terms = [
            {"affinityName": name, "clusterNames": [to]}
            for name, to in (("near", "m1"), ("far", "m2"))
        ]
        wanted = policy("back", "", {"name": "app"}, atoll={"failback": failback})
        wanted["spec"]["placement"] = {"clusterAffinities": terms}
        await it.create(wanted)
        await it.create(settings())
        await until(lambda: where(it) == ["m2"])
        await until(lambda: observed(it) == "far")
        await it.change(first, taints=[])
        if failback == "Never":
            await arrives(it, "later", "m1")
            assert (where(it), observed(it)) == (["m2"], "far")
        else:
            await until(lambda: where(it) == ["m1"])
            await until(lambda: observed(it) == "near")

    played(story)


def observed(it: Whole) -> str:
    return str((binding(it).get("status") or {}).get("schedulerObservingAffinityName", ""))
