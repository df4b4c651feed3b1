"""Events and leases: small kinds that controllers write all the time."""

import pytest
from backends import Backend
from manifests import event, lease


@pytest.fixture
def events(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/events"


@pytest.fixture
def new_events(namespace: str) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"


@pytest.fixture
def leases(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def test_both_groups_show_the_same_events(
    api: Backend, events: str, new_events: str, namespace: str
) -> None:
    made = api.create(events, event("e", namespace, source={"component": "c"}, count=2))
    seen = api.read(f"{new_events}/e")
    assert (seen["kind"], seen["apiVersion"]) == ("Event", "events.k8s.io/v1")
    assert seen["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert (seen["note"], seen["regarding"]) == (made["message"], made["involvedObject"])
    assert (seen["deprecatedCount"], seen["deprecatedSource"]) == (2, {"component": "c"})
    assert seen["reason"] == "Started"


def test_an_event_of_the_new_group_is_seen_in_the_old(
    api: Backend, events: str, new_events: str, namespace: str
) -> None:
    sent = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.123456Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "Did",
        "reason": "Because",
        "type": "Warning",
        "regarding": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "note": "so it is",
    }
    api.create(new_events, sent)
    seen = api.read(f"{events}/e")
    assert seen["message"] == "so it is"
    assert seen["involvedObject"] == sent["regarding"]
    assert seen["reportingComponent"] == "example.com/c"
    assert seen["eventTime"] == sent["eventTime"]


def test_both_groups_can_be_watched(
    api: Backend, events: str, new_events: str, namespace: str
) -> None:
    with api.watch(f"{new_events}?watch=1") as watch:
        api.create(events, event("e", namespace))
        seen = watch.next()
    assert (seen["type"], seen["object"]["apiVersion"]) == ("ADDED", "events.k8s.io/v1")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("involvedObject.name=p", 2),
        ("involvedObject.name=q", 0),
        ("involvedObject.kind=Pod,type=Warning", 1),
        ("involvedObject.uid=u", 1),
        ("reason=Started", 2),
        ("type!=Normal", 1),
        ("source=kubelet", 1),
        ("source=example.com/x", 1),
    ],
)
def test_events_are_found_by_what_they_are_about(
    api: Backend, events: str, namespace: str, selector: str, found: int
) -> None:
    reporter = {"reportingComponent": "example.com/x", "reportingInstance": "x"}
    api.create(events, event("a", namespace, **reporter))
    about = {"kind": "Pod", "namespace": namespace, "name": "p", "uid": "u"}
    source = {"component": "kubelet"}
    api.create(events, event("b", namespace, type="Warning", involvedObject=about, source=source))
    assert len(api.read(f"{events}?fieldSelector={selector}")["items"]) == found


def test_the_count_of_an_event_can_be_patched(api: Backend, events: str, namespace: str) -> None:
    api.create(events, event("e", namespace, count=1))
    patch = {"count": 2, "lastTimestamp": "2026-01-01T00:00:00Z"}
    changed = api.patch(f"{events}/e", patch, "strategic")
    assert (changed["count"], changed["lastTimestamp"]) == (2, "2026-01-01T00:00:00Z")


def test_an_event_must_be_in_the_namespace_of_its_object(
    api: Backend, events: str, namespace: str
) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    answer = api.request("POST", events, body=event("e", namespace, involvedObject=about))
    details = answer.refusal(422, "Invalid")
    assert details["causes"][0]["field"] == "involvedObject.namespace"


def test_a_lease_keeps_microseconds(api: Backend, leases: str) -> None:
    made = api.create(
        leases,
        lease(
            "l",
            holderIdentity="a",
            leaseDurationSeconds=15,
            renewTime="2026-01-01T00:00:00.000001Z",
            acquireTime="2026-01-01T01:00:00.500000+01:00",
        ),
    )
    assert made["spec"]["renewTime"] == "2026-01-01T00:00:00.000001Z"
    assert made["spec"]["acquireTime"] == "2026-01-01T00:00:00.500000Z"
    assert "generation" not in made["metadata"]


def test_only_one_of_two_rivals_renews_a_lease(api: Backend, leases: str) -> None:
    made = api.create(leases, lease("l", holderIdentity="a", leaseDurationSeconds=15))
    for holder, status in (("b", 200), ("c", 409)):
        made["spec"]["holderIdentity"] = holder
        assert api.request("PUT", f"{leases}/l", body=made).status == status
    assert api.read(f"{leases}/l")["spec"]["holderIdentity"] == "b"


def test_a_lease_must_last(api: Backend, leases: str) -> None:
    body = lease("l", holderIdentity="a", leaseDurationSeconds=0)
    answer = api.request("POST", leases, body=body)
    details = answer.refusal(422, "Invalid")
    assert details["causes"][0]["field"] == "spec.leaseDurationSeconds"


def test_a_time_of_a_lease_needs_its_fraction(api: Backend, leases: str) -> None:
    api.request("POST", leases, body=lease("l", renewTime="2026-01-01T00:00:00Z")).refusal(
        400,
        "BadRequest",
        'Lease in version "v1" cannot be handled as a Lease: parsing time "2026-01-01T00:00:00Z" '
        'as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    )
