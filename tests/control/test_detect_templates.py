"""Stories of one template: whose it is, and what its binding says."""

from collections.abc import Callable
from typing import Any

import pytest
from detection_world import CLAIMS, WEB, World, make_policy, make_template, policy_ref

from atoll.control.detector.decide.binding import BUILT_FROM, Interpreted
from atoll.dialects.karmada import names
from atoll.model.action import NOTHING, Create, Ref, Tell, Update
from atoll.scheduling.features import Features

PREEMPTING = Features(PropagationPolicyPreemption=True)
ALWAYS: dict[str, Any] = {"preemption": "Always"}


@pytest.mark.parametrize(
    ("policies", "winner"),
    [
        pytest.param([], None, id="none"),
        pytest.param([make_policy("b"), make_policy("a")], "a", id="the-earlier-name"),
        pytest.param([make_policy("a"), make_policy("b", priority=1)], "b", id="the-higher"),
        pytest.param([make_policy("a", priority=-1), make_policy("b")], "b", id="below-nought"),
        pytest.param([make_policy("a"), make_policy("b", {"name": "web"})], "b", id="the-closer"),
        pytest.param(
            [make_policy("a", priority=1), make_policy("b", {"name": "web"})],
            "a",
            id="priority-before-closeness",
        ),
        pytest.param(
            [make_policy("a", {"name": "web"}, namespace="", priority=9), make_policy("b")],
            "b",
            id="a-policy-of-the-namespace-before-any-cluster-policy",
        ),
        pytest.param([make_policy("a", namespace="")], "a", id="a-cluster-policy"),
        pytest.param([make_policy("a", namespace="bank")], None, id="of-another-namespace"),
    ],
)
def test_a_new_template_goes_to_the_best_policy(
    policies: list[dict[str, Any]], winner: str | None
) -> None:
    world = World(make_template(), *policies).settle()
    assert world.claims(WEB) == (winner, winner)


def test_a_better_policy_that_comes_later_does_not_move_what_runs() -> None:
    world = World(make_template(), make_policy("first", namespace="")).settle()
    world.put(make_policy("second", {"name": "web"}, priority=100, **ALWAYS))
    assert world.settle().claims(WEB) == ("first", "first")


@pytest.mark.parametrize(
    ("holder", "challenger", "winner"),
    [
        pytest.param(
            make_policy("a"), make_policy("b", {"name": "web"}, priority=1, **ALWAYS), "b", id="up"
        ),
        pytest.param(
            make_policy("a"), make_policy("b", {"name": "web"}, **ALWAYS), "a", id="not-an-equal"
        ),
        pytest.param(
            make_policy("a"), make_policy("b", {"name": "web"}, priority=1), "a", id="not-asked-to"
        ),
        pytest.param(
            make_policy("a", namespace="", priority=9),
            make_policy("b", {"name": "web"}, **ALWAYS),
            "b",
            id="any-cluster-policy",
        ),
        pytest.param(
            make_policy("a"),
            make_policy("b", {"name": "web"}, namespace="", priority=9, **ALWAYS),
            "a",
            id="not-from-the-namespace",
        ),
        pytest.param(
            make_policy("a"),
            make_policy("b", {"name": "web"}, priority=1, dependentOverrides=["o"], **ALWAYS),
            "a",
            id="not-before-its-overrides-exist",
        ),
    ],
)
def test_preemption(holder: dict[str, Any], challenger: dict[str, Any], winner: str) -> None:
    world = World(make_template(), holder, features=PREEMPTING).settle()
    world.put(challenger)
    assert world.settle().claims(WEB) == (winner, winner)
    assert ("PreemptPolicySucceed" in world.told) is (winner == "b")
    binding = world.binding(WEB)
    assert binding
    assert binding["spec"]["placement"] == {"by": winner}


def test_a_policy_that_sinks_in_priority_is_preempted_then() -> None:
    low = make_policy("low", {"name": "web"}, priority=3, **ALWAYS)
    world = World(make_template(), make_policy("high", priority=5), features=PREEMPTING).settle()
    world.put(low)
    assert world.settle().claims(WEB) == ("high", "high")
    world.change(policy_ref("high"), priority=2)
    assert world.settle().claims(WEB) == ("low", "low")


def test_two_policies_that_fight_do_not_pass_a_template_to_and_fro() -> None:
    fighting = [make_policy(name, {"name": "web"}, priority=7, **ALWAYS) for name in "ab"]
    world = World(make_template(), *fighting, features=PREEMPTING).settle()
    writes = len(world.writes)
    assert writes == 2, "one claim, one binding"
    for name in "ba":
        world.change(policy_ref(name), touched=name)
        world.settle()
    assert len(world.writes) == writes
    assert world.claims(WEB) == ("a", "a")


