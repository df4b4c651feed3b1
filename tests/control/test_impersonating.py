"""Who may go through the plane to a cluster, and what the member is told about it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.control.access.decide import SeenAccess, plan
from atoll.dialects.karmada.objects import members, works
from atoll.dialects.karmada.proxy_access import Subjects, let_through, rules_for
from atoll.model.action import NOTHING, Create, Update
from atoll.model.member import Member
from atoll.wire import Wire

USER: Wire = {"kind": "User", "name": "jane"}
GROUP: Wire = {"kind": "Group", "name": "ops"}
ACCOUNT: Wire = {"kind": "ServiceAccount", "namespace": "ci", "name": "robot"}
JANE = Subjects(users=frozenset({"jane"}))


def _role(name: str = "way", **rule: Any) -> Wire:
    whole = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], **rule}
    return {"metadata": {"name": name}, "rules": [{"verbs": ["*"], **whole}]}


def _binding(*subjects: Wire, role: str = "way", kind: str = "ClusterRole") -> Wire:
    return {"roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


def _cluster(**more: Any) -> Wire:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "m1", "uid": "u1", **more},
        "spec": {"impersonatorSecretRef": {"namespace": "karmada-cluster", "name": "m1-imp"}},
    }


def _member(**more: Any) -> Member:
    return members.decode(_cluster(**more))


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        pytest.param(_role(), JANE, id="all clusters"),
        pytest.param(_role(resourceNames=["m1"]), JANE, id="this cluster by name"),
        pytest.param(_role(resourceNames=["m2"]), Subjects(), id="another cluster"),
        pytest.param(_role(resources=["*"]), JANE, id="all resources"),
        pytest.param(_role(resources=["*/proxy"]), JANE, id="this subresource of all"),
        pytest.param(_role(resources=["clusters"]), Subjects(), id="the object, not the way"),
        pytest.param(_role(apiGroups=["*"]), JANE, id="all groups"),
        pytest.param(_role(apiGroups=["apps"]), Subjects(), id="another group"),
        pytest.param(
            _role(
                apiGroups=["search.karmada.io"], resources=["proxying/proxy"], resourceNames=["x"]
            ),
            JANE,
            id="the way to all clusters at once",
        ),
        pytest.param(_role(name="other"), Subjects(), id="a role that nobody has"),
    ],
)
def test_a_role_gives_the_way_to_a_cluster(role: Wire, expected: Subjects) -> None:
    assert let_through("m1", [role], [_binding(USER)]) == expected


def test_a_binding_to_a_role_of_a_namespace_gives_no_way() -> None:
    assert let_through("m1", [_role()], [_binding(USER, kind="Role")]) == Subjects()


def test_every_kind_of_subject_is_let_through() -> None:
    found = let_through("m1", [_role()], [_binding(USER, ACCOUNT), _binding(GROUP)])
    assert found == Subjects(frozenset({"jane"}), frozenset({"ops"}), frozenset({("ci", "robot")}))


@pytest.mark.parametrize(
    ("subjects", "expected"),
    [
        pytest.param(Subjects(), {}, id="nobody"),
        pytest.param(JANE, {"users": ["jane"]}, id="a user by name"),
        pytest.param(
            Subjects(frozenset({"jane"}), frozenset({"ops"})),
            {"users": None, "groups": ["ops"]},
            id="a group, whose members have any name",
        ),
        pytest.param(
            Subjects(accounts=frozenset({("ci", "robot")})),
            {
                "serviceaccounts": ["robot"],
                "groups": ["system:serviceaccounts", "system:serviceaccounts:ci"],
            },
            id="a service account, with the groups it is of",
        ),
    ],
)
def test_the_right_is_to_speak_for_these_and_nobody_else(
    subjects: Subjects, expected: dict[str, Any]
) -> None:
    rules = rules_for(subjects)
    assert {each["resources"][0]: each.get("resourceNames") for each in rules} == expected
    assert all(each["verbs"] == ["impersonate"] and each["apiGroups"] == [""] for each in rules)


def _carried_out(seen: SeenAccess, count: int | None = None) -> SeenAccess:
    """What is seen after so many actions of a plan, all by default."""
    known = {each.ref.name: each for each in seen.works}
    for action in plan(seen).actions[:count]:
        assert isinstance(action, Create | Update)
        known[action.object["metadata"]["name"]] = works.decode(action.object)
    return SeenAccess(
        seen.cluster, seen.roles, seen.bindings, tuple(known.values()), f"{seen.new_id}x"
    )


def test_a_cluster_gets_a_role_and_its_binding_as_works_that_go_with_it() -> None:
    seen = _carried_out(SeenAccess(_member(), [_role()], [_binding(USER)], new_id="id"))
    role, binding = (each.spec.manifests[0] for each in seen.works)
    assert role["rules"] == rules_for(JANE)
    assert role["metadata"]["name"] == binding["roleRef"]["name"] == "karmada-impersonator"
    assert binding["subjects"] == [
        {
            "kind": "ServiceAccount",
            "name": "karmada-impersonator",
            "namespace": "karmada-cluster",
        }
    ]
    for work in seen.works:
        assert work.cluster == "m1"
        assert [each.uid for each in work.meta.owners] == ["u1"]


@given(
    subjects=st.lists(st.sampled_from([USER, GROUP, ACCOUNT]), max_size=3),
    later=st.lists(st.sampled_from([USER, GROUP, ACCOUNT]), max_size=3),
    cut=st.integers(0, 2),
)
def test_interrupted_anywhere_it_reaches_the_same_end_and_stays_there(
    subjects: list[Wire], later: list[Wire], cut: int
) -> None:
    begun = SeenAccess(_member(), [_role()], [_binding(*subjects)], new_id="id")
    cut_short = _carried_out(begun, cut)
    seen = _carried_out(
        SeenAccess(_member(), [_role()], [_binding(*later)], cut_short.works, "other")
    )
    assert plan(seen) == NOTHING
    role = seen.works[0].spec.manifests[0]
    assert role["rules"] == rules_for(let_through("m1", [_role()], [_binding(*later)]))


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(_cluster(deletionTimestamp="2026-01-01T00:00:00Z"), id="leaving"),
        pytest.param({**_cluster(), "spec": {}}, id="without an impersonator"),
    ],
)
def test_some_clusters_are_left_alone(cluster: Wire) -> None:
    assert (
        plan(SeenAccess(members.decode(cluster), [_role()], [_binding(USER)], new_id="id"))
        == NOTHING
    )


def test_works_of_a_cluster_that_had_the_name_before_are_waited_for() -> None:
    seen = _carried_out(SeenAccess(_member(), [], [], new_id="id"))
    anew = SeenAccess(_member(uid="u2"), [], [], seen.works, "other")
    found = plan(anew)
    assert found.actions == ()
    assert found.again_in is not None
