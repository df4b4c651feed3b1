"""Volcano, Flink, Kubeflow, Ray and Spark: what is reported of them, and how it adds up."""

from typing import Any

import pytest
from interpreting_builders import make, make_items

from atoll.interpreting.builtin import BUILT_IN
from atoll.wire import Wire

VOLCANO = ("batch.volcano.sh/v1alpha1", "Job")
FLINK = ("flink.apache.org/v1beta1", "FlinkDeployment")
PYTORCH, TENSORFLOW = ("kubeflow.org/v1", "PyTorchJob"), ("kubeflow.org/v1", "TFJob")
MPI, NOTEBOOK = ("kubeflow.org/v2beta1", "MPIJob"), ("kubeflow.org/v1", "Notebook")
RAY, RAY_JOB, RAY_SERVICE = (("ray.io/v1", f"Ray{each}") for each in ("Cluster", "Job", "Service"))
SPARK = ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
DAYS = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 6)]


def job(state: str | None, **more: str) -> Wire:
    return {"jobStatus": {} if state is None else {"state": state}, **more}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (
            VOLCANO,
            {
                "minAvailable": 1,
                "running": 2,
                "version": 3,
                "runningDuration": "5s",
                "taskStatusCount": {"a": {"phase": {"Running": 2}}},
                "controlledResources": {"x": "y"},
                "state": {"phase": "Running"},
                "conditions": [{"status": "Running"}],
            },
        ),
        (FLINK, {"jobStatus": {"state": "RUNNING"}, "lifecycleState": "STABLE", "taskManager": {}}),
        (
            MPI,
            {
                "replicaStatuses": {"Worker": {"active": 1, "selector": "a=b"}},
                "startTime": DAYS[0],
                "conditions": [],
            },
        ),
        (NOTEBOOK, {"readyReplicas": 1, "containerState": {"running": {}}, "conditions": []}),
        (
            SPARK,
            {
                "applicationState": {"state": "RUNNING"},
                "driverInfo": {"podName": "d"},
                "executorState": {"x": "RUNNING"},
                "sparkApplicationId": "1",
                "submissionAttempts": 1,
                "submissionID": "2",
            },
        ),
    ],
)
def test_what_adds_up_is_reported_and_nothing_else(kind: Any, status: Wire) -> None:
    assert BUILT_IN.reflect(make(kind, status={**status, "other": 1})) == status


def summed(kind: Any, **reports: Wire) -> Wire:
    found = BUILT_IN.aggregate(make(kind), make_items(**reports))
    assert found is not None
    return dict(found)


@pytest.mark.parametrize("kind", [VOLCANO, MPI, NOTEBOOK, RAY, RAY_JOB, RAY_SERVICE, SPARK])
def test_the_status_of_one_cluster_is_the_whole(kind: Any) -> None:
    status = {"anything": {"it": "says"}}
    assert summed(kind, a=status) == status
    assert BUILT_IN.aggregate(make(kind), ()) is None


def test_volcano_jobs_add_up() -> None:
    status = {
        "running": 1,
        "version": 2,
        "runningDuration": "1m5s",
        "taskStatusCount": {"t": {"phase": {"Running": 1}}},
        "controlledResources": {"x": "y"},
        "state": {"phase": "Completed", "lastTransitionTime": DAYS[0]},
        "conditions": [{"status": "Running", "lastTransitionTime": DAYS[1]}],
    }
    later = {
        **status,
        "version": 1,
        "runningDuration": "59s",
        "state": {"phase": "Completed", "lastTransitionTime": DAYS[2]},
        "conditions": [{"status": "Running", "lastTransitionTime": DAYS[0]}],
    }
    assert summed(VOLCANO, a=status, b=later) == {
        "running": 2,
        "version": 2,
        "runningDuration": "1m5s",
        "taskStatusCount": {"t": {"phase": {"Running": 2}}},
        "controlledResources": {"x": "y"},
        "state": {
            "phase": "Completed",
            "reason": "Completed",
            "message": "Job completed successfully",
            "lastTransitionTime": DAYS[2],
        },
        "conditions": [{"status": "Running", "lastTransitionTime": DAYS[1]}],
    }
    aborted = {"state": {"phase": "Aborted"}, "conditions": [{"status": "Aborted"}]}
    found = summed(VOLCANO, a=status, b=aborted)
    assert found["state"]["message"] == "Job failed in clusters: b"
    assert found["conditions"] == aborted["conditions"]


def test_of_a_flink_job_the_last_cluster_is_believed() -> None:
    first, last = job("RUNNING", error="x"), job("FINISHED")
    assert summed(FLINK, a=first, b=last) == last
    assert BUILT_IN.aggregate(make(FLINK), make_items(a=None)) is None


def training(end: str, day: int, **more: Any) -> Wire:
    held = [{"type": kind, "status": "True"} for kind in ("Created", "Running", end) if kind]
    return {
        "startTime": DAYS[0],
        "completionTime": DAYS[day],
        "replicaStatuses": {"Worker": {"succeeded": 2}},
        "conditions": held,
        **more,
    }


