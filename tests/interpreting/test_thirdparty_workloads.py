"""OpenKruise's workloads and Argo's workflows: every operation, by tables."""

import pytest
from interpreting_builders import make, make_items

from atoll.dialects.karmada.names import TEMPLATE_GENERATION
from atoll.interpreting.builtin import BUILT_IN
from atoll.interpreting.operations import Dependency
from atoll.wire import Wire

ALPHA, BETA = "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"
CLONES, DAEMONS, UNITED = (ALPHA, "CloneSet"), (ALPHA, "DaemonSet"), (ALPHA, "UnitedDeployment")
ORDINALS, BROADCAST, CRON = (
    (BETA, "StatefulSet"),
    (ALPHA, "BroadcastJob"),
    (ALPHA, "AdvancedCronJob"),
)
SIDECARS, WORKFLOW = (ALPHA, "SidecarSet"), ("argoproj.io/v1alpha1", "Workflow")
POD: Wire = {
    "containers": [
        {
            "name": "c",
            "resources": {"requests": {"cpu": "250m"}},
            "envFrom": [{"configMapRef": {"name": "settings"}}],
        }
    ],
    "volumes": [{"name": "v", "secret": {"secretName": "keys"}}],
}
TEMPLATE = {"spec": POD}
SETTINGS = Dependency("v1", "ConfigMap", "shop", "settings")
KEYS = Dependency("v1", "Secret", "shop", "keys")
REQUEST = {"resourceRequest": {"cpu": "250m"}}


@pytest.mark.parametrize(
    ("kind", "spec", "count", "requirements"),
    [
        (CLONES, {"replicas": 3, "template": TEMPLATE}, 3, REQUEST),
        (CLONES, {"template": TEMPLATE}, 1, REQUEST),
        (ORDINALS, {"replicas": 0, "template": TEMPLATE}, 0, REQUEST),
        (UNITED, {"replicas": 5, "template": TEMPLATE}, 5, REQUEST),
        (
            UNITED,
            {"replicas": 5, "template": {"cloneSetTemplate": {"spec": {"template": TEMPLATE}}}},
            5,
            REQUEST,
        ),
        (BROADCAST, {"parallelism": 4, "template": TEMPLATE}, 4, REQUEST),
        (BROADCAST, {"parallelism": "50%", "template": TEMPLATE}, 1, REQUEST),
        (SIDECARS, {"containers": POD["containers"]}, 0, None),
        (WORKFLOW, {"parallelism": 2}, 2, None),
        (
            WORKFLOW,
            {"nodeSelector": {"disk": "ssd"}},
            1,
            {"nodeClaim": {"nodeSelector": {"disk": "ssd"}}},
        ),
    ],
)
def test_replicas(kind: tuple[str, str], spec: Wire, count: int, requirements: Wire | None) -> None:
    found = BUILT_IN.replicas(make(kind, spec=spec))
    assert found is not None
    assert (found.count, found.requirements) == (count, requirements)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (CLONES, "replicas"),
        (ORDINALS, "replicas"),
        (UNITED, "replicas"),
        (BROADCAST, "parallelism"),
        (WORKFLOW, "parallelism"),
    ],
)
def test_revised(kind: tuple[str, str], field: str) -> None:
    wire = make(kind, spec={field: 1, "other": "kept"})
    assert BUILT_IN.revise(wire, 7)["spec"] == {field: 7, "other": "kept"}
    assert wire["spec"][field] == 1


READY = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}


@pytest.mark.parametrize("kind", [CLONES, ORDINALS, UNITED], ids=lambda kind: kind[1])
@pytest.mark.parametrize(
    ("status", "healthy"),
    [
        ({**READY, "observedGeneration": 2}, True),
        ({**READY, "observedGeneration": 1}, False),
        ({**READY, "observedGeneration": 2, "updatedReplicas": 2}, False),
        ({**READY, "observedGeneration": 2, "availableReplicas": 2}, False),
    ],
)
def test_health_of_workloads(kind: tuple[str, str], status: Wire, *, healthy: bool) -> None:
    observed = make(kind, metadata={"generation": 2}, spec={"replicas": 3}, status=status)
    assert (BUILT_IN.health(observed) == "Healthy") is healthy


