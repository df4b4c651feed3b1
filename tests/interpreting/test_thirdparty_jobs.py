"""Volcano, Flink, Kubeflow, Ray and Spark: what they ask for, what they need, how they are."""

from typing import Any

import pytest
from interpreting_builders import make

from atoll.errors import Invalid
from atoll.interpreting.builtin import BUILT_IN
from atoll.wire import Wire

VOLCANO = ("batch.volcano.sh/v1alpha1", "Job")
FLINK = ("flink.apache.org/v1beta1", "FlinkDeployment")
PYTORCH, TENSORFLOW = ("kubeflow.org/v1", "PyTorchJob"), ("kubeflow.org/v1", "TFJob")
MPI, NOTEBOOK = ("kubeflow.org/v2beta1", "MPIJob"), ("kubeflow.org/v1", "Notebook")
RAY, RAY_JOB, RAY_SERVICE = (("ray.io/v1", f"Ray{each}") for each in ("Cluster", "Job", "Service"))
SPARK = ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
SLOTS = "taskmanager.numberOfTaskSlots"


def pods(cpu: str = "1", secret: str = "") -> Wire:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    more = {"imagePullSecrets": [{"name": secret}]} if secret else {}
    return {"template": {"spec": {"containers": [container], **more}}}


def listed(found: tuple[Wire, ...]) -> list[tuple[str, int, Wire]]:
    requests = [(each.get("replicaRequirements") or {}).get("resourceRequest") for each in found]
    return [
        (each["name"], each["replicas"], request or {})
        for each, request in zip(found, requests, strict=True)
    ]


def groups(head: str, *workers: tuple[str, int | None, str]) -> Wire:
    """A Ray cluster: what its head needs, and groups of workers."""
    found = [
        {
            **({"groupName": name} if name else {}),
            **({} if count is None else {"replicas": count}),
            **pods(cpu, secret="workers"),
        }
        for name, count, cpu in workers
    ]
    return {"headGroupSpec": pods(head, secret="head"), "workerGroupSpecs": found}


RAY_SPEC = groups("2", ("small", 2, "1"), ("", None, "500m"))
RAY_FOUND = [
    ("ray-head", 1, {"cpu": "2"}),
    ("small", 2, {"cpu": "1"}),
    ("worker-2", 0, {"cpu": "500m"}),
]


@pytest.mark.parametrize(
    ("kind", "spec", "components"),
    [
        (
            VOLCANO,
            {"tasks": [{"name": "a", "minAvailable": 2, "replicas": 5, **pods()}, pods("2")]},
            [("a", 2, {"cpu": "1"}), ("task-1", 1, {"cpu": "2"})],
        ),
        (VOLCANO, {}, []),
        (
            PYTORCH,
            {"pytorchReplicaSpecs": {"Worker": {"replicas": 3, **pods()}, "Master": pods("2")}},
            [("master", 1, {"cpu": "2"}), ("worker", 3, {"cpu": "1"})],
        ),
        (
            TENSORFLOW,
            {"tfReplicaSpecs": {"Worker": {"replicas": 2, **pods()}, "PS": {"replicas": 0}}},
            [("ps", 0, {}), ("worker", 2, {"cpu": "1"})],
        ),
        (
            MPI,
            {"mpiReplicaSpecs": {"Worker": pods(), "Launcher": pods("2"), "Other": {}}},
            [("Launcher", 1, {"cpu": "2"}), ("Worker", 0, {"cpu": "1"})],
        ),
        (RAY, RAY_SPEC, RAY_FOUND),
        (RAY_JOB, {"rayClusterSpec": RAY_SPEC}, RAY_FOUND),
        (
            FLINK,
            {
                "jobManager": {"resource": {"cpu": 0.5, "memory": "1024m"}},
                "taskManager": {"replicas": 2, "resource": {"cpu": 2, "memory": "4Gi"}},
            },
            [
                ("jobmanager", 1, {"cpu": "500m", "memory": "1Gi"}),
                ("taskmanager", 2, {"cpu": "2", "memory": "4Gi"}),
            ],
        ),
        (
            SPARK,
            {
                "type": "Scala",
                "driver": {"cores": 2, "memory": "512m"},
                "executor": {
                    "instances": 3,
                    "memory": "8g",
                    "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
                },
            },
            [
                ("driver", 1, {"cpu": "2", "memory": "896Mi"}),
                ("executor", 3, {"cpu": "1", "memory": "9448928052", "nvidia.com/gpu": "1"}),
            ],
        ),
        (
            SPARK,
            {
                "type": "Python",
                "memoryOverheadFactor": "0.5",
                "driver": {"memory": "2g"},
                "executor": {"memory": "1g", "memoryOverhead": "1g"},
                "dynamicAllocation": {"enabled": True, "initialExecutors": 4, "minExecutors": 2},
            },
            [
                ("driver", 1, {"cpu": "1", "memory": "3Gi"}),
                ("executor", 4, {"cpu": "1", "memory": "2Gi"}),
            ],
        ),
    ],
)
def test_components(kind: Any, spec: Wire, components: list[tuple[str, int, Wire]]) -> None:
    assert listed(BUILT_IN.components(make(kind, spec=spec))) == components