@pytest.mark.parametrize(
    ("kind", "ends", "told"),
    [
        (
            PYTORCH,
            ("Succeeded", "Succeeded"),
            [
                "Created True PyTorchJobCreated",
                "Running False PyTorchJobRunning",
                "Succeeded True PyTorchJobSucceeded",
            ],
        ),
        (
            PYTORCH,
            ("Succeeded", ""),
            ["Created True PyTorchJobCreated", "Running True PyTorchJobRunning"],
        ),
        (
            PYTORCH,
            ("Failed", ""),
            [
                "Created True PyTorchJobCreated",
                "Running False PyTorchJobRunning",
                "Failed True PyTorchJobFailed",
            ],
        ),
        (TENSORFLOW, ("Succeeded", "Succeeded"), ["Succeeded True Completed"]),
        (TENSORFLOW, ("Failed", "Succeeded"), ["Failed True TFJobFailed"]),
        (TENSORFLOW, ("", "Succeeded"), []),
    ],
)
def test_training_jobs_add_up(kind: Any, ends: tuple[str, str], told: list[str]) -> None:
    found = summed(kind, a=training(ends[0], 2), b=training(ends[1], 3))
    assert found["replicaStatuses"] == {"Worker": {"succeeded": 4}}
    assert found["startTime"] == DAYS[0]
    assert found.get("completionTime") == (DAYS[3] if ends == ("Succeeded", "Succeeded") else None)
    held = found.get("conditions", [])
    assert [f"{each['type']} {each['status']} {each['reason']}" for each in held] == told


def test_mpi_jobs_add_up() -> None:
    one = {
        "startTime": DAYS[1],
        "replicaStatuses": {"Worker": {"active": 1}},
        "conditions": [{"type": "Running", "lastUpdateTime": DAYS[1]}],
    }
    other = {
        "startTime": DAYS[0],
        "completionTime": DAYS[3],
        "replicaStatuses": {"Worker": {"active": 2, "failed": 1}},
        "conditions": [{"type": "Running", "lastUpdateTime": DAYS[2]}],
    }
    assert summed(MPI, a=one, b=other) == {
        "startTime": DAYS[0],
        "completionTime": DAYS[3],
        "replicaStatuses": {"Worker": {"active": 3, "succeeded": 0, "failed": 1}},
        "conditions": other["conditions"],
    }


def notebook(**state: Wire) -> Wire:
    return {"readyReplicas": 1, "containerState": state}


def test_notebooks_are_as_well_as_the_worst_of_them() -> None:
    found = summed(
        NOTEBOOK,
        a=notebook(running={"startedAt": DAYS[1]}),
        b=notebook(running={"startedAt": DAYS[0]}),
    )
    assert found["readyReplicas"] == 2
    assert found["containerState"] == {"running": {"startedAt": DAYS[1]}}
    assert [each["type"] for each in found["conditions"]] == ["Ready"]
    bad = summed(
        NOTEBOOK, a=notebook(running={}), b=notebook(), c=notebook(waiting={"reason": "x"})
    )
    assert bad["containerState"] == {"waiting": {"reason": "x"}}
    assert bad["conditions"][0]["message"].endswith("member clusters: b, c")
    assert summed(NOTEBOOK, a=notebook(running={}), b=notebook())["containerState"] == {
        "waiting": {"reason": "Unschedulable"}
    }


def test_ray_clusters_add_up() -> None:
    one = {
        "readyWorkerReplicas": 1,
        "desiredCPU": "1500m",
        "desiredMemory": "1Gi",
        "desiredGPU": "2",
        "head": {"podIP": "10.0.0.1"},
        "state": "ready",
        "lastUpdateTime": DAYS[1],
        "conditions": [{"type": "HeadPodReady"}],
    }
    found = summed(RAY, a=one, b={**one, "head": {"podIP": "10.0.0.2"}, "lastUpdateTime": DAYS[0]})
    assert found["readyWorkerReplicas"] == 2
    amounts = [found[key] for key in ("desiredCPU", "desiredMemory", "desiredGPU", "desiredTPU")]
    assert amounts == ["3", "2Gi", "4", "0"]
    assert (found["head"], found["state"]) == ({"podIP": "10.0.0.1"}, "ready")
    assert found["lastUpdateTime"] == DAYS[1]
    assert len(found["conditions"]) == 2


def test_of_ray_jobs_and_services_the_worst_counts() -> None:
    good = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}
    bad = {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "reason": "r", "message": "m"}
    assert summed(RAY_JOB, a=good, b=bad) == bad

    def service(name: str, state: str, **more: Any) -> Wire:
        applications = {"applicationStatuses": {"shop": {"status": state}}, "name": name}
        return {"activeServiceStatus": applications, "numServeEndpoints": 1, **more}

    found = summed(
        RAY_SERVICE,
        a=service("x", "RUNNING", serviceStatus="Running", observedGeneration=2),
        b=service("y", "UNHEALTHY", serviceStatus="", observedGeneration=1),
    )
    assert found["numServeEndpoints"] == 2
    assert found["observedGeneration"] == 2
    assert "serviceStatus" not in found
    assert found["activeServiceStatus"] == {
        "name": "x",
        "applicationStatuses": {"shop": {"status": "UNHEALTHY"}},
    }


def test_spark_applications_add_up() -> None:
    def application(state: str, executor: str, day: int) -> Wire:
        return {
            "applicationState": {"state": state},
            "executionAttempts": 1,
            "submissionAttempts": 2,
            "executorState": {executor: state},
            "terminationTime": DAYS[day],
        }

    a, b = application("FAILED", "x", 1), application("RUNNING", "y", 2)
    assert summed(SPARK, a=a, b=b) == {
        "applicationState": {"state": "FAILED"},
        "executionAttempts": 2,
        "submissionAttempts": 4,
        "executorState": {"x": "FAILED", "y": "RUNNING"},
        "terminationTime": DAYS[2],
    }
