"""Delivery as a value: what it is told, and what it wants done about that."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from delivering import (
    KEY,
    MEANS,
    cluster,
    cluster_changed,
    has,
    held,
    joined,
    marked,
    stored,
    to_member,
    told,
    turn,
    work,
    work_changed,
)
from working_plane import FOREIGN, NOW, OBJECT, SPACE

from atoll.control.delivery.decide.deliveries import Deliveries
from atoll.control.delivery.decide.events import (
    Event,
    Follow,
    Instruction,
    LookAgain,
    Looked,
    MemberAnswers,
    MemberObjectChanged,
    MemberTurned,
    MemberView,
    MirrorReady,
    Refused,
    Retire,
    Stored,
    Wake,
    WakeToEnd,
)
from atoll.control.levels import Level
from atoll.model.action import Create, Delete, Ref, Tell, Update

OURS = stored(marked())
OTHERS = stored(FOREIGN)
OF_ANOTHER = stored({**OURS, "metadata": {**marked("other")["metadata"], "name": "web"}})
DEPLOYMENTS = ("apps/v1", "Deployment")
PRESSING, REPORTED = Wake(KEY), Wake(KEY, Level.REPORT)

WAKES = [
    pytest.param(work_changed(None, work()), [PRESSING], id="a Work comes"),
    pytest.param(work_changed(work(), work(replicas=3)), [PRESSING], id="a Work says otherwise"),
    pytest.param(
        work_changed(work(), {**work(), "status": {"conditions": []}}, is_meant=False),
        [REPORTED],
        id="somebody else writes a Work's status",
    ),
    pytest.param(work_changed(work(), None), [], id="a Work goes"),
    pytest.param(cluster_changed("m1", cluster()), [], id="a cluster is as ready as before"),
    pytest.param(cluster_changed("m1", cluster(ready=False)), [PRESSING], id="it is not ready"),
    pytest.param(cluster_changed("m1", cluster(leaving=True)), [PRESSING], id="it is to leave"),
    pytest.param(cluster_changed("m1", cluster(pull=True)), [PRESSING], id="an agent takes over"),
    pytest.param(cluster_changed("m2", cluster("m2")), [], id="another cluster comes"),
    pytest.param(MemberTurned("m1"), [PRESSING], id="the member is reached, or serves other kinds"),
    pytest.param(MemberTurned("m2"), [], id="another member is reached"),
    pytest.param(MemberAnswers("m1"), [], id="a member answers for which nobody waited"),
    pytest.param(MemberObjectChanged("m1", None, OURS), [REPORTED], id="our object came"),
    pytest.param(MemberObjectChanged("m1", OURS, None), [REPORTED], id="our object went"),
    pytest.param(MemberObjectChanged("m2", OURS, None), [], id="it went in another cluster"),
    pytest.param(
        MemberObjectChanged("m1", OTHERS, None), [PRESSING], id="what was in the way went"
    ),
    pytest.param(
        MemberObjectChanged("m1", OTHERS, {**OTHERS, "status": {"replicas": 1}}),
        [],
        id="what is in the way tells its status",
    ),
    pytest.param(
        MemberObjectChanged("m1", OF_ANOTHER, None),
        [PRESSING],
        id="what went was in the way, and of another Work",
    ),
    pytest.param(
        MemberObjectChanged("m1", None, stored(marked("none"))), [], id="a strange object"
    ),
]


@pytest.mark.parametrize(("event", "wanted"), WAKES)
def test_who_gets_a_turn(event: Event, wanted: list[Instruction]) -> None:
    assert told(joined(work()), event) == wanted


def test_a_work_outside_the_namespaces_of_clusters_is_nobodys() -> None:
    it = Deliveries()
    assert told(it, work_changed(None, work(space="default"))) == []
    assert not held(it)


def sent(it: Deliveries) -> Create:
    """The first write of the object."""
    (create,) = turn(it)
    assert isinstance(create, Create)
    return create


def reported(it: Deliveries, member: MemberView) -> dict[str, Any]:
    """The Work as it is once its status is written."""
    (update,) = turn(it, member)
    assert isinstance(update, Update)
    assert update.subresource == "status"
    return dict(update.object)


def ended(it: Deliveries, now: float = NOW, name: str = "web") -> None:
    """The Work is deleted, nothing of it is left in the member, and it is let go of."""
    there = it.work((SPACE, name))
    assert there is not None
    told(it, work_changed(dict(there.wire), work(name, going=True)))
    (let_go,) = turn(it, name=name, now=now)
    assert isinstance(let_go, Update)
    assert not let_go.object["metadata"]["finalizers"]
    told(it, work_changed(work(name, going=True), None))


def test_the_status_that_delivery_wrote_itself_is_no_news_and_another_is() -> None:
    it = joined(work())
    well = has(stored({**marked(), "status": {"ready": True}}))
    after = reported(it, well)
    assert told(it, work_changed(work(), after, is_meant=False)) == []
    other = {**after, "status": {"conditions": []}}
    assert told(it, work_changed(after, other, is_meant=False)) == [REPORTED]
    # It was heard back: the same once more is somebody else's.
    assert told(it, work_changed(other, after, is_meant=False)) == [REPORTED]


def test_what_the_member_adds_to_what_was_sent_is_no_drift_until_it_changes() -> None:
    it = joined(work())
    create = sent(it)
    added = stored({**create.object, "spec": {"replicas": 2, "added": 1}})
    assert told(it, Stored(create, added)) == []
    assert to_member(it, has(added)) == []
    drifted = stored(added, generation=2)
    assert to_member(it, has(drifted)) == ["Update"]


def _is_status(each: Instruction) -> bool:
    return isinstance(each, Update) and each.subresource == "status"


def test_the_version_a_write_got_is_that_of_what_was_meant_when_it_was_planned() -> None:
    it = joined(work())
    create = sent(it)
    told(it, work_changed(work(), work(replicas=9)))
    added = stored({**create.object, "spec": {"replicas": 2, "added": 1}})
    told(it, Stored(create, added))
    assert to_member(it, has(added)) == ["Update"]


def test_what_was_sent_is_forgotten_once_a_work_is_told_again() -> None:
    it = joined(work())
    create = sent(it)
    added = stored({**create.object, "spec": {"replicas": 2, "added": 1}})
    told(it, Stored(create, added), work_changed(None, work()))
    assert to_member(it, has(added)) == ["Update"]


def test_a_refusal_is_news_once_and_told_before_it_is_tried_again() -> None:
    it = joined(work())
    refused = Refused(sent(it), "no")
    assert told(it, refused) == [PRESSING]
    status, event, again = turn(it)
    assert "no" in str(getattr(status, "object", {}).get("status"))
    assert isinstance(event, Tell)
    assert isinstance(again, Create)
    assert told(it, refused) == []
    assert told(it, replace(refused, message="never")) == [PRESSING]


def test_a_refused_deletion_is_told_on_the_work_that_waits_for_it() -> None:
    it = joined(work(going=True))
    (delete,) = turn(it, has(OURS))
    assert isinstance(delete, Delete)
    (event,) = told(it, Refused(delete, "a webhook said no"))
    assert isinstance(event, Tell)
    assert Ref.of(event.about).name == "web"
    assert "m1 refused to delete Deployment shop/web: a webhook said no" in event.message


def test_what_becomes_of_a_write_for_a_work_that_is_gone_is_not_kept() -> None:
    it = joined(work())
    create = sent(it)
    told(it, work_changed(work(), None))
    assert told(it, Refused(create, "no")) == told(it, Stored(create, OURS)) == []
    told(it, cluster_changed("m1", None))
    assert not held(it)


def test_a_kind_is_asked_to_be_followed_once_and_all_who_wait_for_it_are_woken() -> None:
    it = joined(work(), work("api"))
    api = Ref(*DEPLOYMENTS, "shop", "api")
    assert turn(it, MemberView(unknown=frozenset([OBJECT]))) == [Follow("m1", *DEPLOYMENTS)]
    assert turn(it, MemberView(unknown=frozenset([api])), "api") == []
    ready = MirrorReady("m1", *DEPLOYMENTS)
    assert told(it, ready) == [PRESSING, Wake((SPACE, "api"))]
    assert told(it, ready) == []
    assert [type(each) for each in turn(it)] == [Create]


def test_a_member_that_is_reached_anew_is_followed_anew() -> None:
    it = joined(work())
    unknown = MemberView(unknown=frozenset([OBJECT]))
    assert turn(it, unknown) == [Follow("m1", *DEPLOYMENTS)]
    assert told(it, MemberTurned("m1")) == [PRESSING]
    assert turn(it, unknown) == [Follow("m1", *DEPLOYMENTS)]


def test_a_kind_that_a_member_serves_later_is_followed_and_gets_its_object() -> None:
    it = joined(work())
    status, event, hopeless = turn(it, MemberView(unserved=frozenset([OBJECT])))
    said = "cluster m1 does not serve Deployment of apps/v1"
    assert said in str(getattr(status, "object", {}).get("status"))
    assert isinstance(event, Tell)
    assert told(it, Refused(_create(hopeless), said)) == []
    assert told(it, MemberTurned("m1")) == [PRESSING]
    unknown = MemberView(unknown=frozenset([OBJECT]))
    assert turn(it, unknown) == [Follow("m1", *DEPLOYMENTS)]
    assert told(it, MirrorReady("m1", *DEPLOYMENTS)) == [PRESSING]
    assert isinstance(turn(it)[-1], Create)


def _create(each: Instruction) -> Create:
    assert isinstance(each, Create)
    return each


def test_who_is_silent_is_waited_for_until_he_answers() -> None:
    it = joined(work())
    assert turn(it, MemberView(is_silent=True)) == []
    assert told(it, MemberAnswers("m1")) == [PRESSING]
    assert told(it, MemberAnswers("m1")) == []


def test_who_is_said_not_to_be_ready_is_not_waited_for_in_silence() -> None:
    it = joined(work(going=True))
    told(it, cluster_changed("m1", cluster(ready=False, leaving=True)))
    (let_go,) = turn(it, MemberView(is_silent=True))
    assert isinstance(let_go, Update)


SERVED = [
    pytest.param(cluster(pull=True), "", 0, id="an agent's cluster, from outside"),
    pytest.param(cluster(pull=True), "m1", 1, id="the agent's own, from inside"),
    pytest.param(cluster(pull=True, leaving=True), "", 0, id="leaving, and its agent is there"),
    pytest.param(cluster(), "", 1, id="one that is pushed to"),
]


@pytest.mark.parametrize(("wire", "agent_of", "writes"), SERVED)
def test_a_cluster_is_looked_after_by_one(wire: dict[str, Any], agent_of: str, writes: int) -> None:
    it = joined(work(), agent_of=agent_of)
    told(it, cluster_changed("m1", wire))
    assert len(turn(it)) == writes


def test_the_works_of_an_agent_that_left_silently_end_all_the_same() -> None:
    it = joined(work(going=True))
    told(it, cluster_changed("m1", cluster(pull=True, leaving=True, ready=False)))
    assert len(told(it, Looked(KEY, None, MEANS))) == 1


ENDS = [
    pytest.param(cluster(), "", WakeToEnd(KEY), id="usually it is not for us to say"),
    pytest.param(cluster(leaving=True), "", REPORTED, id="a cluster that leaves is waited for"),
    pytest.param(cluster(pull=True), "m1", REPORTED, id="an agent does not know who waits"),
]


@pytest.mark.parametrize(("wire", "agent_of", "wanted"), ENDS)
def test_how_much_an_end_presses(wire: dict[str, Any], agent_of: str, wanted: Instruction) -> None:
    it = joined(work(going=True), agent_of=agent_of)
    told(it, cluster_changed("m1", wire))
    assert told(it, MemberObjectChanged("m1", OURS, None)) == [wanted]


def test_what_comes_after_its_work_has_ended_is_taken_back_whatever_else_it_says() -> None:
    it = joined(work())
    ended(it)
    late = stored({**marked(), "spec": {"replicas": 9}})
    assert told(it, MemberObjectChanged("m1", None, late)) == [REPORTED]
    assert it.asked(KEY) == [OBJECT]
    (delete,) = turn(it, has(late))
    assert isinstance(delete, Delete)
    assert turn(it, has(OTHERS)) == []


def test_a_cluster_that_is_reached_again_is_searched_for_what_came_too_late() -> None:
    it = joined(work())
    ended(it)
    assert told(it, MemberTurned("m1")) == [REPORTED]


FORGOTTEN: list[Any] = [
    pytest.param(lambda it: told(it, work_changed(None, work())), id="the Work is made anew"),
    pytest.param(lambda it: told(it, cluster_changed("m1", None)), id="the cluster goes"),
    pytest.param(lambda it: turn(it, now=NOW + 1801), id="half an hour is over"),
]


@pytest.mark.parametrize("forgetting", FORGOTTEN)
def test_an_ended_work_is_remembered_until(forgetting: Callable[[Deliveries], Any]) -> None:
    it = joined(work())
    ended(it)
    assert "_over" in held(it)
    forgetting(it)
    assert "_over" not in held(it)


def test_of_ended_works_the_latest_thousands_are_remembered_and_none_for_long() -> None:
    it = joined()
    for number in range(4100):
        told(it, work_changed(None, work(f"w{number}")))
        ended(it, name=f"w{number}")
    assert held(it)["_over"] == 4096
    assert not it.asked((SPACE, "w3"))
    assert it.asked((SPACE, "w4"))
    told(it, work_changed(None, work()))
    ended(it, now=NOW + 1801)
    assert held(it)["_over"] == 1


def test_what_may_get_well_is_told_after_a_moment_counted_from_the_first() -> None:
    it = joined(work())
    (again,) = turn(it, has(OURS))
    assert again == LookAgain(KEY, 1.0)
    assert turn(it, has(OURS), now=NOW + 0.25) == [LookAgain(KEY, 0.75)]
    assert _is_status(turn(it, has(OURS), now=NOW + 1)[0])
    assert "_untold" not in held(it)


def test_of_a_work_that_wants_other_objects_the_former_concern_it_no_more() -> None:
    it = joined(work())
    api = {**work(), "spec": work("api")["spec"]}
    told(it, work_changed(work(), api))
    assert told(it, MemberObjectChanged("m1", OTHERS, None)) == []
    told(it, work_changed(api, None), cluster_changed("m1", None))
    assert not held(it)


@pytest.mark.parametrize("first", ["the cluster", "the Works"])
def test_nothing_is_held_of_what_is_gone(first: str) -> None:
    it = joined(work(), work("api"), work("idle"))
    told(it, Refused(sent(it), "no"))
    turn(it, MemberView(unknown=frozenset([Ref(*DEPLOYMENTS, "shop", "api")])), "api")
    turn(it, has(stored(marked("idle"))), "idle")
    turn(it, MemberView(is_silent=True), "api")
    assert {"_silent", "_late", "_untold", "_works", "_asked"} <= held(it).keys()
    works = [work_changed(work(name), None) for name in ("web", "api", "idle")]
    gone = cluster_changed("m1", None)
    last = told(it, *((gone, *works) if first == "the cluster" else (*works, gone)))
    assert last == [Retire("m1")]
    assert not held(it)
