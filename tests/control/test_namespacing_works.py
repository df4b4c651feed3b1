"""Namespaces in all clusters: which go, what their Works are, and when they end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import World, settle, stumble

from atoll.control.namespaces import decide as namespacing
from atoll.control.namespaces.decide import SeenNamespace
from atoll.control.works.decide.overriding.fields import Texts
from atoll.control.works.decide.overriding.overriding import Policies, no_policies
from atoll.control.works.decide.rendering import Means
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import policies as policy_dialect
from atoll.dialects.karmada.objects import works
from atoll.model.action import Plan, Ref, Tell
from atoll.model.cluster import Cluster
from atoll.wire import Object, Wire

SHOP = Ref("v1", "Namespace", "", "shop")


def prune(manifest: Object) -> Object:
    metadata = manifest["metadata"]
    left_out = ("uid", "resourceVersion")
    return {**manifest, "metadata": {k: v for k, v in metadata.items() if k not in left_out}}


MEANS = Means(lambda wire, _: wire, prune, Texts(lambda text: text, str))


def namespace(name: str = "shop", **labels: str) -> Wire:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def planned(world: World, clusters: list[str], policies: Policies = no_policies) -> Plan:
    """What is to be done in each of the clusters, one after the other."""
    plans = [planned_in(world, each, policies) for each in clusters]
    waits = [each.again_in for each in plans if each.again_in is not None]
    return Plan(
        tuple(action for each in plans for action in each.actions), min(waits, default=None)
    )


def planned_in(
    world: World, cluster: str, policies: Policies = no_policies, means: Means = MEANS
) -> Plan:
    known = [works.decode(each) for each in world.all("Work")]
    work = next((each for each in known if each.cluster == cluster), None)
    seen = SeenNamespace(
        world.get(SHOP), Cluster(name=cluster), means, work, policies, new_id=f"id-of-{cluster}"
    )
    return namespacing.plan(seen)


GO = [
    pytest.param(namespace(), True, id="any namespace"),
    pytest.param(namespace("default"), False, id="default"),
    pytest.param(namespace("kube-system"), False, id="Kubernetes' own"),
    pytest.param(namespace("my-kube-shop"), True, id="one that only sounds like Kubernetes' own"),
    pytest.param(namespace("karmada-system"), False, id="the plane's own"),
    pytest.param(namespace("karmada-es-m1"), False, id="a cluster's Works"),
    pytest.param(namespace(**{names.SKIP_AUTO_PROPAGATION: "True"}), False, id="asked to stay"),
    pytest.param(namespace(**{names.SKIP_AUTO_PROPAGATION: "no"}), True, id="asked otherwise"),
]


@pytest.mark.parametrize(("space", "goes"), GO)
def test_namespaces_that_go_to_members(*, space: Wire, goes: bool) -> None:
    seen = SeenNamespace(space, Cluster(name="m1"), MEANS)
    assert bool(namespacing.plan(seen).actions) is goes


def test_every_cluster_gets_a_work_that_the_namespace_owns() -> None:
    world = World()
    uid = world.put(namespace(team="a"))["metadata"]["uid"]
    assert settle(world, lambda: planned(world, ["m1", "m2"])) == 2
    first, second = world.all("Work")
    assert first["metadata"]["namespace"] == "karmada-es-m1"
    assert second["metadata"]["namespace"] == "karmada-es-m2"
    assert first["metadata"]["name"] == names.work_name("Namespace", "shop")
    assert first["metadata"]["finalizers"] == [names.EXECUTION_FINALIZER]
    [owner] = first["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Namespace", "shop", uid)
    [manifest] = first["spec"]["workload"]["manifests"]
    assert manifest["metadata"]["labels"]["team"] == "a"
    assert manifest["metadata"]["labels"][names.MANAGED] == "true"
    assert manifest["metadata"]["annotations"][names.WORK_NAMESPACE] == "karmada-es-m1"


def test_a_relabelled_namespace_is_sent_again_and_a_new_cluster_gets_it() -> None:
    world = World()
    world.put(namespace())
    settle(world, lambda: planned(world, ["m1"]))
    world.put(namespace(team="b"))
    assert settle(world, lambda: planned(world, ["m1", "m2"])) == 2
    for work in world.all("Work"):
        [manifest] = work["spec"]["workload"]["manifests"]
        assert manifest["metadata"]["labels"]["team"] == "b"


def test_what_others_put_on_a_work_stays() -> None:
    world = World()
    world.put(namespace())
    settle(world, lambda: planned(world, ["m1"]))
    [work] = world.all("Work")
    metadata = {**work["metadata"], "annotations": {"note": "x"}}
    world.put({**work, "metadata": metadata, "spec": {**work["spec"], "suspendDispatching": True}})
    world.put(namespace(team="b"))
    settle(world, lambda: planned(world, ["m1"]))
    [work] = world.all("Work")
    assert work["metadata"]["annotations"]["note"] == "x"
    assert work["spec"]["suspendDispatching"] is True


def test_a_namespace_that_is_gone_takes_its_works_along() -> None:
    world = World()
    world.put(namespace())
    settle(world, lambda: planned(world, ["m1"]))
    world.remove(SHOP)
    settle(world, lambda: planned(world, ["m1"]))
    [work] = world.all("Work")
    assert work["metadata"]["deletionTimestamp"]


def test_a_work_of_a_former_namespace_of_this_name_is_left_to_end() -> None:
    world = World()
    world.put(namespace())
    settle(world, lambda: planned(world, ["m1"]))
    world.remove(SHOP)
    world.put(namespace(team="new"))
    waiting = planned(world, ["m1"])
    assert waiting.actions == ()
    assert waiting.again_in is not None


def test_a_work_that_goes_is_not_written_to() -> None:
    world = World()
    world.put(namespace())
    settle(world, lambda: planned(world, ["m1"]))
    world.remove(Ref.of(world.all("Work")[0]))
    world.put(namespace(team="new"))
    assert planned(world, ["m1"]).actions == ()


def test_a_cluster_that_leaves_gets_no_new_work() -> None:
    seen = SeenNamespace(namespace(), Cluster(name="m1", deleting=True), MEANS)
    assert namespacing.plan(seen).actions == ()


def only(policy: Wire) -> Policies:
    decoded = [policy_dialect.decode_override(policy)]
    return lambda _: decoded


def override(path: str) -> Wire:
    overriders = {"plaintext": [{"path": path, "operator": "add", "value": "x"}]}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterOverridePolicy",
        "metadata": {"name": "tiers"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "Namespace"}],
            "overrideRules": [{"overriders": overriders}],
        },
    }


def test_cluster_wide_overrides_apply_and_are_told_on_the_work() -> None:
    world = World()
    world.put(namespace(team="a"))
    policies = only(override("/metadata/labels/tier"))
    settle(world, lambda: planned(world, ["m1"], policies))
    [work] = world.all("Work")
    [manifest] = work["spec"]["workload"]["manifests"]
    assert manifest["metadata"]["labels"]["tier"] == "x"
    assert "tiers" in work["metadata"]["annotations"][names.APPLIED_CLUSTER_OVERRIDES]
    settle(world, lambda: planned(world, ["m1"]))
    [work] = world.all("Work")
    assert names.APPLIED_CLUSTER_OVERRIDES not in work["metadata"]["annotations"]


def test_an_override_that_cannot_be_is_told_on_the_namespace() -> None:
    world = World()
    world.put(namespace())
    policies = only(override("/nowhere/at/all"))
    [told] = planned(world, ["m1"], policies).actions
    assert isinstance(told, Tell)
    assert told.reason == "SyncWorkFailed"
    assert "/nowhere/at/all" in told.message


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["m1", "m2", "m3"]), unique=True),
    st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"])),
    st.lists(st.integers(0, 3), max_size=4),
)
def test_stopped_anywhere_every_cluster_ends_with_the_same_work(
    clusters: list[str], labels: dict[str, str], stops: list[int]
) -> None:
    worlds = [World(), World()]
    for world in worlds:
        made = namespace(**labels)
        world.put({**made, "metadata": {**made["metadata"], "uid": "u"}})
    settle(worlds[0], lambda: planned(worlds[0], clusters))
    stumble(worlds[1], lambda: planned(worlds[1], clusters[::-1]), stops)
    settle(worlds[1], lambda: planned(worlds[1], clusters))
    assert worlds[0].contents() == worlds[1].contents()
    assert len(worlds[0].all("Work")) == len(clusters)
