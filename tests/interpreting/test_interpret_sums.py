"""How what members report adds up to the status of a template."""

import pytest
from interpreting_builders import NATIVE_ONLY, make, make_items

from atoll.errors import Invalid
from atoll.interpreting.kinds import (
    AUTOSCALER,
    BUDGET,
    CLAIM,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    INGRESS,
    JOB,
    POD,
    REPLICA_SET,
    SERVICE,
    STATEFUL_SET,
    VOLUME,
)
from atoll.interpreting.operations import Item
from atoll.model.health import Health

EARLY, LATER, LAST = (f"2026-05-01T{hour}:00:00Z" for hour in ("08", "09", "10"))
CAUGHT_UP = {"observedGeneration": 5, "generation": 5, "resourceTemplateGeneration": 3}


def total(kind, *, spec=None, status=None, generation=3, **reports):
    template = make(kind, metadata={"generation": generation}, spec=spec or {})
    if status is not None:
        template["status"] = status
    return NATIVE_ONLY.aggregate(template, make_items(**reports))


@pytest.mark.parametrize(
    ("kind", "one", "other", "both"),
    [
        pytest.param(
            DEPLOYMENT,
            {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "unavailableReplicas": 1},
            {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3},
            {
                "replicas": 5,
                "readyReplicas": 4,
                "updatedReplicas": 5,
                "availableReplicas": 3,
                "unavailableReplicas": 1,
            },
            id="deployment",
        ),
        pytest.param(
            REPLICA_SET,
            {"replicas": 2},
            {"replicas": 1, "readyReplicas": 1},
            {"replicas": 3, "readyReplicas": 1},
            id="replica-set",
        ),
        pytest.param(
            STATEFUL_SET,
            {"replicas": 2, "currentReplicas": 2},
            {"replicas": 1, "currentReplicas": 1},
            {"replicas": 3, "currentReplicas": 3, "availableReplicas": 0},
            id="stateful-set",
        ),
        pytest.param(
            DAEMON_SET,
            {"desiredNumberScheduled": 2, "numberReady": 1, "numberUnavailable": 1},
            {"desiredNumberScheduled": 1, "numberReady": 1},
            {
                "currentNumberScheduled": 0,
                "numberMisscheduled": 0,
                "desiredNumberScheduled": 3,
                "numberReady": 2,
                "numberUnavailable": 1,
            },
            id="daemon-set",
        ),
    ],
)
def test_the_counters_of_a_workload_add_up(kind, one, other, both):
    said = total(kind, m1=one | CAUGHT_UP, m2=other | CAUGHT_UP, m3=None)
    assert said == both
    said = total(kind, m1=one | CAUGHT_UP, m2=other | CAUGHT_UP)
    assert said == both | {"observedGeneration": 3}


@pytest.mark.parametrize(
    ("reports", "observed"),
    [
        pytest.param({"m1": CAUGHT_UP, "m2": CAUGHT_UP}, 3, id="all-have-seen-it"),
        pytest.param({"m1": CAUGHT_UP, "m2": None}, 2, id="one-is-silent"),
        pytest.param(
            {"m1": CAUGHT_UP, "m2": CAUGHT_UP | {"resourceTemplateGeneration": 2}},
            2,
            id="one-has-an-older-template",
        ),
        pytest.param(
            {"m1": CAUGHT_UP, "m2": CAUGHT_UP | {"generation": 6}}, 2, id="one-is-behind-its-own"
        ),
        pytest.param({}, 3, id="there-is-nobody-to-wait-for"),
    ],
)
@pytest.mark.parametrize("kind", [DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET])
def test_a_generation_is_observed_when_every_member_has_observed_it(kind, reports, observed):
    old = {"observedGeneration": 2, "collisionCount": 1}
    said = total(kind, status=old, **reports) or old
    assert said["observedGeneration"] == observed


def test_what_else_stands_in_a_workload_s_status_is_left_alone():
    old = {"replicas": 9, "conditions": [{"type": "Available"}], "collisionCount": 1}
    said = total(DEPLOYMENT, status=old, m1={"replicas": 1})
    assert said == {
        "replicas": 1,
        "conditions": [{"type": "Available"}],
        "collisionCount": 1,
    }


@pytest.mark.parametrize(
    ("kind", "old", "report"),
    [
        (DEPLOYMENT, {"replicas": 1, "readyReplicas": 0, "observedGeneration": 3}, {"replicas": 1}),
        (DAEMON_SET, {"numberReady": 1, "observedGeneration": 3}, {"numberReady": 1}),
        (AUTOSCALER, {"desiredReplicas": 1, "conditions": None}, {"desiredReplicas": 1}),
        (INGRESS, {"loadBalancer": {}}, {}),
        (INGRESS, None, {}),
        (JOB, {"active": 1, "conditions": []}, {"active": 1}),
        (CRON_JOB, {}, {"active": []}),
        (VOLUME, {"phase": "Bound"}, {"phase": "Bound"}),
    ],
)
def test_a_status_that_says_it_already_is_not_written_again(kind, old, report):
    assert total(kind, status=old, m1=CAUGHT_UP | report) is None