@pytest.mark.parametrize(
    ("kind", "status", "healthy"),
    [
        (
            DAEMONS,
            {
                "observedGeneration": 2,
                "desiredNumberScheduled": 2,
                "updatedNumberScheduled": 2,
                "numberAvailable": 2,
            },
            True,
        ),
        (DAEMONS, {"observedGeneration": 2, "desiredNumberScheduled": 2}, False),
        (BROADCAST, {"desired": 2, "active": 1, "succeeded": 0, "failed": 0}, True),
        (BROADCAST, {"desired": 2, "active": 0, "succeeded": 2, "failed": 0}, True),
        (BROADCAST, {"desired": 2, "active": 1, "succeeded": 0, "failed": 1}, False),
        (BROADCAST, {"desired": 0}, False),
        (BROADCAST, {"desired": 2}, False),
        (SIDECARS, {"matchedPods": 0}, True),
        (SIDECARS, {"matchedPods": 2, "updatedPods": 2}, True),
        (SIDECARS, {"matchedPods": 2, "updatedPods": 1}, False),
        (SIDECARS, None, False),
        (WORKFLOW, {"phase": "Running"}, True),
        (WORKFLOW, {"phase": "Succeeded"}, True),
        (WORKFLOW, {"phase": "Error"}, False),
        (WORKFLOW, {"phase": "Failed"}, False),
        (WORKFLOW, {}, False),
    ],
)
def test_health(kind: tuple[str, str], status: Wire | None, *, healthy: bool) -> None:
    told = {} if status is None else {"status": status}
    observed = make(kind, metadata={"generation": 2}, **told)
    assert (BUILT_IN.health(observed) == "Healthy") is healthy


COUNTERS = {
    CLONES: (*READY, "updatedReadyReplicas", "expectedUpdatedReplicas"),
    ORDINALS: (*READY, "currentReplicas", "updatedReadyReplicas"),
    UNITED: (*READY, "unavailableReplicas"),
    DAEMONS: (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ),
}
TEXTS = {
    CLONES: ("updateRevision", "currentRevision", "labelSelector"),
    ORDINALS: ("updateRevision", "currentRevision"),
    UNITED: (),
    DAEMONS: ("daemonSetHash",),
}


@pytest.mark.parametrize("kind", COUNTERS, ids=lambda kind: kind[1])
def test_statuses_of_workloads_are_reported_with_their_generations_and_added_up(
    kind: tuple[str, str],
) -> None:
    counts = {key: at for at, key in enumerate(COUNTERS[kind], 1)}
    texts = {key: f"{key} of it" for key in TEXTS[kind]}
    metadata = {"generation": 5, "annotations": {TEMPLATE_GENERATION: "3"}}
    observed = make(
        kind,
        metadata=metadata,
        status={**counts, **texts, "observedGeneration": 5, "secret": "of the member"},
    )
    told = BUILT_IN.reflect(observed)
    generations = {"observedGeneration": 5, "generation": 5, "resourceTemplateGeneration": 3}
    assert told == {**counts, **texts, **generations}
    template = make(kind, metadata={"generation": 3}, status={"kept": "yes"})
    doubled = {key: 2 * value for key, value in counts.items()}
    expected = {"kept": "yes", **doubled, **texts, "observedGeneration": 3}
    assert BUILT_IN.aggregate(template, make_items(a=told, b=told)) == expected
    behind = {**told, "resourceTemplateGeneration": 2}
    found = BUILT_IN.aggregate(template, make_items(a=told, b=behind))
    assert found == {key: value for key, value in expected.items() if key != "observedGeneration"}


def test_of_a_united_deployments_conditions_the_last_cluster_is_believed() -> None:
    said = [{"conditions": [{"type": "Updated", "status": each}]} for each in ("True", "False")]
    found = BUILT_IN.aggregate(make(UNITED), make_items(a=said[0], b=said[1]))
    assert found is not None
    assert found["conditions"] == [{"type": "Updated", "status": "False"}]


def ended(kind: str, **counts: int) -> Wire:
    return {**counts, "phase": "x", "conditions": [{"type": kind, "status": "True"}]}


@pytest.mark.parametrize(
    ("reports", "conditions"),
    [
        ({"a": ended("Complete"), "b": ended("Complete")}, ["Completed Job completed"]),
        (
            {"a": ended("Failed"), "b": ended("Complete"), "c": ended("Failed")},
            ["Failed Job executed failed in member clusters: a, c"],
        ),
        ({"a": ended("Complete"), "b": {"active": 1}}, []),
    ],
)
def test_broadcast_jobs_end_as_their_clusters_do(reports: Wire, conditions: list[str]) -> None:
    found = BUILT_IN.aggregate(make(BROADCAST), make_items(**reports))
    assert found is not None
    told = [f"{each['type']} {each['message']}" for each in found["conditions"]]
    assert told == conditions