def narrow(world: World) -> None:
    world.change(policy_ref("p"), resourceSelectors=[])


def relabel(world: World) -> None:
    template = world.objects[WEB]
    labels = {**template["metadata"]["labels"], "tier": "back"}
    world.put({**template, "metadata": {**template["metadata"], "labels": labels}})


def delete(world: World) -> None:
    world.delete(policy_ref("p"))


def lose(world: World) -> None:
    del world.objects[policy_ref("p")]


ENDS = [
    pytest.param(narrow, id="selector-narrowed"),
    pytest.param(relabel, id="template-relabelled"),
    pytest.param(delete, id="policy-deleted"),
    pytest.param(lose, id="policy-gone-unseen"),
]
FRONT = {"labelSelector": {"matchLabels": {"tier": "front"}}}


@pytest.mark.parametrize("end", ENDS)
def test_a_template_let_go_keeps_its_binding(end: Callable[[World], None]) -> None:
    world = World(make_template(tier="front"), make_policy("p", FRONT)).settle()
    before = world.binding(WEB)
    end(world)
    world.settle()
    assert world.claims(WEB) == (None, None)
    after = world.binding(WEB)
    assert before
    assert after
    assert after["spec"] == before["spec"]


@pytest.mark.parametrize("end", ENDS)
def test_a_template_let_go_finds_the_next_policy(end: Callable[[World], None]) -> None:
    spare = make_policy("spare", namespace="")
    world = World(make_template(tier="front"), make_policy("p", FRONT), spare).settle()
    end(world)
    world.settle()
    assert world.claims(WEB) == ("spare", "spare")
    binding = world.binding(WEB)
    assert binding
    assert binding["spec"]["placement"] == {"by": "spare"}
    assert names.POLICY_ID not in binding["metadata"]["labels"]


def test_a_policy_made_anew_under_its_name_claims_anew() -> None:
    world = World(make_template(), make_policy("p", uid="one")).settle()
    world.put(make_policy("p", uid="two"))
    world.settle()
    labels = [each["metadata"]["labels"] for each in (world.objects[WEB], world.binding(WEB) or {})]
    assert [each[names.POLICY_ID] for each in labels] == ["two", "two"]


def test_a_cluster_scoped_template_gets_a_cluster_binding() -> None:
    role = {"apiVersion": "rbac/v1", "kind": "ClusterRole"}
    template = make_template("system:admin", namespace="")
    world = World(template, make_policy("p", role, namespace="")).settle()
    binding = world.binding(Ref.of(template))
    assert binding
    assert binding["kind"] == "ClusterResourceBinding"
    assert binding["metadata"]["name"] == "system.admin-clusterrole"
    assert binding["metadata"]["finalizers"] == [names.CLUSTER_BINDING_FINALIZER]
    assert "namespace" not in binding["spec"]["resource"]


def test_what_a_binding_says() -> None:
    terms = {name: {"groupByLabelKey": name} for name in ("affinity", "antiAffinity")}
    policy = make_policy(
        "p",
        placement={"clusterAffinity": {"clusterNames": ["m1"]}, "workloadAffinity": terms},
        atoll={"selection": {"count": 1}},
        propagateDeps=True,
        conflictResolution="Overwrite",
        preserveResourcesOnDeletion=False,
        failover={"cluster": {"purgeMode": "Directly"}},
        schedulePriority={"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"},
        suspension={"dispatching": True},
    )
    world = World(
        make_template(affinity="x"),
        policy,
        features=Features(PriorityBasedScheduling=True, WorkloadAffinity=True),
    )
    world.interpreted = Interpreted(2, {"resourceRequest": {"cpu": "1"}}, ({"name": "main"},))
    world.priorities = {"high": 1000}
    world.settle()
    binding = world.binding(WEB)
    assert binding
    assert binding["metadata"] == {
        "name": "web-deployment",
        "namespace": "shop",
        "labels": {names.POLICY_ID: "id-p", names.BINDING_ID: "new"},
        "annotations": {
            names.POLICY_NAMESPACE: "shop",
            names.POLICY_NAME: "p",
            BUILT_FROM: CLAIMS.digest(world.objects[WEB]),
        },
        "finalizers": [names.BINDING_FINALIZER],
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
                "uid": "uid-web",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "resourceVersion": "4",
    }
    assert binding["spec"] == {
        "resource": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "shop",
            "name": "web",
            "uid": "uid-web",
            "resourceVersion": "1",
        },
        "placement": policy["spec"]["placement"],
        "atoll": {"selection": {"count": 1}},
        "propagateDeps": True,
        "schedulerName": "default-scheduler",
        "conflictResolution": "Overwrite",
        "preserveResourcesOnDeletion": False,
        "failover": {"cluster": {"purgeMode": "Directly"}},
        "schedulePriority": {"priority": 1000},
        "suspension": {"dispatching": True},
        "workloadAffinityGroups": {"affinityGroup": "affinity=x"},
        "replicas": 2,
        "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
        "components": [{"name": "main"}],
    }


