"""What happens when a policy goes, and whom its changes wake."""

import pytest
from detection_world import CLAIMS, World, make_policy, make_template, read

from atoll.control.policies.decide import claimed_by, wakes
from atoll.dialects.karmada import names
from atoll.model.action import NOTHING, Ref, Update
from atoll.model.policy_index import PolicyIndex
from atoll.wire import Object

API = "policy.karmada.io/v1alpha1"
POLICY = Ref(API, "PropagationPolicy", "shop", "p")
CLUSTER_POLICY = Ref(API, "ClusterPropagationPolicy", "", "p")


@pytest.mark.parametrize("ref", [POLICY, CLUSTER_POLICY], ids=["policy", "cluster-policy"])
def test_a_policy_goes_after_it_let_go_of_everything(ref: Ref) -> None:
    templates = [make_template(name) for name in ("web", "api")]
    world = World(*templates, make_policy("p", namespace=ref.namespace)).settle()
    world.delete(ref)
    updates = [each.object for each in world.plan(ref).actions if isinstance(each, Update)]
    assert [each["kind"] for each in updates] == [
        *("ResourceBinding", "ResourceBinding", "Deployment", "Deployment", ref.kind)
    ]
    world.perform(world.plan(ref).actions)
    assert ref not in world.objects
    assert [world.claims(Ref.of(each)) for each in templates] == [(None, None)] * 2


def test_a_policy_that_stays_has_nothing_to_do() -> None:
    world = World(make_template(), make_policy("p")).settle()
    assert world.plan(POLICY) == NOTHING
    assert World().plan(POLICY) == NOTHING


def test_the_finalizers_of_others_stay() -> None:
    policy = make_policy("p")
    policy["metadata"]["finalizers"] += ["example.org/other"]
    world = World(policy)
    world.delete(POLICY)
    world.settle()
    assert world.objects[POLICY]["metadata"]["finalizers"] == ["example.org/other"]
    assert world.plan(POLICY) == NOTHING


def test_a_policy_lets_go_only_of_what_is_its_own() -> None:
    mine, theirs = make_policy("p", uid="new"), make_policy("p", uid="old")
    world = World(make_template(), theirs).settle()
    assert not claimed_by(read(mine), world.objects.values(), CLAIMS)
    assert len(claimed_by(read(theirs), world.objects.values(), CLAIMS)) == 2
    world.put(mine)
    world.delete(POLICY)
    world.perform(world.plan(POLICY).actions)
    labels = world.objects[Ref("apps/v1", "Deployment", "shop", "web")]["metadata"]["labels"]
    assert labels[names.POLICY_ID] == "old"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, make_policy("p", {"name": "web"}), ["web"], id="came"),
        pytest.param(make_policy("p", {"name": "api"}), None, ["api", "held"], id="went"),
        pytest.param(
            make_policy("p", {"name": "web"}),
            make_policy("p", {"name": "api"}),
            ["api", "held", "web"],
            id="before-and-after",
        ),
    ],
)
def test_whom_a_change_wakes(old: Object | None, new: Object | None, expected: list[str]) -> None:
    held = make_template("held")
    held["metadata"]["labels"] = {names.POLICY_ID: "id-p"} if old else {}
    held["metadata"]["annotations"] = {names.POLICY_NAMESPACE: "shop", names.POLICY_NAME: "p"}
    templates = [held, *(make_template(name) for name in ("web", "api", "db"))]
    versions = [None if each is None else read(each) for each in (old, new)]
    assert sorted(each.name for each in wakes(versions, templates, CLAIMS)) == expected


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        pytest.param(Ref(API, "OverridePolicy", "shop", "o"), ["ours"], id="namespaced"),
        pytest.param(Ref(API, "OverridePolicy", "bank", "o"), [], id="another-namespace"),
        pytest.param(Ref(API, "OverridePolicy", "shop", "z"), [], id="another-name"),
        pytest.param(Ref(API, "ClusterOverridePolicy", "", "o"), ["wide"], id="cluster-wide"),
    ],
)
def test_who_waits_for_an_override(override: Ref, expected: list[str]) -> None:
    policies = [
        make_policy("ours", dependentOverrides=["o"]),
        make_policy("wide", namespace="", dependentOverrides=["o"]),
        make_policy("free"),
    ]
    index = PolicyIndex()
    for each in policies:
        index.changed(None, read(each))
    assert [each.meta.name for each in index.waiting_for(override)] == expected
    for each in policies:
        fresh = make_policy(each["metadata"]["name"], namespace=Ref.of(each).namespace)
        index.changed(read(each), read(fresh))
    assert not index.waiting_for(override)