def test_kinds_nobody_adds_up_keep_their_status():
    assert total(("example.com/v1", "Toy"), m1={"a": 1}) is None


def test_an_autoscaler_s_replicas_add_up():
    one, other = {"currentReplicas": 2, "desiredReplicas": 3}, {"desiredReplicas": 1}
    said = total(AUTOSCALER, m1=one, m2=other)
    assert said == {"currentReplicas": 2, "desiredReplicas": 4}


def test_pods_being_disrupted_are_told_with_their_cluster():
    said = total(
        BUDGET,
        m1={"expectedPods": 2, "disruptedPods": {"a": EARLY}},
        m2={"expectedPods": 1, "disruptionsAllowed": 1, "disruptedPods": {"a": LATER}},
    )
    assert said == {
        "disruptionsAllowed": 1,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 3,
        "disruptedPods": {"m1/a": EARLY, "m2/a": LATER},
    }


HTTP, HTTPS = {"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}


def balanced(*points):
    return {"loadBalancer": {"ingress": list(points)}}


def test_every_address_is_told_once_with_all_its_ports_names_first():
    said = total(
        INGRESS,
        m2=balanced({"ip": "192.0.2.2"}, {"ip": "192.0.2.1", "ports": [HTTPS]}),
        m1=balanced({"ip": "192.0.2.1", "ports": [HTTP, HTTPS]}, {"hostname": "z.example"}),
        m3=None,
    )
    assert said == balanced(
        {"hostname": "z.example"},
        {"ip": "192.0.2.1", "ports": [HTTP, HTTPS]},
        {"ip": "192.0.2.2"},
    )


def test_addresses_used_in_different_ways_are_different():
    points = [{"ip": "192.0.2.1", "ipMode": "VIP"}, {"ip": "192.0.2.1"}]
    failed = HTTP | {"error": "Taken"}
    said = total(
        SERVICE,
        spec={"type": "LoadBalancer"},
        m1=balanced(points[1], points[0] | {"ports": [failed, HTTP]}),
    )
    assert said == balanced(points[0] | {"ports": [HTTP, failed]}, points[1])


def test_a_service_without_balancer_has_no_status():
    assert total(SERVICE, spec={"type": "NodePort"}, m1=balanced({"ip": "192.0.2.1"})) is None


def test_addresses_that_are_gone_are_not_told_any_more():
    old = balanced({"ip": "192.0.2.1"})
    assert total(INGRESS, status=old, m1=None) == {"loadBalancer": {}}


def held(*sorts, at=LATER):
    return [{"type": sort, "status": "True", "lastTransitionTime": at} for sort in sorts]


def ended(sort, reason, message, at):
    return {
        "type": sort,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastProbeTime": at,
        "lastTransitionTime": at,
    }


def test_a_job_s_pods_add_up_while_it_runs():
    said = total(JOB, m1={"active": 2, "failed": 1, "startTime": LATER}, m2={"succeeded": 1})
    assert said == {"active": 2, "failed": 1, "succeeded": 1}


def test_a_job_has_started_when_it_has_everywhere():
    said = total(JOB, m1={"startTime": LATER}, m2={"startTime": EARLY})
    assert said == {"startTime": EARLY}
    said = total(JOB, status={"startTime": EARLY}, m1={"active": 1}, m2=None)
    assert said == {"startTime": EARLY, "active": 1}


def test_a_job_is_complete_when_it_is_in_every_member():
    done = {"succeeded": 1, "startTime": EARLY, "completionTime": LATER}
    one = done | {"conditions": held("SuccessCriteriaMet", "Complete")}
    late = done | {
        "completionTime": LAST,
        "conditions": held("SuccessCriteriaMet", "Complete", at=LAST),
    }
    assert "conditions" not in total(JOB, m1=one, m2=done)
    assert total(JOB, m1=late, m2=one) == {
        "succeeded": 2,
        "startTime": EARLY,
        "completionTime": LAST,
        "conditions": [
            ended("Complete", "Completed", "Job completed", LAST),
            ended(
                "SuccessCriteriaMet",
                "CompletionsReached",
                "All member clusters have met success criteria",
                LAST,
            ),
        ],
    }
    plain = done | {"conditions": held("Complete")}
    [only] = total(JOB, m1=late, m2=plain)["conditions"]
    assert only["type"] == "Complete"


def test_a_job_has_failed_when_it_has_in_any_member():
    said = total(
        JOB,
        m3={"conditions": held("Failed"), "startTime": LATER},
        m1={"conditions": held("Complete"), "completionTime": LAST, "startTime": EARLY},
        m2={"conditions": held("Failed", at=LAST)},
        m4=None,
    )
    message = "Job failed in member clusters m2,m3"
    assert said == {
        "startTime": EARLY,
        "conditions": [ended("Failed", "JobFailed", message, LAST)],
    }


def test_without_members_no_job_is_complete():
    assert total(JOB) is None


@pytest.mark.parametrize("sort", ["Complete", "Failed"])
def test_the_status_of_a_job_that_ended_is_final(sort):
    assert total(JOB, status={"conditions": held(sort)}, m1={"active": 3}) is None
    assert total(JOB, status={"conditions": [{"type": sort, "status": "False"}]}, m1={"active": 3})


def test_a_schedule_tells_all_active_jobs_and_the_latest_times():
    said = total(
        CRON_JOB,
        m2={"active": [{"name": "b"}], "lastScheduleTime": "2026-05-01T10:00:00+01:00"},
        m1={"active": [{"name": "a"}], "lastScheduleTime": EARLY, "lastSuccessfulTime": LATER},
        m3=None,
    )
    assert said == {
        "active": [{"name": "a"}, {"name": "b"}],
        "lastScheduleTime": "2026-05-01T10:00:00+01:00",
        "lastSuccessfulTime": LATER,
    }


@pytest.mark.parametrize(
    ("kind", "phases", "phase"),
    [
        pytest.param(POD, ["Running", "Failed", "Pending"], "Failed", id="one-pod-failed"),
        pytest.param(POD, ["Running", "Pending"], "Pending", id="one-pod-is-pending"),
        pytest.param(POD, ["Running", "Succeeded"], "Running", id="one-pod-runs"),
        pytest.param(POD, ["Succeeded", "Succeeded"], "Succeeded", id="all-pods-are-done"),
        pytest.param(POD, ["Running", None], "Pending", id="one-pod-is-silent"),
        pytest.param(VOLUME, ["Bound", "Failed"], "Failed", id="one-volume-failed"),
        pytest.param(VOLUME, ["Bound", "Available"], "Available", id="one-volume-is-free"),
        pytest.param(VOLUME, ["Released", "Bound"], "Bound", id="one-volume-is-bound"),
        pytest.param(VOLUME, ["Bound", None], "Pending", id="one-volume-is-silent"),
        pytest.param(CLAIM, ["Bound", "Lost", "Pending"], "Lost", id="one-claim-lost-its-volume"),
        pytest.param(CLAIM, ["Bound", "Pending"], "Pending", id="one-claim-waits"),
        pytest.param(CLAIM, ["Bound", "Bound"], "Bound", id="all-claims-are-bound"),
        pytest.param(CLAIM, ["Bound", None], "Pending", id="one-claim-is-silent"),
    ],
)
def test_the_least_settled_phase_wins(kind, phases, phase):
    reports = {f"m{n}": each and {"phase": each} for n, each in enumerate(phases)}
    assert total(kind, **reports) == {"phase": phase}


@pytest.mark.parametrize("kind", [POD, VOLUME, CLAIM])
def test_without_reports_no_phase_is_known(kind):
    assert total(kind, status={"phase": "Pending"}) is None


def test_a_phase_nobody_has_heard_of_is_not_told():
    assert total(VOLUME, status={"phase": "Pending"}, m1={"phase": "Odd"}) is None
    said = total(POD, m1={"phase": "Odd", "initContainerStatuses": [{"ready": True}]})
    assert list(said) == ["initContainerStatuses"]


def test_containers_of_all_members_are_told_without_their_names():
    state = {"running": {"startedAt": EARLY}}
    seen = {"name": "web", "ready": True, "state": state, "image": "i", "restartCount": 4}
    said = total(POD, m1={"phase": "Running", "containerStatuses": [seen]}, m2=None)
    [told] = said["containerStatuses"]
    assert told["ready"] is True
    assert told["state"] == state
    assert told["name"] == ""


def test_a_wrong_report_is_told_by_its_cluster():
    with pytest.raises(Invalid, match=r"^aggregatedStatus\[m2\].status.replicas: 'two'"):
        total(DEPLOYMENT, m1={"replicas": 1}, m2={"replicas": "two"})


def test_reports_are_read_as_bindings_keep_them():
    wire = {"clusterName": "m1", "status": {"a": 1}, "applied": True, "health": "Healthy"}
    assert Item.of(wire) == Item("m1", {"a": 1}, applied=True, health=Health.HEALTHY)
    assert Item.of({"clusterName": "m1", "health": "Fine"}) == Item("m1")
    with pytest.raises(Invalid, match="applied"):
        Item.of({"clusterName": "m1", "applied": "yes"})
