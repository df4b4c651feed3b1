"""The taints of clusters: by condition, by policies, and never those of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import World, settle, stumble

from atoll.control.taints.decide import SeenCluster, plan
from atoll.dialects.karmada.objects import members, policies
from atoll.model.action import NOTHING, Ref, Tell, Update

NOW, LATER = 1767225600.0, 1767225660.0
ADDED = "2026-01-01T00:00:00Z"
NOT_READY = {
    "key": "cluster.karmada.io/not-ready",
    "effect": "NoSchedule",
    "timeAdded": ADDED,
}
UNREACHABLE = {**NOT_READY, "key": "cluster.karmada.io/unreachable"}
USERS = {"key": "mine", "value": "own", "effect": "NoExecute", "timeAdded": "2025-01-01T00:00:00Z"}
CORDON = {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}


def conditions(**statuses):
    return [{"type": kind, "status": status} for kind, status in statuses.items()]


def cluster(*taints, found=(), **metadata):
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "m1", "labels": {"tier": "gold"}, **metadata},
        "spec": {"syncMode": "Push", "region": "eu", **({"taints": [*taints]} if taints else {})},
        "status": {"conditions": [*found]},
    }


def asked(kind, operator, *values):
    return {"conditionType": kind, "operator": operator, "statusValues": [*values]}


def policy(name="p", *taints, add=(), remove=(), made="2025-06-01T00:00:00Z", **spec):
    named = taints or ({"key": "failed", "effect": "NoExecute"},)
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": name, "creationTimestamp": made},
        "spec": {
            "taints": [*named],
            "addOnConditions": [*add],
            "removeOnConditions": [*remove],
            **spec,
        },
    }


def taints_after(wire, *written, now=NOW):
    """The taints once there is nothing left to do, and that one write is enough for it."""
    known = tuple(map(policies.decode_tainting, written))
    planned = plan(SeenCluster(members.decode(wire), known), now)
    writes = [each.object for each in planned.actions if isinstance(each, Update)]
    assert len(writes) <= 1
    after = writes[0] if writes else wire
    assert plan(SeenCluster(members.decode(after), known), LATER) == NOTHING
    return after["spec"].get("taints", [])


FAILED = {"key": "failed", "effect": "NoExecute", "timeAdded": ADDED}
DOWN = [asked("Ready", "NotIn", "True")]
UP = [asked("Ready", "In", "True")]


@pytest.mark.parametrize(
    ("found", "before", "after"),
    [
        pytest.param(conditions(Ready="False"), [], [NOT_READY], id="not ready"),
        pytest.param(conditions(Ready="Unknown"), [], [UNREACHABLE], id="unknown"),
        pytest.param([], [], [NOT_READY], id="nothing known yet"),
        pytest.param([], [UNREACHABLE], [UNREACHABLE, NOT_READY], id="nothing known any more"),
        pytest.param(conditions(Ready="True"), [NOT_READY, UNREACHABLE], [], id="ready"),
        pytest.param(conditions(Ready="True"), [USERS, CORDON], [USERS, CORDON], id="users'"),
        pytest.param(conditions(Ready="Unknown"), [USERS, NOT_READY], [USERS, UNREACHABLE], id="x"),
        pytest.param(conditions(Ready="False"), [UNREACHABLE, USERS], [USERS, NOT_READY], id="y"),
        pytest.param(
            conditions(Ready="True"),
            [{**NOT_READY, "effect": "NoExecute"}],
            [{**NOT_READY, "effect": "NoExecute"}],
            id="of the same key, but evicting",
        ),
    ],
)
def test_a_cluster_has_the_taint_of_its_condition_and_all_that_others_gave_it(found, before, after):
    assert taints_after(cluster(*before, found=found)) == after


def test_a_taint_that_is_there_keeps_the_time_since_which_it_counts():
    old = {**NOT_READY, "timeAdded": "2025-12-31T00:00:00Z"}
    assert taints_after(cluster(old, found=conditions(Ready="False"))) == [old]


def test_what_was_changed_is_told_as_karmada_tells_it():
    planned = plan(
        SeenCluster(members.decode(cluster(USERS, found=conditions(Ready="False")))), NOW
    )
    (told,) = (each for each in planned.actions if isinstance(each, Tell))
    assert told.reason == "TaintClusterSucceed"
    assert told.message == (
        "Taint cluster succeed: cluster now has taints([{Key:mine,Value:own,Effect:NoExecute},"
        "{Key:cluster.karmada.io/not-ready,Effect:NoSchedule}])."
    )
    planned = plan(
        SeenCluster(members.decode(cluster(NOT_READY, found=conditions(Ready="True")))), NOW
    )
    assert planned.actions[-1].message == "Taint cluster succeed: cluster now does not have taints."


def test_a_cluster_that_goes_is_left_alone():
    going = cluster(found=conditions(Ready="False"), deletionTimestamp=ADDED)
    assert (
        plan(SeenCluster(members.decode(going), [policies.decode_tainting(policy(add=DOWN))]), NOW)
        == NOTHING
    )


READY_SLOW = conditions(Ready="True", Slow="True")


@pytest.mark.parametrize(
    ("asks", "is_added"),
    [
        pytest.param([], False, id="nothing is asked"),
        pytest.param([asked("Slow", "In", "True")], True, id="it is so"),
        pytest.param([asked("Slow", "In", "False", "Unknown")], False, id="it is otherwise"),
        pytest.param([asked("Slow", "NotIn", "False")], True, id="it is not so"),
        pytest.param([asked("Slow", "NotIn", "True")], False, id="it is not otherwise"),
        pytest.param([asked("Gone", "NotIn", "True")], False, id="it is not known"),
        pytest.param([asked("Gone", "In")], False, id="it is not known, and nothing would do"),
        pytest.param([asked("Slow", "NotIn")], True, id="nothing is excluded"),
        pytest.param([*UP, asked("Slow", "In", "True")], True, id="both are so"),
        pytest.param([*UP, asked("Slow", "In", "False")], False, id="one of both is so"),
    ],
)
def test_taints_are_added_where_all_that_is_asked_holds(asks, is_added):
    added = taints_after(cluster(found=READY_SLOW), policy(add=asks))
    assert added == ([FAILED] if is_added else [])
    removed = taints_after(cluster(FAILED, USERS, found=READY_SLOW), policy(remove=asks))
    assert removed == ([USERS] if is_added else [FAILED, USERS])


def test_where_adding_and_removing_are_both_asked_for_the_taint_goes():
    both = policy(add=UP, remove=UP)
    assert taints_after(cluster(found=READY_SLOW), both) == []
    assert taints_after(cluster(FAILED, found=READY_SLOW), both) == []


@pytest.mark.parametrize(
    ("target", "is_meant"),
    [
        pytest.param({}, True, id="any"),
        pytest.param({"clusterNames": ["m1"]}, True, id="by name"),
        pytest.param({"clusterNames": ["m2"]}, False, id="another name"),
        pytest.param({"exclude": ["m1"]}, False, id="excluded"),
        pytest.param({"labelSelector": {"matchLabels": {"tier": "gold"}}}, True, id="by label"),
        pytest.param({"labelSelector": {"matchLabels": {"tier": "iron"}}}, False, id="no label"),
        pytest.param({"labelSelector": {"matchLabels": "gold"}}, False, id="unreadable"),
    ],
)
def test_a_policy_is_for_the_clusters_that_it_means(target, is_meant):
    found = taints_after(cluster(found=READY_SLOW), policy(add=UP, targetClusters=target))
    assert found == ([FAILED] if is_meant else [])


def test_a_policy_that_is_gone_or_means_the_cluster_no_more_leaves_its_taints_behind():
    tainted = cluster(FAILED, found=conditions(Ready="True"))
    elsewhere = policy(remove=UP, targetClusters={"clusterNames": ["m2"]})
    assert taints_after(tainted) == [FAILED]
    assert taints_after(tainted, elsewhere) == [FAILED]


def test_of_several_policies_the_youngest_has_the_last_word_whatever_their_order():
    old = policy("z", add=UP, made="2025-01-01T00:00:00Z")
    young = policy("a", remove=UP, made="2025-02-01T00:00:00Z")
    for both in ([old, young], [young, old]):
        assert taints_after(cluster(found=READY_SLOW), *both) == []
    old["spec"], young["spec"] = young["spec"], old["spec"]
    for both in ([old, young], [young, old]):
        assert taints_after(cluster(found=READY_SLOW), *both) == [FAILED]
        assert taints_after(cluster(FAILED, USERS, found=READY_SLOW), *both) == [FAILED, USERS]


def test_a_policy_that_asks_for_what_no_cluster_may_have_does_not_keep_others_from_theirs():
    odd = policy("odd", {"key": "a b", "effect": "NoExecute"}, add=UP)
    assert taints_after(cluster(found=READY_SLOW), odd, policy(add=UP)) == [FAILED]


MARKS = st.sampled_from([(key, effect) for key in "ab" for effect in ("NoSchedule", "NoExecute")])
TAINTS = st.lists(MARKS, min_size=1, max_size=3, unique=True).map(
    lambda marks: [{"key": key, "effect": effect} for key, effect in marks]
)
ASKS = st.lists(
    st.builds(
        asked,
        st.sampled_from(["Ready", "Slow"]),
        st.sampled_from(["In", "NotIn"]),
        st.sampled_from(["True", "False", "Unknown"]),
    ),
    max_size=2,
)
POLICIES = st.lists(
    st.tuples(TAINTS, ASKS, ASKS).map(lambda one: policy("", *one[0], add=one[1], remove=one[2])),
    max_size=3,
).map(
    lambda each: [
        {**one, "metadata": {**one["metadata"], "name": str(at)}} for at, one in enumerate(each)
    ]
)
STATES = st.lists(
    st.dictionaries(
        st.sampled_from(["Ready", "Slow"]), st.sampled_from(["True", "False", "Unknown"])
    ),
    min_size=1,
    max_size=3,
)
REF = Ref.of(cluster())


@given(POLICIES, STATES, st.lists(st.integers(0, 2), max_size=4), st.randoms())
def test_interrupted_anywhere_and_in_any_order_the_same_taints_come_of_it(
    written, states, stops, rng
):
    read = list(map(policies.decode_tainting, written))
    shuffled = list(read)
    rng.shuffle(shuffled)
    worlds = [(World(), read), (World(), shuffled)]
    for at, state in enumerate(states):
        for world, known in worlds:
            there = world.get(REF) or cluster(USERS)
            world.put({**there, "status": {"conditions": conditions(**state)}})

            def planned(world=world, known=known, now=NOW + 60 * at):
                return plan(SeenCluster(members.decode(world.get(REF)), known), now)

            if known is shuffled:
                stumble(world, planned, stops)
            settle(world, planned)
            assert USERS in world.get(REF)["spec"]["taints"]
        assert worlds[0][0].contents() == worlds[1][0].contents()
