"""From joining to leaving: what a Cluster gets in the plane, and what is said of its silence."""

from collections.abc import Iterable
from typing import Any

import pytest

from atoll.config import Times
from atoll.control.clusters.decide import News, SeenCluster, heard, may_move, plan
from atoll.dialects.karmada.cluster_access import secret_of, way
from atoll.dialects.karmada.objects import members, resource_bindings
from atoll.dialects.karmada.objects import works as work_dialect
from atoll.dialects.karmada.works import is_applied
from atoll.model.action import NOTHING, Create, Delete, Plan, Tell, Update
from atoll.model.member import Member
from atoll.model.work import Work
from atoll.wire import Object

NOW = 1_800_000_000.0
CREATED = "2027-01-15T08:00:00Z"  # that is NOW
TIMES = Times()
FINALIZER = "karmada.io/cluster-controller"
SPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "karmada-es-m1", "uid": "space-uid"},
}
READY = {"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "well"}


def cluster(mode: str = "Push", *conditions: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {
            "name": "m1",
            "uid": "cluster-uid",
            "creationTimestamp": CREATED,
            "finalizers": [FINALIZER],
            **metadata,
        },
        "spec": {"syncMode": mode},
        "status": {"conditions": list(conditions)},
    }


def seen(wire: dict[str, Any], space: dict[str, Any] | None = SPACE, **more: Any) -> SeenCluster:
    news = more.pop("news", News(None, "", NOW))
    return SeenCluster(cluster=members.decode(wire), space=space, news=news, **more)


def member(mode: str = "Push", *conditions: dict[str, Any]) -> Member:
    return members.decode(cluster(mode, *conditions))


def decoded(wires: Iterable[Object]) -> tuple[Work, ...]:
    return tuple(map(work_dialect.decode, wires))


def said(found: Plan) -> tuple[str, str] | None:
    """Status and reason of the condition that a plan writes."""
    for action in found.actions:
        if isinstance(action, Update) and action.subresource == "status":
            one = action.object["status"]["conditions"][0]
            return one["status"], one["reason"]
    return None


def test_a_new_cluster_gets_its_space_and_its_finalizer():
    space, told, held = plan(seen(cluster(finalizers=["mine"]), None), NOW, TIMES).actions
    assert isinstance(space, Create)
    assert space.object["metadata"] == {
        "name": "karmada-es-m1",
        "labels": {"karmada.io/system": "true"},
    }
    assert isinstance(told, Tell)
    assert told.reason == "CreateExecutionSpaceSucceed"
    assert isinstance(held, Update)
    assert held.object["metadata"]["finalizers"] == ["mine", FINALIZER]


def test_one_that_has_all_it_needs_is_left_alone():
    assert plan(seen(cluster("Push", READY)), NOW + 1e6, TIMES) == NOTHING


def test_a_cluster_that_cannot_be_reached_is_said_to_be_so_once():
    trouble = "Cluster m1 has no spec.apiEndpoint; join it again, or set it"
    found = plan(seen(cluster(), trouble=trouble), NOW, TIMES)
    assert said(found) == ("False", "StatusCollectionFailed")
    (update,) = found.actions
    assert isinstance(update, Update)
    assert update.object["status"]["conditions"][0]["message"] == trouble
    after = seen(dict(update.object), trouble=trouble)
    assert plan(after, NOW + 60, TIMES).actions == ()


SILENCES = [
    pytest.param("Push", None, 59, None, id="a new one has its time to begin"),
    pytest.param("Push", None, 60, "ClusterStatusNeverUpdated", id="but not for ever"),
    pytest.param("Pull", None, 60, "ClusterStatusNeverUpdated", id="nor has an agent"),
    pytest.param("Push", "True", 1e6, None, id="of one that is reached its status tells"),
    pytest.param("Pull", "True", 39, None, id="an agent may be silent for a while"),
    pytest.param("Pull", "True", 40, "ClusterStatusUnknown", id="and then nobody knows"),
    pytest.param("Pull", "False", 40, "ClusterStatusUnknown", id="also of one that was not ready"),
    pytest.param("Pull", "Unknown", 40, None, id="which is said once"),
]


@pytest.mark.parametrize(("mode", "ready", "silent_s", "reason"), SILENCES)
def test_of_a_silent_cluster_nobody_knows_whether_it_is_ready(mode, ready, silent_s, reason):
    conditions = [] if ready is None else [{**READY, "status": ready}]
    found = plan(seen(cluster(mode, *conditions)), NOW + silent_s, TIMES)
    assert said(found) == (None if reason is None else ("Unknown", reason))
    waits = reason is None and (ready is None or (mode == "Pull" and ready != "Unknown"))
    assert (found.again_in is not None) == waits


def lease(renewed: str) -> dict[str, Any]:
    return {"kind": "Lease", "metadata": {"name": "m1"}, "spec": {"renewTime": renewed}}


def test_a_changed_condition_and_a_renewed_lease_are_news():
    first = heard(None, member("Pull", READY), lease("2027-01-15T08:00:00.000000Z"), NOW)
    assert first.at == NOW
    same = heard(
        first,
        member("Pull", READY),
        lease("2027-01-15T08:00:00.000000Z"),
        NOW + 10,
    )
    assert same == first
    renewed = heard(same, member("Pull", READY), lease("2027-01-15T08:00:10.000000Z"), NOW + 10)
    assert renewed.at == NOW + 10
    older = heard(
        renewed,
        member("Pull", READY),
        lease("2027-01-15T08:00:05.000000Z"),
        NOW + 20,
    )
    assert older == renewed
    turned = heard(older, member("Pull", {**READY, "status": "False"}), None, NOW + 30)
    assert (turned.at, turned.renewed) == (NOW + 30, renewed.renewed)


def test_of_one_that_never_said_anything_time_counts_from_its_birth():
    assert heard(None, member(), None, NOW + 500).at == NOW
    assert heard(None, member("Push", READY), None, NOW + 500).at == NOW + 500


LEAVING = {"deletionTimestamp": CREATED}


def test_whoever_leaves_waits_until_what_runs_there_has_moved_but_not_for_ever():
    moving = seen(cluster("Push", READY, **LEAVING), is_needed=True)
    assert plan(moving, NOW + 100, TIMES) == Plan(again_in=500.0)
    (gone,) = plan(moving, NOW + 600, TIMES).actions
    assert isinstance(gone, Delete)
    assert (gone.ref.name, gone.uid) == ("karmada-es-m1", "space-uid")


def test_then_its_space_goes_and_last_the_finalizer():
    leaving = cluster("Push", READY, finalizers=["mine", FINALIZER], **LEAVING)
    (gone,) = plan(seen(leaving), NOW, TIMES).actions
    assert isinstance(gone, Delete)
    going = {**SPACE, "metadata": {**SPACE["metadata"], **LEAVING}}
    assert plan(seen(leaving, going), NOW, TIMES) == NOTHING
    told, ended = plan(seen(leaving, None), NOW, TIMES).actions
    assert isinstance(told, Tell)
    assert isinstance(ended, Update)
    assert ended.object["metadata"]["finalizers"] == ["mine"]
    assert plan(seen(dict(ended.object), None), NOW, TIMES) == NOTHING


def binding(targets: list[str], scheduled: str | None, **metadata: Any) -> dict[str, Any]:
    conditions = [] if scheduled is None else [{"type": "Scheduled", "status": scheduled}]
    return {
        "metadata": {"name": "b", **metadata},
        "spec": {"clusters": [{"name": each} for each in targets]},
        "status": {"conditions": conditions},
    }


@pytest.mark.parametrize(
    ("wire", "may"),
    [
        pytest.param(binding(["m1"], None), True, id="nobody has looked yet"),
        pytest.param(binding(["m1", "m2"], "True"), True, id="it was decided before"),
        pytest.param(binding(["m1"], "False"), False, id="there is no other place"),
        pytest.param(binding(["m2"], "True"), True, id="it is on its way"),
        pytest.param(binding(["m1"], "True", **LEAVING), False, id="it goes anyway"),
    ],
)
def test_what_runs_in_a_cluster_that_leaves_may_move(wire, may):
    assert may_move(resource_bindings.decode(wire), "m1") is may


def test_a_work_that_was_not_applied_holds_up_nothing():
    assert is_applied(
        work_dialect.decode({"status": {"conditions": [{"type": "Applied", "status": "True"}]}})
    )
    assert not is_applied(
        work_dialect.decode({"status": {"conditions": [{"type": "Applied", "status": "False"}]}})
    )
    assert not is_applied(work_dialect.decode({}))


@pytest.mark.parametrize(
    ("changed", "data", "same"),
    [
        pytest.param({"region": "there"}, {"token": "dA=="}, True, id="where it is"),
        pytest.param({"taints": [{"key": "k"}]}, {"token": "dA=="}, True, id="a taint"),
        pytest.param({"apiEndpoint": "https://b"}, {"token": "dA=="}, False, id="its address"),
        pytest.param({"proxyURL": "http://p"}, {"token": "dA=="}, False, id="a proxy"),
        pytest.param({"proxyHeader": {"A": "b"}}, {"token": "dA=="}, False, id="a header for it"),
        pytest.param({}, {"token": "dQ=="}, False, id="another token"),
        pytest.param({}, None, False, id="no Secret any more"),
    ],
)
def test_the_way_is_another_where_what_it_depends_on_changes(changed, data, same):
    before, after = cluster(), cluster()
    before["spec"] |= {"apiEndpoint": "https://a"}
    after["spec"] |= {"apiEndpoint": "https://a", **changed}
    secret = None if data is None else {"data": data}
    assert (way(before, {"data": {"token": "dA=="}}) == way(after, secret)) is same


def test_a_cluster_of_the_same_name_is_another_one():
    assert way(cluster(), None) != way(cluster(uid="another"), None)


def test_a_cluster_names_its_secret_or_none():
    wire = cluster()
    assert secret_of(wire) is None
    wire["spec"]["secretRef"] = {"namespace": "karmada-cluster", "name": "m1"}
    found = secret_of(wire)
    assert found is not None
    assert (found.kind, found.namespace, found.name) == ("Secret", "karmada-cluster", "m1")


def test_an_agent_takes_back_what_it_delivered_before_its_rights_go_with_the_space():
    def work(name: str, **more: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "karmada-es-m1", "uid": f"{name}-uid", **more}
        return {"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": metadata}

    leaving = cluster("Pull", READY, **LEAVING)
    works = (work("one"), work("two", **LEAVING))
    (taken,) = plan(seen(leaving, works=decoded(works)), NOW, TIMES).actions
    assert isinstance(taken, Delete)
    assert (taken.ref.name, taken.uid) == ("one", "one-uid")
    assert not plan(seen(leaving, works=decoded(works)[1:]), NOW, TIMES).actions
    (gone,) = plan(seen(leaving), NOW, TIMES).actions
    assert isinstance(gone, Delete)
    assert gone.uid == "space-uid"


def test_an_agent_that_dies_while_its_cluster_leaves_is_missed_as_any_other():
    leaving = cluster("Pull", READY, **LEAVING)
    works = ({"kind": "Work", "metadata": {"name": "one", "uid": "one-uid", **LEAVING}},)
    found = plan(seen(leaving, works=decoded(works)), NOW, TIMES)
    assert (found.actions, found.again_in) == ((), TIMES.cluster_monitor_grace_period)
    found = plan(seen(leaving, works=decoded(works)), NOW + 40, TIMES)
    assert said(found) == ("Unknown", "ClusterStatusUnknown")