def test_pods_of_flink_and_spark_go_to_the_nodes_they_are_limited_to() -> None:
    nodes = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}]}
    limited = {**nodes, "priorityClassName": "high"}
    flink = BUILT_IN.components(make(FLINK, spec={"podTemplate": {"spec": limited}}))
    spark = BUILT_IN.components(make(SPARK, spec={"driver": limited, "executor": {}}))
    for found in (*flink, spark[0]):
        assert found["replicaRequirements"]["nodeClaim"] == nodes
        assert found["replicaRequirements"]["priorityClassName"] == "high"
    assert "nodeClaim" not in spark[1]["replicaRequirements"]


def test_memory_that_cannot_be_read_is_said_so() -> None:
    with pytest.raises(Invalid, match=r"spec\.driver\.memory: 'much'"):
        BUILT_IN.components(make(SPARK, spec={"driver": {"memory": "much"}}))


@pytest.mark.parametrize(
    ("kind", "spec", "count", "request_"),
    [
        (NOTEBOOK, pods(), 1, {"cpu": "1"}),
        (FLINK, {"taskManager": {"replicas": 3}, "jobManager": {"replicas": 2}}, 5, {}),
        (
            FLINK,
            {
                "job": {"parallelism": 5},
                "flinkConfiguration": {SLOTS: "2"},
                "jobManager": {"resource": {"cpu": 2, "memory": "2g"}},
                "taskManager": {"resource": {"cpu": 1, "memory": "4096m"}},
            },
            4,
            {"cpu": "2", "memory": "4Gi"},
        ),
        (
            FLINK,
            {
                "job": {"parallelism": 5},
                "flinkConfiguration": {"taskmanager.numberOfTaskSlots": "0"},
            },
            2,
            {},
        ),
        (
            RAY_SERVICE,
            {"rayClusterConfig": groups("1", ("a", 2, "3"), ("b", 1, "500m"))},
            4,
            {"cpu": "3"},
        ),
        (RAY_SERVICE, {}, 0, {}),
    ],
)
def test_replicas(kind: Any, spec: Wire, count: int, request_: Wire) -> None:
    found = BUILT_IN.replicas(make(kind, spec=spec))
    assert found is not None
    assert found.count == count
    assert ((found.requirements or {}).get("resourceRequest") or {}) == request_


@pytest.mark.parametrize(
    ("before", "total", "after"),
    [
        ([3], 5, [4]),
        ([3], 0, [0]),
        ([1, 3], 9, [2, 6]),
        ([0, 0], 4, [2, 1]),
        ([1, 1, 1, 1], 3, [1, 1, 0, 0]),
        ([2, 1], 1, [0, 0]),
        ([], 4, []),
    ],
)
def test_a_ray_services_workers_are_divided_as_before(
    before: list[int], total: int, after: list[int]
) -> None:
    workers = [(f"g{index}", count, "1") for index, count in enumerate(before)]
    wire = make(RAY_SERVICE, spec={"rayClusterConfig": groups("1", *workers)})
    config = BUILT_IN.revise(wire, total)["spec"]["rayClusterConfig"]
    assert [each["replicas"] for each in config["workerGroupSpecs"]] == after


def conditions(**held: str) -> Wire:
    return {"conditions": [{"type": key, "status": value} for key, value in held.items()]}


def job(state: str | None, **more: str) -> Wire:
    return {"jobStatus": {} if state is None else {"state": state}, **more}


