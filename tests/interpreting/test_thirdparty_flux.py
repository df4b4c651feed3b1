"""Flux's sources and releases, and Kyverno's policies: every operation, by tables."""

from typing import Any

import pytest
from interpreting_builders import make, make_items

from atoll.dialects.karmada.names import TEMPLATE_GENERATION
from atoll.interpreting.builtin import BUILT_IN
from atoll.wire import Wire

BETA = "source.toolkit.fluxcd.io/v1beta2"
RELEASE = ("helm.toolkit.fluxcd.io/v2beta1", "HelmRelease")
KUSTOMIZATION = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
GIT = ("source.toolkit.fluxcd.io/v1", "GitRepository")
BUCKET, CHART = (BETA, "Bucket"), (BETA, "HelmChart")
REPOSITORY, OCI = (BETA, "HelmRepository"), (BETA, "OCIRepository")
ALL = (RELEASE, KUSTOMIZATION, GIT, BUCKET, CHART, REPOSITORY, OCI)
POLICIES = (("kyverno.io/v1", "ClusterPolicy"), ("kyverno.io/v1", "Policy"))
NAMES = {"ids": lambda kind: kind[1]}


def condition(reason: str, status: str = "True", message: str = "said") -> Wire:
    return {"type": "Ready", "status": status, "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (RELEASE, "ReconciliationSucceeded"),
        (KUSTOMIZATION, "ReconciliationSucceeded"),
        (GIT, "Succeeded"),
        (BUCKET, "Succeeded"),
        (CHART, "Succeeded"),
        (CHART, "ChartPullSucceeded"),
        (REPOSITORY, "Succeeded"),
        (OCI, "Succeeded"),
    ],
)
def test_they_are_healthy_when_ready_for_the_right_reason(kind: Any, reason: str) -> None:
    def health(*conditions: Wire) -> str:
        return BUILT_IN.health(make(kind, status={"conditions": list(conditions)}))

    assert health(condition("Other"), condition(reason)) == "Healthy"
    assert health(condition(reason, "False")) == "Unhealthy"
    assert health(condition("Other")) == "Unhealthy"
    assert BUILT_IN.health(make(kind)) == "Unhealthy"


@pytest.mark.parametrize("kind", ALL, **NAMES)
def test_whoever_suspends_one_in_a_member_does_so_there(kind: Any) -> None:
    desired = make(kind, spec={"suspend": False, "interval": "5m"})
    kept = BUILT_IN.retain(desired, make(kind, spec={"suspend": True, "interval": "1m"}))
    assert kept["spec"] == {"suspend": True, "interval": "5m"}
    assert BUILT_IN.retain(desired, make(kind, spec={})) == desired


ARTIFACT = {"artifact": {"revision": "1"}}
REPORTED: dict[Any, Wire] = {
    RELEASE: {
        "lastAttemptedRevision": "2",
        "lastAppliedRevision": "1",
        "lastAttemptedValuesChecksum": "c",
        "helmChart": "shop/web",
        "lastReleaseRevision": 4,
        "failures": 1,
        "upgradeFailures": 2,
        "installFailures": 3,
    },
    KUSTOMIZATION: {"lastAttemptedRevision": "2", "lastAppliedRevision": "1"},
    GIT: ARTIFACT,
    BUCKET: {**ARTIFACT, "url": "http://x"},
    CHART: {
        **ARTIFACT,
        "url": "http://x",
        "observedChartName": "web",
        "observedSourceArtifactRevision": "7",
    },
    REPOSITORY: {**ARTIFACT, "url": "http://x"},
    OCI: {**ARTIFACT, "url": "http://x"},
}
ONLY_REPORTED = {
    GIT: {"observedIgnore": "*.md", "observedRecurseSubmodules": True},
    BUCKET: {"observedIgnore": "*.md"},
    OCI: {"observedIgnore": "*.md", "observedLayerSelector": {"mediaType": "x"}},
}


@pytest.mark.parametrize("kind", ALL, **NAMES)
def test_statuses_are_reported_and_put_together(kind: Any) -> None:
    more = ONLY_REPORTED.get(kind, {})
    status = {**REPORTED[kind], **more, "conditions": [condition("x")], "observedGeneration": 4}
    metadata = {"generation": 4, "annotations": {TEMPLATE_GENERATION: "2"}}
    told = BUILT_IN.reflect(make(kind, metadata=metadata, status={**status, "other": 1}))
    assert told == {**status, "generation": 4, "resourceTemplateGeneration": 2}
    found = BUILT_IN.aggregate(make(kind, metadata={"generation": 2}), make_items(a=told, b=told))
    doubled = {
        key: 2 * value if key.lower().endswith("failures") else value
        for key, value in REPORTED[kind].items()
    }
    one = condition("x", message="a=said, b=said")
    assert found == {**doubled, "conditions": [one], "observedGeneration": 2}