@pytest.mark.parametrize(
    ("replicas", "said"),
    [
        pytest.param(3, 3, id="some"),
        pytest.param(0, 0, id="none-for-now"),
        pytest.param(None, None, id="no-workload"),
    ],
)
def test_a_workload_without_replicas_is_told_from_what_has_none(
    replicas: int | None, said: int | None
) -> None:
    world = World(make_template(), make_policy("p"))
    world.interpreted = Interpreted(replicas)
    binding = world.settle().binding(WEB)
    assert binding is not None
    assert binding["spec"].get("replicas") == said


def test_what_others_wrote_on_a_binding_stays() -> None:
    world = World(make_template(), make_policy("p", suspension={"dispatching": True})).settle()
    old = world.binding(WEB)
    assert old
    theirs = {
        "clusters": [{"name": "m1", "replicas": 2}],
        "gracefulEvictionTasks": [{"fromCluster": "m2"}],
        "requiredBy": [{"name": "other"}],
        "suspension": {"dispatching": True, "scheduling": True},
    }
    labels = {**old["metadata"]["labels"], "their": "label"}
    finalizers = [*old["metadata"]["finalizers"], names.DEPENDENCIES_FINALIZER]
    metadata = {**old["metadata"], "labels": labels, "finalizers": finalizers}
    world.put({**old, "metadata": metadata, "spec": {**old["spec"], **theirs}})
    writes = len(world.writes)
    assert len(world.settle().writes) == writes

    world.change(policy_ref("p"), placement={"by": "another"}, suspension=None)
    world.settle()
    new = world.binding(WEB)
    assert new
    assert new["spec"] == {
        **old["spec"],
        **theirs,
        "placement": {"by": "another"},
        "suspension": {"scheduling": True},
    }
    assert new["metadata"]["labels"] == labels
    assert new["metadata"]["finalizers"] == finalizers


def test_a_binding_that_only_followed_another_is_taken_over() -> None:
    attached = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "shop"},
        "spec": {"requiredBy": [{"name": "other"}], "conflictResolution": "Overwrite"},
    }
    world = World(make_template(), attached, make_policy("p")).settle()
    binding = world.binding(WEB)
    assert binding
    assert binding["spec"]["requiredBy"] == [{"name": "other"}]
    assert binding["spec"]["conflictResolution"] == "Abort"
    assert world.claims(WEB) == ("p", "p")


def test_a_change_of_status_alone_writes_nothing_and_one_of_content_names_the_new_version() -> None:
    world = World(make_template(), make_policy("p")).settle()
    world.put({**world.objects[WEB], "status": {"readyReplicas": 2}})
    assert world.plan(WEB) == NOTHING

    world.change(WEB, image="b")
    version = world.objects[WEB]["metadata"]["resourceVersion"]
    world.settle()
    binding = world.binding(WEB)
    assert binding
    assert binding["spec"]["resource"]["resourceVersion"] == version


def test_first_the_claim_then_the_binding_then_the_news() -> None:
    world = World(make_template(), make_policy("p"))
    actions = world.plan(WEB).actions
    assert [type(each) for each in actions] == [Update, Create, Tell]


