"""What is kept of a member's object, reported of it, and told of its health."""

import pytest
from interpreting_builders import NATIVE_ONLY, make, make_workload

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
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    VOLUME,
)
from atoll.model.health import Health

TOKEN = "kubernetes.io/service-account-token"
RETAIN = {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}
HTTP = {"port": 80, "protocol": "TCP"}


def deployment(replicas, **more):
    return make(DEPLOYMENT, spec={"replicas": replicas}, **more)


def service(**spec):
    return make(SERVICE, spec=spec)


@pytest.mark.parametrize(
    ("desired", "observed", "kept"),
    [
        pytest.param(
            deployment(2, metadata=RETAIN),
            deployment(9),
            deployment(9, metadata=RETAIN),
            id="a-deployment-the-member-scales",
        ),
        pytest.param(deployment(2), deployment(9), deployment(2), id="a-deployment-we-scale"),
        pytest.param(
            deployment(2, metadata=RETAIN),
            make(DEPLOYMENT, spec={}),
            deployment(2, metadata=RETAIN),
            id="nothing-to-keep",
        ),
        pytest.param(
            make(CLAIM, spec={"volumeName": "old"}),
            make(CLAIM, spec={"volumeName": "pv-7"}),
            make(CLAIM, spec={"volumeName": "pv-7"}),
            id="the-volume-of-a-claim",
        ),
        pytest.param(
            make(CLAIM, spec={}),
            make(CLAIM, spec={"storageClassName": "standard"}),
            make(CLAIM, spec={"storageClassName": "standard"}),
            id="the-class-a-member-gave-a-claim",
        ),
        pytest.param(
            make(CLAIM, spec={"storageClassName": ""}),
            make(CLAIM, spec={"storageClassName": "standard"}),
            make(CLAIM, spec={"storageClassName": ""}),
            id="the-class-a-claim-asks-for",
        ),
        pytest.param(
            make(VOLUME, spec={}),
            make(VOLUME, spec={"claimRef": {"name": "c"}}),
            make(VOLUME, spec={"claimRef": {"name": "c"}}),
            id="the-claim-of-a-volume",
        ),
        pytest.param(
            make(SECRET, type=TOKEN),
            make(SECRET, type=TOKEN, data={"token": "eA=="}),
            make(SECRET, type=TOKEN, data={"token": "eA=="}),
            id="the-token-of-an-account",
        ),
        pytest.param(
            make(SECRET, type="Opaque", data={"a": "eA=="}),
            make(SECRET, type="Opaque", data={"b": "eA=="}),
            make(SECRET, type="Opaque", data={"a": "eA=="}),
            id="other-secrets-are-ours",
        ),
        pytest.param(
            make(SERVICE_ACCOUNT, secrets=[{"name": "a"}]),
            make(
                SERVICE_ACCOUNT,
                secrets=[{"name": "web-token-x"}, {"name": "a", "old": 1}],
                imagePullSecrets=[{"name": "p"}],
            ),
            make(
                SERVICE_ACCOUNT,
                secrets=[{"name": "a"}, {"name": "web-token-x"}],
                imagePullSecrets=[{"name": "p"}],
            ),
            id="secrets-on-both-sides",
        ),
        pytest.param(
            make_workload(JOB, parallelism=1),
            make(
                JOB,
                spec={
                    "selector": {"matchLabels": {"controller-uid": "u"}},
                    "template": {"metadata": {"labels": {"app": "web", "controller-uid": "u"}}},
                },
            ),
            make(
                JOB,
                spec={
                    "parallelism": 1,
                    "selector": {"matchLabels": {"controller-uid": "u"}},
                    "template": {
                        "metadata": {"labels": {"app": "web", "controller-uid": "u"}},
                        "spec": {},
                    },
                },
            ),
            id="the-labels-of-a-job",
        ),
        pytest.param(
            make(
                POD,
                spec={
                    "nodeName": "elsewhere",
                    "containers": [{"name": "a", "image": "new"}, {"name": "b"}],
                    "initContainers": [{"name": "i", "volumeMounts": [{"name": "mine"}]}],
                },
            ),
            make(
                POD,
                spec={
                    "nodeName": "n1",
                    "serviceAccountName": "default",
                    "volumes": [{"name": "token"}],
                    "containers": [{"name": "a", "volumeMounts": [{"name": "token"}]}],
                    "initContainers": [{"name": "i"}],
                },
            ),
            make(
                POD,
                spec={
                    "nodeName": "n1",
                    "serviceAccountName": "default",
                    "volumes": [{"name": "token"}],
                    "containers": [
                        {"name": "a", "image": "new", "volumeMounts": [{"name": "token"}]},
                        {"name": "b"},
                    ],
                    "initContainers": [{"name": "i"}],
                },
            ),
            id="what-a-member-filled-into-a-pod",
        ),
    ],
)
def test_fields_of_the_member_are_kept(desired, observed, kept):
    assert NATIVE_ONLY.retain(desired, observed) == kept


