"""What a template depends on, and what of it goes into a Work."""

import pytest
from interpreting_builders import NATIVE_ONLY, make, make_workload

from atoll.errors import Invalid
from atoll.interpreting.kinds import (
    CLAIM,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    INGRESS,
    JOB,
    POD,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    SERVICE_IMPORT,
    STATEFUL_SET,
)
from atoll.interpreting.pruning import prune

POD_SPEC = {
    "serviceAccountName": "robot",
    "imagePullSecrets": [{"name": "pull"}, {}],
    "initContainers": [{"envFrom": [{"secretRef": {"name": "s-init"}}]}],
    "containers": [
        {
            "envFrom": [{"configMapRef": {"name": "c-env"}}, {"secretRef": {"name": "s-env"}}],
            "env": [
                {"name": "A", "value": "1"},
                {"valueFrom": {"configMapKeyRef": {"name": "c-key", "key": "k"}}},
                {"valueFrom": {"secretKeyRef": {"name": "s-key", "key": "k"}}},
                {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            ],
        }
    ],
    "ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "c-debug"}}]}],
    "volumes": [
        {"configMap": {"name": "c-volume"}},
        {"secret": {"secretName": "s-volume"}},
        {
            "projected": {
                "sources": [{"configMap": {"name": "c-part"}}, {"secret": {"name": "s-p"}}]
            }
        },
        {"persistentVolumeClaim": {"claimName": "data"}},
        {"csi": {"driver": "d", "nodePublishSecretRef": {"name": "s-csi"}}},
        {"azureFile": {"secretName": "s-azure"}},
        {"iscsi": {"secretRef": {"name": "s-iscsi"}}},
        {"emptyDir": {}},
        {"configMap": {"name": "c-volume"}},
    ],
}
CONFIG_MAPS = ["c-debug", "c-env", "c-key", "c-part", "c-volume"]
SECRETS = ["pull", "s-azure", "s-csi", "s-env", "s-init", "s-iscsi", "s-key", "s-p", "s-volume"]
NEEDED = [
    *(f"ConfigMap {name}" for name in CONFIG_MAPS),
    *(f"Secret {name}" for name in SECRETS),
    "ServiceAccount robot",
    "PersistentVolumeClaim data",
]


def needed(template):
    return [f"{each.kind} {each.name}" for each in NATIVE_ONLY.dependencies(template)]


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(make_workload(DEPLOYMENT, POD_SPEC), id="deployment"),
        pytest.param(make_workload(DAEMON_SET, POD_SPEC), id="daemon-set"),
        pytest.param(make_workload(STATEFUL_SET, POD_SPEC), id="stateful-set"),
        pytest.param(make_workload(JOB, POD_SPEC), id="job"),
        pytest.param(make(POD, spec=POD_SPEC), id="pod"),
        pytest.param(
            make(CRON_JOB, spec={"jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}}}),
            id="cron-job",
        ),
    ],
)
def test_pods_need_what_they_refer_to(template):
    assert needed(template) == NEEDED
    found = NATIVE_ONLY.dependencies(template)
    assert {(each.api_version, each.namespace) for each in found} == {("v1", "shop")}


def test_the_default_account_is_everywhere_already():
    assert needed(make(POD, spec={"serviceAccountName": "default"})) == []


def test_a_stateful_set_makes_its_own_claims():
    volumes = [{"persistentVolumeClaim": {"claimName": name}} for name in ("data", "shared")]
    template = make_workload(
        STATEFUL_SET,
        {"volumes": [*volumes, {"secret": {"secretName": "data"}}]},
        volumeClaimTemplates=[{"metadata": {"name": "data"}}],
    )
    assert needed(template) == ["Secret data", "PersistentVolumeClaim shared"]


def test_an_ingress_needs_its_certificates():
    tls = [{"secretName": "b"}, {"hosts": ["x"]}, {"secretName": "a"}, {"secretName": "b"}]
    assert needed(make(INGRESS, spec={"tls": tls})) == ["Secret a", "Secret b"]


def test_an_imported_service_needs_the_derived_one_and_its_endpoints():
    service, slices = NATIVE_ONLY.dependencies(make(SERVICE_IMPORT))
    assert service.wire() == {
        "apiVersion": "v1",
        "kind": "Service",
        "namespace": "shop",
        "name": "derived-web",
    }
    assert slices.wire() == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "namespace": "shop",
        "labelSelector": {"matchLabels": {"kubernetes.io/service-name": "derived-web"}},
    }