def test_broadcast_jobs_are_summed_reported_and_keep_their_members_labels() -> None:
    status = {"active": 1, "succeeded": 2, "failed": 0, "desired": 3, "phase": "running"}
    found = BUILT_IN.aggregate(make(BROADCAST), make_items(a=status, b=status))
    assert found is not None
    assert [found[key] for key in ("active", "succeeded", "desired", "phase")] == [
        2,
        4,
        6,
        "running",
    ]
    started = {**status, "startTime": "2026-01-01T00:00:00Z"}
    observed = make(BROADCAST, status={**started, "other": 1})
    assert BUILT_IN.reflect(observed) == started
    labels = {"metadata": {"labels": {"job": "1"}}}
    desired = make(BROADCAST, spec={"template": {"metadata": {"labels": {"app": "web"}}}})
    kept = BUILT_IN.retain(desired, make(BROADCAST, spec={"template": labels}))
    assert kept["spec"]["template"] == labels


def test_schedules_list_all_active_jobs_and_the_last_start() -> None:
    reports = {
        "a": {"active": [{"name": "x"}], "type": "Job", "lastScheduleTime": "2026-01-02T00:00:00Z"},
        "b": {"active": [{"name": "y"}], "lastScheduleTime": "2026-01-01T00:00:00Z"},
    }
    assert BUILT_IN.aggregate(make(CRON), make_items(**reports)) == {
        "active": [{"name": "x"}, {"name": "y"}],
        "type": "Job",
        "lastScheduleTime": "2026-01-02T00:00:00Z",
    }


def test_sidecars_are_reported_and_summed() -> None:
    observed = make(SIDECARS, status={"matchedPods": 2, "updatedPods": 1, "x": 1})
    told = BUILT_IN.reflect(observed)
    assert told == {"matchedPods": 2, "updatedPods": 1, "readyPods": 0}
    found = BUILT_IN.aggregate(make(SIDECARS), make_items(a=told, b=told))
    assert found == {"matchedPods": 4, "updatedPods": 2, "readyPods": 0}
    desired = make(SIDECARS, spec={"a": 1})
    assert BUILT_IN.retain(desired, make(SIDECARS, spec={"a": 2})) == desired


def test_workflows_stay_suspended_where_they_were_suspended() -> None:
    desired, status = make(WORKFLOW, spec={"suspend": False}), {"phase": "Running"}
    observed = make(WORKFLOW, spec={"suspend": True}, status=status)
    kept = BUILT_IN.retain(desired, observed)
    assert (kept["spec"]["suspend"], kept["status"]) == (True, status)
    assert BUILT_IN.retain(desired, make(WORKFLOW, spec={})) == desired


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (CLONES, {"template": TEMPLATE}),
        (ORDINALS, {"template": TEMPLATE}),
        (DAEMONS, {"template": TEMPLATE}),
        (UNITED, {"template": TEMPLATE}),
        (UNITED, {"template": {"deploymentTemplate": {"spec": {"template": TEMPLATE}}}}),
        (BROADCAST, {"template": TEMPLATE}),
        (CRON, {"template": {"jobTemplate": {"spec": {"template": TEMPLATE}}}}),
        (CRON, {"template": {"broadcastJobTemplate": {"spec": {"template": TEMPLATE}}}}),
        (SIDECARS, POD),
        (WORKFLOW, POD),
    ],
)
def test_dependencies(kind: tuple[str, str], spec: Wire) -> None:
    assert BUILT_IN.dependencies(make(kind, spec=spec)) == (SETTINGS, KEYS)


def test_sidecars_need_things_where_their_pods_are() -> None:
    wire = {**make(SIDECARS, spec={**POD, "namespace": "shop"}), "metadata": {"name": "all"}}
    assert BUILT_IN.dependencies(wire) == (SETTINGS, KEYS)


def test_workflows_need_accounts_and_claims() -> None:
    spec = {
        "serviceAccountName": "runner",
        "executor": {"serviceAccountName": "executor"},
        "volumeClaimTemplates": [{"metadata": {"name": "work"}}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    }
    found = [(each.kind, each.name) for each in BUILT_IN.dependencies(make(WORKFLOW, spec=spec))]
    accounts = [("ServiceAccount", "executor"), ("ServiceAccount", "runner")]
    claims = [("PersistentVolumeClaim", "data"), ("PersistentVolumeClaim", "work")]
    assert found == [*accounts, *claims]