@pytest.mark.parametrize(
    ("desired", "observed", "kept"),
    [
        pytest.param(
            {"type": "ClusterIP"},
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"]},
            {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"]},
            id="its-addresses",
        ),
        pytest.param(
            {"type": "ExternalName"}, {"clusterIP": "10.0.0.1"}, {"type": "ExternalName"}, id="none"
        ),
        pytest.param(
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
            {"healthCheckNodePort": 31000},
            {
                "type": "LoadBalancer",
                "externalTrafficPolicy": "Local",
                "healthCheckNodePort": 31000,
            },
            id="the-port-of-health-checks",
        ),
        pytest.param(
            {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster"},
            {"healthCheckNodePort": 31000},
            {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster"},
            id="no-health-checks-any-more",
        ),
        pytest.param(
            {"type": "NodePort", "ports": [HTTP, {"port": 443}]},
            {"ports": [HTTP | {"nodePort": 30001}, {"port": 443, "nodePort": 30002}]},
            {
                "type": "NodePort",
                "ports": [HTTP | {"nodePort": 30001}, {"port": 443, "nodePort": 30002}],
            },
            id="ports-the-member-gave",
        ),
        pytest.param(
            {"type": "NodePort", "ports": [HTTP | {"nodePort": 30009}]},
            {"ports": [HTTP | {"nodePort": 30001}]},
            {"type": "NodePort", "ports": [HTTP | {"nodePort": 30009}]},
            id="a-port-the-template-wants",
        ),
        pytest.param(
            {"type": "NodePort", "ports": [HTTP, {"port": 443, "nodePort": 30001}]},
            {"ports": [HTTP | {"nodePort": 30001}]},
            {"type": "NodePort", "ports": [HTTP, {"port": 443, "nodePort": 30001}]},
            id="a-port-given-to-another",
        ),
        pytest.param(
            {"type": "ClusterIP", "ports": [HTTP]},
            {"ports": [HTTP | {"nodePort": 30001}]},
            {"type": "ClusterIP", "ports": [HTTP]},
            id="no-ports-on-nodes-any-more",
        ),
    ],
)
def test_a_service_keeps_what_the_member_gave_it(desired, observed, kept):
    assert NATIVE_ONLY.retain(service(**desired), service(**observed)) == service(**kept)


def test_a_kind_nobody_knows_is_written_as_desired():
    desired = make(("example.com/v1", "Toy"), spec={"a": 1})
    assert NATIVE_ONLY.retain(desired, make(("example.com/v1", "Toy"), spec={"b": 2})) is desired


GENERATION = {"annotations": {"resourcetemplate.karmada.io/generation": "4"}, "generation": 7}


@pytest.mark.parametrize(
    ("kind", "status", "reported"),
    [
        pytest.param(
            DEPLOYMENT,
            {"replicas": 3, "readyReplicas": 2, "observedGeneration": 7, "conditions": [{}]},
            {
                "replicas": 3,
                "readyReplicas": 2,
                "observedGeneration": 7,
                "generation": 7,
                "resourceTemplateGeneration": 4,
            },
            id="counters-and-generations",
        ),
        pytest.param(
            REPLICA_SET,
            {"replicas": 0},
            {"replicas": 0, "generation": 7, "resourceTemplateGeneration": 4},
            id="a-zero-the-api-requires",
        ),
        pytest.param(
            STATEFUL_SET,
            {"replicas": 1, "updatedReplicas": 1, "observedGeneration": 6},
            {
                "replicas": 1,
                "availableReplicas": 0,
                "updatedReplicas": 1,
                "observedGeneration": 6,
                "generation": 7,
                "resourceTemplateGeneration": 4,
            },
            id="a-stateful-set-says-what-it-observed",
        ),
        pytest.param(
            AUTOSCALER,
            {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": []},
            {"currentReplicas": 2, "desiredReplicas": 3},
            id="an-autoscaler",
        ),
        pytest.param(
            BUDGET,
            {"expectedPods": 2, "disruptedPods": {"p": "2026-05-01T10:00:00Z"}, "conditions": []},
            {
                "disruptionsAllowed": 0,
                "currentHealthy": 0,
                "desiredHealthy": 0,
                "expectedPods": 2,
                "disruptedPods": {"p": "2026-05-01T10:00:00Z"},
            },
            id="a-budget",
        ),
        pytest.param(
            JOB,
            {"active": 1, "ready": 1, "startTime": "2026-05-01T10:00:00Z"},
            {"active": 1, "startTime": "2026-05-01T10:00:00Z"},
            id="a-job",
        ),
        pytest.param(CRON_JOB, {"active": [{}]}, {"active": [{}]}, id="others-report-all"),
        pytest.param(("example.com/v1", "Toy"), {"a": 1}, {"a": 1}, id="so-do-unknown-kinds"),
        pytest.param(SERVICE, {"loadBalancer": {}}, None, id="no-balancer-no-status"),
    ],
)
def test_what_is_reported_of_a_status(kind, status, reported):
    assert NATIVE_ONLY.reflect(make(kind, metadata=GENERATION, status=status)) == reported


def test_a_load_balancer_reports_its_addresses():
    balancer = {"ingress": [{"ip": "192.0.2.1"}]}
    observed = make(
        SERVICE, spec={"type": "LoadBalancer"}, status={"loadBalancer": balancer, "conditions": []}
    )
    assert NATIVE_ONLY.reflect(observed) == {"loadBalancer": balancer}


@pytest.mark.parametrize("kind", [DEPLOYMENT, STATEFUL_SET, SERVICE, JOB, CRON_JOB])
def test_without_a_status_nothing_is_reported(kind):
    assert NATIVE_ONLY.reflect(make(kind, spec={"type": "LoadBalancer"})) is None


def test_an_empty_status_of_a_deployment_was_not_collected_yet():
    assert NATIVE_ONLY.reflect(make(DEPLOYMENT, status={})) is None


def test_a_generation_that_is_no_number_is_refused_by_its_name():
    wrong = {"annotations": {"resourcetemplate.karmada.io/generation": "new"}}
    with pytest.raises(Invalid, match=r"metadata.annotations\[resourcetemplate.karmada.io/gener"):
        NATIVE_ONLY.reflect(make(DEPLOYMENT, metadata=wrong, status={}))


SEEN = {"observedGeneration": 2}
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "healthy"),
    [
        pytest.param(
            DEPLOYMENT,
            {"replicas": 2},
            SEEN | {"updatedReplicas": 2, "availableReplicas": 2},
            True,
            id="rolled-out",
        ),
        pytest.param(
            DEPLOYMENT,
            {"replicas": 2},
            SEEN | {"updatedReplicas": 1, "availableReplicas": 2},
            False,
            id="still-rolling",
        ),
        pytest.param(
            STATEFUL_SET,
            {"replicas": 2},
            SEEN | {"updatedReplicas": 2, "availableReplicas": 1},
            False,
            id="not-all-available",
        ),
        pytest.param(
            DEPLOYMENT,
            {"replicas": 1},
            {"observedGeneration": 1, "updatedReplicas": 1, "availableReplicas": 1},
            False,
            id="not-seen-yet",
        ),
        pytest.param(
            REPLICA_SET, {"replicas": 1}, SEEN | {"availableReplicas": 1}, True, id="available"
        ),
        pytest.param(REPLICA_SET, {"replicas": 1}, SEEN, False, id="unavailable"),
        pytest.param(
            DAEMON_SET,
            {},
            SEEN | {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2},
            True,
            id="on-all-nodes",
        ),
        pytest.param(
            DAEMON_SET,
            {},
            SEEN | {"desiredNumberScheduled": 3, "updatedNumberScheduled": 2, "numberAvailable": 2},
            False,
            id="a-node-is-missing",
        ),
        pytest.param(SERVICE, {"type": "ClusterIP"}, {}, True, id="a-service-needs-nothing"),
        pytest.param(SERVICE, {"type": "LoadBalancer"}, {}, False, id="a-balancer-an-address"),
        pytest.param(
            SERVICE,
            {"type": "LoadBalancer"},
            {"loadBalancer": {"ingress": [{}, {"ip": "192.0.2.1"}]}},
            True,
            id="and-it-has-one",
        ),
        pytest.param(
            INGRESS, {}, {"loadBalancer": {"ingress": [{"hostname": "a"}]}}, True, id="by-name"
        ),
        pytest.param(INGRESS, {}, {"loadBalancer": {"ingress": [{}]}}, False, id="no-address"),
        pytest.param(CLAIM, {}, {"phase": "Bound"}, True, id="bound"),
        pytest.param(CLAIM, {}, {"phase": "Pending"}, False, id="unbound"),
        pytest.param(POD, {}, RUNNING, True, id="a-ready-pod"),
        pytest.param(POD, {}, {"phase": "Running"}, False, id="a-pod-not-ready"),
        pytest.param(POD, {}, {"phase": "Succeeded"}, True, id="a-pod-that-is-done"),
        pytest.param(POD, {}, RUNNING | {"phase": "Failed"}, False, id="a-pod-that-failed"),
        pytest.param(BUDGET, {}, {"currentHealthy": 2, "desiredHealthy": 2}, True, id="enough"),
        pytest.param(BUDGET, {}, {"currentHealthy": 1, "desiredHealthy": 2}, False, id="too-few"),
        pytest.param(JOB, {}, {"failed": 9}, True, id="kinds-nobody-judges-are-healthy"),
    ],
)
def test_health_is_told_from_spec_and_status(kind, spec, status, healthy):
    observed = make(kind, metadata={"generation": 2}, spec=spec, status=status)
    assert NATIVE_ONLY.health(observed) == (Health.HEALTHY if healthy else Health.UNHEALTHY)


def test_the_health_of_what_cannot_be_understood_is_an_error_that_says_where():
    with pytest.raises(Invalid, match=r"status\.phase"):
        NATIVE_ONLY.health(make(POD, status={"phase": 7}))
    with pytest.raises(Invalid, match="kind"):
        NATIVE_ONLY.health({"kind": []})