def test_a_template_on_its_way_out_is_left_alone() -> None:
    template = make_template()
    template["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world = World(template, make_policy("p"))
    assert world.plan(WEB) == NOTHING
    assert World(make_policy("p")).plan(WEB) == NOTHING


def check_refused(world: World, *words: str) -> None:
    told = [each for each in world.plan(WEB).actions if isinstance(each, Tell)]
    assert [each.reason for each in told] == ["ApplyPolicyFailed"]
    assert told[0].warning
    assert world.plan(WEB).again_in
    for word in words:
        assert word in told[0].message


def test_a_binding_of_an_earlier_template_is_waited_for() -> None:
    world = World(make_template(), make_policy("p")).settle()
    again = make_template()
    again["metadata"]["uid"] = "uid-again"
    world.put(again)
    world.settle()
    check_refused(world, "web-deployment", "uid-web", "policy shop/p")
    binding = world.binding(WEB)
    assert binding
    world.put({**binding, "metadata": {**binding["metadata"], "finalizers": []}})
    world.delete(Ref.of(binding))
    world.settle()
    assert world.claims(WEB) == ("p", "p")


def test_a_binding_on_its_way_out_is_not_written() -> None:
    world = World(make_template(), make_policy("p")).settle()
    world.delete(Ref.of(world.binding(WEB) or {}))
    world.change(WEB, image="b")
    assert world.plan(WEB) == NOTHING


def test_a_policy_waits_for_the_overrides_it_depends_on() -> None:
    world = World(make_template(), make_policy("p", dependentOverrides=["x", "y"]))
    world.overrides = frozenset({"y"})
    world.settle()
    check_refused(world, "OverridePolicy x, named in its dependentOverrides")
    assert world.claims(WEB) == (None, None)
    world.overrides = frozenset("xy")
    assert world.settle().claims(WEB) == ("p", "p")


def test_a_priority_class_that_does_not_exist_is_named() -> None:
    asked = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"}
    world = World(make_template(), make_policy("p", schedulePriority=asked))
    world.features = Features(PriorityBasedScheduling=True)
    world.settle()
    check_refused(world, "PriorityClass high")
    assert world.binding(WEB) is None


def test_a_template_that_cannot_be_interpreted_says_why() -> None:
    world = World(make_template(), make_policy("p"))
    world.interpreted = Interpreted(problem="the script did not end within a second")
    world.settle()
    check_refused(world, "the script did not end")
    assert world.binding(WEB) is None


@pytest.mark.parametrize(
    ("length", "fits"), [pytest.param(242, True, id="fits"), pytest.param(253, False, id="longest")]
)
def test_long_names(length: int, *, fits: bool) -> None:
    template = make_template("w" * length)
    world = World(template, make_policy("p"), make_template()).settle()
    assert (world.binding(Ref.of(template)) is not None) is fits
    assert world.claims(WEB) == ("p", "p"), "everything else goes on"
    told = [each for each in world.plan(Ref.of(template)).actions if isinstance(each, Tell)]
    assert [each.message for each in told] == (
        []
        if fits
        else [
            "policy shop/p cannot be applied: the name has 253 characters, and names derived from "
            "it may have 253; use one that is 11 shorter"
        ]
    )


def test_a_policy_on_its_way_out_claims_nothing_and_hands_over_at_once() -> None:
    world = World(make_template(), make_policy("p"), make_policy("q")).settle()
    world.delete(policy_ref("p"))
    world.perform(world.plan(WEB).actions)
    assert world.claims(WEB) == ("q", "q")

    world = World(make_template(), make_policy("p"))
    world.delete(policy_ref("p"))
    assert world.plan(WEB) == NOTHING


def test_a_template_let_go_belongs_to_nobody_while_its_next_policy_waits() -> None:
    waiting = make_policy("q", dependentOverrides=["o"])
    world = World(make_template(), make_policy("p"), waiting).settle()
    narrow(world)
    world.settle()
    check_refused(world, "policy shop/q waits for OverridePolicy o")
    assert world.claims(WEB) == (None, None)


def test_letting_go_does_not_write_a_binding_on_its_way_out() -> None:
    world = World(make_template(), make_policy("p")).settle()
    world.delete(Ref.of(world.binding(WEB) or {}))
    narrow(world)
    world.settle()
    assert world.claims(WEB) == (None, "p")


def test_letting_go_does_not_touch_the_binding_of_another_template() -> None:
    world = World(make_template(), make_policy("p")).settle()
    again = {**world.objects[WEB]["metadata"], "uid": "uid-again"}
    world.put({**world.objects[WEB], "metadata": again})
    narrow(world)
    world.settle()
    assert world.claims(WEB) == (None, "p")


def test_a_binding_that_somebody_pointed_elsewhere_is_put_right() -> None:
    world = World(make_template(), make_policy("p")).settle()
    binding = world.binding(WEB)
    assert binding
    world.change(Ref.of(binding), resource={**binding["spec"]["resource"], "name": "api"})
    world.settle()
    assert (world.binding(WEB) or {})["spec"]["resource"]["name"] == "web"