def test_conditions_that_differ_stay_apart_and_a_generation_waits_for_all() -> None:
    good, bad = condition("Succeeded"), condition("Failed", "False", "broke")
    reports = {
        "a": {"conditions": [good], "generation": 1, "observedGeneration": 1},
        "b": {"conditions": [bad], "generation": 1, "observedGeneration": -1},
    }
    template = make(GIT, metadata={"generation": 2}, status={"observedGeneration": 1})
    assert BUILT_IN.aggregate(template, make_items(**reports)) == {
        "conditions": [{**good, "message": "a=said"}, {**bad, "message": "b=broke"}],
        "observedGeneration": 1,
    }


def test_what_no_cluster_says_any_more_stays_as_it_was() -> None:
    template = make(KUSTOMIZATION, status={"lastAppliedRevision": "1"})
    found = BUILT_IN.aggregate(template, make_items(a={"lastAttemptedRevision": "2"}))
    assert found == {"lastAppliedRevision": "1", "lastAttemptedRevision": "2"}


def secret(name: str) -> Wire:
    return {"secretRef": {"name": name}}


@pytest.mark.parametrize(
    ("kind", "spec", "needed"),
    [
        (
            RELEASE,
            {
                "valuesFrom": [{"kind": "Secret", "name": "a"}, {"kind": "ConfigMap", "name": "b"}],
                "chart": {"spec": {"verify": secret("c")}},
                "kubeConfig": secret("d"),
                "serviceAccountName": "e",
            },
            ["ConfigMap b", "Secret a", "Secret c", "Secret d", "ServiceAccount e"],
        ),
        (
            KUSTOMIZATION,
            {"decryption": secret("a"), "kubeConfig": secret("b"), "serviceAccountName": "c"},
            ["Secret a", "Secret b", "ServiceAccount c"],
        ),
        (GIT, {**secret("a"), "verify": secret("b")}, ["Secret a", "Secret b"]),
        (BUCKET, secret("a"), ["Secret a"]),
        (CHART, {"verify": secret("a")}, ["Secret a"]),
        (REPOSITORY, secret("a"), ["Secret a"]),
        (
            OCI,
            {
                **secret("a"),
                "verify": secret("b"),
                "certSecretRef": {"name": "c"},
                "serviceAccountName": "d",
            },
            ["Secret a", "Secret b", "Secret c", "ServiceAccount d"],
        ),
        (OCI, {}, []),
    ],
)
def test_dependencies(kind: Any, spec: Wire, needed: list[str]) -> None:
    found = BUILT_IN.dependencies(make(kind, spec=spec))
    assert [f"{each.kind} {each.name}" for each in found] == needed
    assert {each.namespace for each in found} <= {"shop"}


@pytest.mark.parametrize("kind", POLICIES, **NAMES)
@pytest.mark.parametrize(
    ("status", "health"),
    [
        ({"ready": True}, "Healthy"),
        ({"ready": False, "conditions": [condition("Succeeded")]}, "Unhealthy"),
        ({"conditions": [condition("Succeeded")]}, "Healthy"),
        ({"conditions": [condition("Failed")]}, "Unhealthy"),
        ({}, "Unhealthy"),
    ],
)
def test_policies_are_healthy_when_ready(kind: Any, status: Wire, health: str) -> None:
    assert BUILT_IN.health(make(kind, status=status)) == health


@pytest.mark.parametrize("kind", POLICIES, **NAMES)
def test_policies_are_reported_and_their_rules_counted(kind: Any) -> None:
    rules = {"validate": 1, "generate": 2, "mutate": 3, "verifyimages": 4}
    status = {
        "ready": True,
        "conditions": [condition("Succeeded")],
        "autogen": {"rules": []},
        "rulecount": rules,
    }
    told = BUILT_IN.reflect(make(kind, status={**status, "other": 1}))
    assert told == status
    found = BUILT_IN.aggregate(make(kind), make_items(a=told, b={**told, "ready": False}))
    assert found == {
        "ready": False,
        "conditions": [condition("Succeeded", message="a=said, b=said")],
        "autogen": {"rules": []},
        "rulecount": {key: 2 * value for key, value in rules.items()},
    }
