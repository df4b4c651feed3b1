"""Which kinds of other projects are known, by which operations, and what holds for all of them."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreting_builders import make

from atoll.errors import Invalid
from atoll.interpreting.builtin import BUILT_IN, THIRD_PARTY
from atoll.interpreting.operations import Item, Operation
from atoll.model.action import Ref

KRUISE, FLUX = "apps.kruise.io/v1alpha1", "source.toolkit.fluxcd.io/v1beta2"
LETTERS = {
    "R": Operation.REPLICAS,
    "C": Operation.COMPONENTS,
    "V": Operation.REVISE,
    "S": Operation.REFLECT,
    "A": Operation.AGGREGATE,
    "H": Operation.HEALTH,
    "D": Operation.DEPENDENCIES,
    "T": Operation.RETAIN,
}
KNOWN = {
    (KRUISE, "AdvancedCronJob"): "AD",
    (KRUISE, "BroadcastJob"): "RVHATSD",
    (KRUISE, "CloneSet"): "RVASHD",
    (KRUISE, "DaemonSet"): "ASHD",
    (KRUISE, "SidecarSet"): "SRATHD",
    (KRUISE, "UnitedDeployment"): "RVASHD",
    ("apps.kruise.io/v1beta1", "StatefulSet"): "RVASHD",
    ("argoproj.io/v1alpha1", "Workflow"): "RVHTD",
    ("batch.volcano.sh/v1alpha1", "Job"): "HCAS",
    ("flink.apache.org/v1beta1", "FlinkDeployment"): "HCRAS",
    ("helm.toolkit.fluxcd.io/v2beta1", "HelmRelease"): "HATSD",
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"): "HATSD",
    ("source.toolkit.fluxcd.io/v1", "GitRepository"): "HATSD",
    (FLUX, "Bucket"): "HATSD",
    (FLUX, "HelmChart"): "HATSD",
    (FLUX, "HelmRepository"): "HATSD",
    (FLUX, "OCIRepository"): "HATSD",
    ("kubeflow.org/v1", "Notebook"): "RHAS",
    ("kubeflow.org/v1", "PyTorchJob"): "CAHD",
    ("kubeflow.org/v1", "TFJob"): "CAHD",
    ("kubeflow.org/v2beta1", "MPIJob"): "HCAS",
    ("kyverno.io/v1", "ClusterPolicy"): "HAS",
    ("kyverno.io/v1", "Policy"): "HAS",
    ("ray.io/v1", "RayCluster"): "CHA",
    ("ray.io/v1", "RayJob"): "CHAD",
    ("ray.io/v1", "RayService"): "RVHAD",
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): "HCAS",
}
FIELDS = (
    *("replicas", "readyReplicas", "active", "failed", "succeeded", "desired", "phase", "type"),
    *("pending", "running", "version", "retryCount", "matchedPods", "rulecount", "ready"),
    *("failures", "artifact", "url", "startTime", "completionTime", "lastUpdateTime", "error"),
    *("readyWorkerReplicas", "desiredCPU", "desiredMemory", "jobStatus", "jobDeploymentStatus"),
    *("serviceStatus", "activeServiceStatus", "applicationState", "executorState", "conditions"),
    *("containerState", "replicaStatuses", "taskStatusCount", "state", "observedGeneration"),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(FIELDS, st.integers(0, 5)),
    **dict.fromkeys(
        ("phase", "type", "url", "error", "jobStatus"), st.sampled_from(["", "a", "b"])
    ),
    **dict.fromkeys(
        ("startTime", "completionTime", "lastUpdateTime"),
        st.integers(1, 9).map(lambda day: f"2026-01-0{day}T00:00:00Z"),
    ),
    "ready": st.booleans(),
    "rulecount": st.dictionaries(st.sampled_from(["validate", "mutate"]), st.integers(0, 3)),
    "artifact": st.fixed_dictionaries({"revision": st.sampled_from(["1", "2"])}),
    "desiredCPU": st.sampled_from(["1", "500m", "0"]),
    "desiredMemory": st.sampled_from(["1Gi", "512Mi"]),
    "jobDeploymentStatus": st.sampled_from(["Running", "Failed", "Complete"]),
    "serviceStatus": st.sampled_from(["", "Running"]),
    "activeServiceStatus": st.just({"applicationStatuses": {"a": {"status": "RUNNING"}}}),
    "applicationState": st.sampled_from(["RUNNING", "FAILED", ""]).map(lambda s: {"state": s}),
    "executorState": st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["R", "F"])),
    "containerState": st.sampled_from([{}, {"running": {"startedAt": "t"}}, {"waiting": {}}]),
    "replicaStatuses": st.dictionaries(
        st.sampled_from(["Worker", "Master"]), st.just({"active": 1, "failed": 2})
    ),
    "taskStatusCount": st.just({"t": {"phase": {"Running": 2}}}),
    "state": st.sampled_from(["Running", "Failed", "Completed"]).map(lambda s: {"phase": s}),
    "conditions": st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(["Ready", "Failed", "Succeeded", "Created", "Running"]),
                "status": st.sampled_from(["True", "False"]),
                "reason": st.just("x"),
                "message": st.just("said"),
                "lastTransitionTime": st.just("2026-01-01T00:00:00Z"),
            }
        ),
        max_size=3,
    ),
}
STATUS = st.fixed_dictionaries({}, optional=VALUES)


def test_the_kinds_are_those_that_karmada_knows_with_the_same_operations() -> None:
    assert set(THIRD_PARTY) == set(KNOWN)
    for kind, letters in KNOWN.items():
        ref = Ref(*kind)
        known = {letter for letter, each in LETTERS.items() if BUILT_IN.has(ref, each)}
        assert known == set(letters), kind


AGGREGATED = [kind for kind, letters in KNOWN.items() if "A" in letters]


@pytest.mark.parametrize("kind", AGGREGATED, ids=lambda kind: kind[1])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_sums_do_not_depend_on_the_order_of_reports_and_say_nothing_twice(
    kind: tuple[str, str], data: st.DataObject
) -> None:
    unusable = {"ray.io/v1": "state", KRUISE: "active"}.get(kind[0], "")
    statuses = STATUS.map(lambda status: {k: v for k, v in status.items() if k != unusable})
    found = data.draw(st.lists(st.none() | statuses, max_size=3))
    items = tuple(Item(f"m{index}", each) for index, each in enumerate(found))
    template = make(kind, metadata={"generation": 2}, spec={})
    summed = BUILT_IN.aggregate(template, items)
    assert BUILT_IN.aggregate(template, items[::-1]) == summed
    if summed is not None:
        assert BUILT_IN.aggregate({**template, "status": summed}, items) is None


@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: f"{kind[0]} {kind[1]}")
def test_an_object_that_says_nothing_breaks_nothing(kind: tuple[str, str]) -> None:
    empty = make(kind)
    found = BUILT_IN.replicas(empty)
    assert found is None or found.count >= 0
    assert isinstance(BUILT_IN.components(empty), tuple)
    assert BUILT_IN.reflect(empty) is None
    assert BUILT_IN.dependencies(empty) == ()
    assert BUILT_IN.retain(empty, empty) == empty
    assert BUILT_IN.health(empty) in ("Healthy", "Unhealthy")


def problem(ask: Callable[[Any], Any], wire: Any) -> Invalid | None:
    try:
        ask(wire)
    except Invalid as error:
        return error
    return None


@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: f"{kind[0]} {kind[1]}")
def test_nonsense_is_an_error_that_says_where(kind: tuple[str, str]) -> None:
    asked = (BUILT_IN.replicas, BUILT_IN.components, BUILT_IN.reflect, BUILT_IN.dependencies)
    for spec in (7, "x", [], {"template": 3, "tasks": {}, "replicas": "many"}):
        wire = make(kind, spec=spec, status="fine")
        found = [problem(ask, wire) for ask in asked]
        assert all(each is None or each.field.startswith(("spec", "status")) for each in found)
    assert problem(BUILT_IN.reflect, make(kind, status="fine")) is not None


INSIDE = (
    *("template", "spec", "containers", "tasks", "jobTemplate", "workerGroupSpecs", "phase"),
    *("headGroupSpec", "rayClusterSpec", "rayClusterConfig", "pytorchReplicaSpecs", "Worker"),
    *("tfReplicaSpecs", "mpiReplicaSpecs", "driver", "executor", "memory", "cores", "gpu"),
    *(
        "jobManager",
        "resource",
        "running",
        "waiting",
        "terminated",
        "applicationStatuses",
        "status",
    ),
    *("parallelism", "valuesFrom", "verify", "secretRef", "volumes", "executorState", "head"),
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "x", "1Gi"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from((*FIELDS, *INSIDE)), inner, max_size=4)
    ),
    max_leaves=12,
)
PARTS = st.dictionaries(st.sampled_from((*FIELDS, *INSIDE)), ANYTHING, max_size=6)


@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: f"{kind[0]} {kind[1]}")
@settings(max_examples=6, deadline=None)
@given(spec=PARTS, status=PARTS, more=PARTS)
def test_whatever_an_object_says_an_error_says_where_it_is_wrong(
    kind: tuple[str, str], spec: Any, status: Any, more: Any
) -> None:
    wire = make(kind, spec=spec, status=status)
    items = (Item("a", status), Item("b", more))
    asked: tuple[Callable[[Any], Any], ...] = (
        *(BUILT_IN.replicas, BUILT_IN.components, BUILT_IN.reflect, BUILT_IN.dependencies),
        *(BUILT_IN.health, lambda wire: BUILT_IN.aggregate(wire, items)),
        *(lambda wire: BUILT_IN.revise(wire, 3), lambda wire: BUILT_IN.retain(wire, wire)),
    )
    found = [problem(ask, wire) for ask in asked]
    assert all(each is None or each.field for each in found)