@pytest.mark.parametrize(
    ("kind", "status", "health"),
    [
        *((VOLCANO, {"state": {"phase": each}}, "Healthy") for each in ("Pending", "Aborted")),
        *((VOLCANO, {"state": {"phase": each}}, "Unhealthy") for each in ("Failed", "", "Odd")),
        *((FLINK, job(each), "Healthy") for each in ("RUNNING", "FAILED", "RESTARTING")),
        (FLINK, job("CREATED"), "Unhealthy"),
        (FLINK, job("RECONCILING", error="pod: ErrImagePull"), "Healthy"),
        (FLINK, job("INITIALIZING", error="no room"), "Unhealthy"),
        (FLINK, job("ODD"), "Unhealthy"),
        (
            FLINK,
            job(None, jobManagerDeploymentStatus="READY", lifecycleState="STABLE"),
            "Healthy",
        ),
        (FLINK, job(None, jobManagerDeploymentStatus="READY"), "Unhealthy"),
        *((kind, conditions(Running="True"), "Healthy") for kind in (PYTORCH, TENSORFLOW, MPI)),
        *((kind, conditions(Failed="True"), "Unhealthy") for kind in (PYTORCH, TENSORFLOW, MPI)),
        *((kind, conditions(Failed="False"), "Healthy") for kind in (PYTORCH, TENSORFLOW, MPI)),
        *((kind, {}, "Unhealthy") for kind in (PYTORCH, TENSORFLOW, MPI, NOTEBOOK, RAY_JOB)),
        (NOTEBOOK, {"containerState": {"running": {}}}, "Healthy"),
        (NOTEBOOK, {"containerState": {"waiting": {"reason": "ContainerCreating"}}}, "Healthy"),
        (NOTEBOOK, {"containerState": {"waiting": {"reason": "CrashLoopBackOff"}}}, "Unhealthy"),
        (NOTEBOOK, {"containerState": {"terminated": {"reason": "Completed"}}}, "Healthy"),
        (NOTEBOOK, {"containerState": {"terminated": {"exitCode": 1}}}, "Unhealthy"),
        (NOTEBOOK, {"containerState": {"terminated": {"reason": "OOMKilled"}}}, "Unhealthy"),
        (RAY, conditions(HeadPodReady="True", RayClusterProvisioned="True"), "Healthy"),
        (RAY, conditions(HeadPodReady="True"), "Unhealthy"),
        (
            RAY,
            conditions(
                HeadPodReady="True", RayClusterProvisioned="True", RayClusterReplicaFailure="True"
            ),
            "Unhealthy",
        ),
        (RAY_JOB, {"jobDeploymentStatus": "Running"}, "Healthy"),
        (RAY_JOB, {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}, "Healthy"),
        (RAY_JOB, {"jobDeploymentStatus": "Complete", "jobStatus": "FAILED"}, "Unhealthy"),
        (RAY_JOB, {"jobDeploymentStatus": "Waiting"}, "Unhealthy"),
        (RAY_SERVICE, conditions(Ready="True"), "Healthy"),
        (RAY_SERVICE, conditions(Ready="False"), "Unhealthy"),
        (SPARK, {"applicationState": {"state": "RUNNING"}}, "Healthy"),
        (SPARK, {"applicationState": {"state": ""}}, "Healthy"),
        (SPARK, {"applicationState": {"state": "FAILED"}}, "Unhealthy"),
        (SPARK, {}, "Unhealthy"),
    ],
)
def test_health(kind: Any, status: Wire, health: str) -> None:
    assert BUILT_IN.health(make(kind, status=status)) == health


@pytest.mark.parametrize(
    ("kind", "spec", "secrets"),
    [
        (PYTORCH, {"pytorchReplicaSpecs": {"Worker": pods(secret="a"), "Master": pods()}}, ["a"]),
        (TENSORFLOW, {"tfReplicaSpecs": {"PS": pods(secret="a"), "Chief": pods(secret="b")}}, "ab"),
        (
            RAY_JOB,
            {
                "rayClusterSpec": RAY_SPEC,
                "submitterPodTemplate": pods(secret="submitter")["template"],
            },
            ["head", "submitter", "workers"],
        ),
        (RAY_SERVICE, {"rayClusterConfig": RAY_SPEC}, ["head", "workers"]),
    ],
)
def test_dependencies(kind: Any, spec: Wire, secrets: list[str]) -> None:
    found = BUILT_IN.dependencies(make(kind, spec=spec))
    assert [(each.kind, each.name) for each in found] == [("Secret", each) for each in secrets]