def test_kinds_nobody_knows_need_nothing():
    assert needed(make(("example.com/v1", "Toy"), spec={"template": {"spec": POD_SPEC}})) == []


def test_a_wrong_reference_is_told_where_it_is():
    template = make_workload(DEPLOYMENT, {"volumes": [{"secret": {"secretName": 7}}]})
    with pytest.raises(Invalid, match=r"^spec.template.spec.volumes\[0\].secret.secretName: 7"):
        NATIVE_ONLY.dependencies(template)


FILLED_IN = {
    "creationTimestamp": "2026-05-01T10:00:00Z",
    "deletionTimestamp": "2026-05-01T10:00:00Z",
    "deletionGracePeriodSeconds": 30,
    "generation": 3,
    "managedFields": [],
    "resourceVersion": "7",
    "selfLink": "/x",
    "uid": "u",
    "ownerReferences": [{}],
    "finalizers": ["f"],
}
UID, NAME = {"controller-uid": "u"}, {"job-name": "web"}
GENERATED = (
    UID | NAME | {f"batch.kubernetes.io/{key}": "u" for key in ("controller-uid", "job-name")}
)


def job(labels, selector=None, **spec):
    chosen = {"selector": {"matchLabels": selector}} if selector else {}
    return make(JOB, spec={"template": {"metadata": {"labels": labels}}, **chosen, **spec})


@pytest.mark.parametrize(
    ("template", "manifest"),
    [
        pytest.param(
            make(("v1", "ConfigMap"), metadata=FILLED_IN | {"labels": {"a": "b"}}, status={"x": 1}),
            make(("v1", "ConfigMap"), metadata={"labels": {"a": "b"}}),
            id="what-servers-fill-in",
        ),
        pytest.param(
            make(
                DEPLOYMENT,
                metadata={
                    "annotations": {
                        "a": "b",
                        "deployment.kubernetes.io/revision": "3",
                        "deployment.kubernetes.io/revision-history": "1,2",
                    }
                },
            ),
            make(DEPLOYMENT, metadata={"annotations": {"a": "b"}}),
            id="the-revision-of-a-deployment",
        ),
        pytest.param(
            job(GENERATED | {"app": "web"}, UID, ttlSecondsAfterFinished=5),
            job({"app": "web"}),
            id="the-generated-selector-of-a-job",
        ),
        pytest.param(
            job(GENERATED, UID, manualSelector=True, ttlSecondsAfterFinished=5),
            job(GENERATED, UID, manualSelector=True),
            id="a-selector-by-hand",
        ),
        pytest.param(
            make(SERVICE_ACCOUNT, secrets=[{"name": "web-token-1"}, {"name": "mine"}]),
            make(SERVICE_ACCOUNT, secrets=[{"name": "mine"}]),
            id="tokens-made-for-an-account",
        ),
        pytest.param(
            make(SERVICE_ACCOUNT, secrets=[{"name": "web-token-1"}, {"name": "web-token-2"}]),
            make(SERVICE_ACCOUNT),
            id="nothing-but-tokens",
        ),
        pytest.param(
            make(SERVICE, spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": []}),
            make(SERVICE, spec={"ports": []}),
            id="the-addresses-of-a-service",
        ),
        pytest.param(
            make(SERVICE, spec={"clusterIP": "None", "clusterIPs": ["None"]}),
            make(SERVICE, spec={"clusterIP": "None", "clusterIPs": ["None"]}),
            id="a-headless-service",
        ),
        pytest.param(
            make(
                SECRET,
                type="kubernetes.io/service-account-token",
                data={"token": "eA=="},
                metadata={"annotations": {"kubernetes.io/service-account.uid": "u"}},
            ),
            make(SECRET, type="kubernetes.io/service-account-token"),
            id="the-token-of-an-account",
        ),
        pytest.param(
            make(SECRET, type="Opaque", data={"a": "eA=="}),
            make(SECRET, type="Opaque", data={"a": "eA=="}),
            id="a-secret-is-sent",
        ),
        pytest.param(
            make(
                CLAIM,
                metadata={"annotations": {"volume.kubernetes.io/selected-node": "n", "a": ""}},
            ),
            make(CLAIM, metadata={"annotations": {"a": ""}}),
            id="the-node-of-a-claim",
        ),
        pytest.param(
            make(("example.com/v1", "Service"), spec={"clusterIP": "x"}),
            make(("example.com/v1", "Service"), spec={"clusterIP": "x"}),
            id="another-group's-service",
        ),
    ],
)
def test_a_manifest_has_only_what_was_wished(template, manifest):
    assert prune(template) == manifest
