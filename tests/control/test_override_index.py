"""Who overrides what in which cluster is found by what policies look at."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rendering_world import make_policy, sets

from atoll.control.works.concerned import overrides_otherwise
from atoll.control.works.decide.overriding.selecting import rules
from atoll.dialects.karmada.objects import members, policies
from atoll.model.member import Member
from atoll.model.override_index import OverrideIndex
from atoll.model.policy import LOCATION, OverridePolicy

MANY = 40
TARGETS: list[dict[str, Any]] = [
    {},
    {"clusterNames": ["m1"]},
    {"exclude": ["m1"]},
    {"labelSelector": {}},
    {"labelSelector": {"matchLabels": {"tier": "gold"}}},
    {"labelSelector": {"matchLabels": {"tier": "gold", "env": "prod"}}},
    {"labelSelector": {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]}},
    {
        "fieldSelector": {
            "matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]
        }
    },
    {"clusterNames": ["m1"], "labelSelector": {"matchLabels": {"env": "test"}}},
]


def policy(name: str, *targets: dict[str, Any]) -> OverridePolicy:
    wire = make_policy(name, *(sets("/spec/x", 1, **each) for each in targets))
    return policies.decode_override(wire)


def member(labels: dict[str, str], region: str = "eu", **spec: Any) -> Member:
    return members.decode(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": "m1", "labels": labels},
            "spec": {"syncMode": "Push", "region": region, **spec},
        }
    )


def of(*known: OverridePolicy) -> OverrideIndex:
    index = OverrideIndex()
    for each in known:
        index.changed(None, each)
    return index


found = st.builds(
    lambda name, targets: policy(name, *targets),
    st.sampled_from("pqrs"),
    st.lists(st.sampled_from(TARGETS), max_size=2),
)
clusters = st.builds(
    member,
    st.dictionaries(st.sampled_from(["tier", "env"]), st.sampled_from(["gold", "prod", "test"])),
    st.sampled_from(["eu", "us"]),
)


@given(st.lists(found, max_size=8), clusters, clusters)
def test_no_policy_that_comes_or_ceases_to_be_for_a_cluster_is_overlooked(
    history: list[OverridePolicy], before: Member, after: Member
) -> None:
    index, there = OverrideIndex(), dict[str, OverridePolicy]()
    for each in history:
        index.changed(there.get(each.ref.name), each)
        there[each.ref.name] = each
    old, new = before.cluster(), after.cluster()
    otherwise = [
        name
        for name, each in there.items()
        if [each.path for each in rules(each, old)] != [each.path for each in rules(each, new)]
    ]
    told = overrides_otherwise(index, before, after)
    assert sorted(each.ref.name for each in told) == sorted(otherwise)
    for each in there.values():
        index.changed(each, None)
    assert overrides_otherwise(index, before, after) == []


def test_of_many_policies_those_are_looked_at_that_ask_for_what_changed() -> None:
    index = of(
        *(
            policy(f"p-{nth}", {"labelSelector": {"matchLabels": {f"for-{nth}": "yes"}}})
            for nth in range(MANY)
        ),
        policy("where", TARGETS[7]),
    )
    assert [each.ref.name for each in index.looking_at(["for-7"])] == ["p-7"]
    assert [each.ref.name for each in index.looking_at([LOCATION])] == ["where"]
    assert index.looking_at(["bench"]) == []


def test_when_a_cluster_cannot_be_read_all_are_looked_at() -> None:
    index = of(policy("p", TARGETS[4]), policy("q"))
    unread = member({}, taints="none")
    assert overrides_otherwise(index, unread, member({})) == list(index)
    assert overrides_otherwise(index, member({}), unread) == list(index)
