"""Built-in admission: what is filled into new objects, and what is refused."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from backends import Backend

from atoll.wire import Wire

SCHEDULING = "/apis/scheduling.k8s.io/v1/priorityclasses"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
NETWORKING = "/apis/networking.k8s.io/v1"

PATIENCE_S = 120.0

_numbers = itertools.count(1)


def once_noticed(api: Backend, path: str, obj: Wire, good: Callable[[Wire], bool]) -> None:
    """Wait until a new object would be as it should: what was set up is noticed a moment later."""
    until = time.monotonic() + PATIENCE_S
    while not good(api.request("POST", f"{path}?dryRun=All", body=obj).json()):
        assert time.monotonic() < until, "it was never noticed"
        time.sleep(0.02)


def pod(*containers: Wire, **spec: Any) -> Wire:
    meta = {"name": f"p{next(_numbers)}"}
    return {"metadata": meta, "spec": {"containers": list(containers) or [container()], **spec}}


def container(name: str = "c", **resources: Any) -> Wire:
    return {"name": name, "image": "i", **({"resources": resources} if resources else {})}


def claim(storage: str = "1Gi", **spec: Any) -> Wire:
    asked = {"requests": {"storage": storage}}
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": asked, **spec}
    return {"metadata": {"name": f"c{next(_numbers)}"}, "spec": wanted}


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def claims(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"


def limit(api: Backend, namespace: str, **limits: Any) -> None:
    spec = {"limits": [{"type": "Container", **limits}]}
    path = f"/api/v1/namespaces/{namespace}/limitranges"
    api.create(path, {"metadata": {"name": "limits"}, "spec": spec})


def check_refused(api: Backend, path: str, obj: Wire, why: str) -> None:
    name, plural = obj["metadata"]["name"], path.rpartition("/")[2]
    answer = api.request("POST", path, body=obj)
    details = answer.refusal(403, "Forbidden", f'{plural} "{name}" is forbidden: {why}')
    assert details == {"name": name, "kind": plural}


def test_a_pod_gets_a_priority_and_patience_with_nodes(api: Backend, pods: str) -> None:
    made = api.create(pods, pod())
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (
        0,
        "PreemptLowerPriority",
    )
    assert made["spec"]["tolerations"] == [
        {
            "key": f"node.kubernetes.io/{trouble}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for trouble in ("not-ready", "unreachable")
    ]


def test_what_admission_adds_to_a_new_pod_belongs_to_nobody(api: Backend, pods: str) -> None:
    made = api.create(pods, pod())
    [entry] = made["metadata"]["managedFields"]
    assert "f:containers" in entry["fieldsV1"]["f:spec"]
    assert not {"f:priority", "f:tolerations"} & set(entry["fieldsV1"]["f:spec"])


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([{"operator": "Exists"}], id="everything"),
        pytest.param(
            [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
                {
                    "key": "node.kubernetes.io/unreachable",
                    "operator": "Exists",
                    "effect": "NoExecute",
                },
            ],
            id="both",
        ),
    ],
)
def test_a_pod_that_says_how_patient_it_is_keeps_that(
    api: Backend, pods: str, given: list[Wire]
) -> None:
    assert api.create(pods, pod(tolerations=given))["spec"]["tolerations"] == given


def test_a_changed_pod_keeps_its_priority(api: Backend, pods: str) -> None:
    made = api.create(pods, pod())
    for field in ("priority", "preemptionPolicy"):
        del made["spec"][field]
    made["metadata"]["labels"] = {"a": "b"}
    changed = api.update(f"{pods}/{made['metadata']['name']}", made)
    assert changed["spec"]["priority"] == 0


def test_a_pod_has_the_priority_of_its_class(api: Backend, pods: str, unique: str) -> None:
    name = f"{unique}-high"
    policy = {"preemptionPolicy": "Never"}
    api.create(SCHEDULING, {"metadata": {"name": name}, "value": 77, **policy})
    once_noticed(api, pods, pod(priorityClassName=name), lambda found: found["kind"] == "Pod")
    made = api.create(pods, pod(priorityClassName=name))
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (77, "Never")
    check_refused(
        api,
        pods,
        pod(priorityClassName=name, priority=5),
        "the integer value of priority (5) must not be provided in pod spec; priority admission"
        " controller computed 77 from the given PriorityClass name",
    )
    check_refused(
        api,
        pods,
        pod(priorityClassName=name, preemptionPolicy="PreemptLowerPriority"),
        "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod"
        " spec; priority admission controller computed Never from the given PriorityClass name",
    )
    why = f"no PriorityClass with name {name}-not was found"
    check_refused(api, pods, pod(priorityClassName=f"{name}-not"), why)


def test_there_is_one_default_priority(api: Backend, pods: str, unique: str) -> None:
    first, second = f"{unique}-usual", f"{unique}-too"
    api.create(SCHEDULING, {"metadata": {"name": first}, "value": 5, "globalDefault": True})
    try:
        once_noticed(api, pods, pod(), lambda found: found["spec"]["priority"] == 5)
        made = api.create(pods, pod())
        assert (made["spec"]["priorityClassName"], made["spec"]["priority"]) == (first, 5)
        other = {"metadata": {"name": second}, "value": 6, "globalDefault": True}
        answer = api.request("POST", SCHEDULING, body=other)
        answer.refusal(
            403,
            "Forbidden",
            f'priorityclasses.scheduling.k8s.io "{second}" is forbidden: PriorityClass {first} is'
            " already marked as default. Only one default can exist",
        )
        assert api.patch(f"{SCHEDULING}/{first}", {"description": "as usual"})["globalDefault"]
    finally:
        api.delete(f"{SCHEDULING}/{first}")
    once_noticed(api, pods, pod(), lambda found: found["spec"]["priority"] == 0)


def test_containers_get_what_a_limit_range_gives(api: Backend, namespace: str, pods: str) -> None:
    limit(
        api,
        namespace,
        default={"cpu": "2", "memory": "1Gi"},
        defaultRequest={"cpu": "100m", "memory": "64Mi"},
    )
    wanted = pod(
        container("bare"),
        container("half", requests={"cpu": "1"}),
        initContainers=[container("first", limits={"memory": "2Gi"})],
    )
    made = api.create(pods, wanted)
    bare, half = made["spec"]["containers"]
    assert bare["resources"] == {
        "limits": {"cpu": "2", "memory": "1Gi"},
        "requests": {"cpu": "100m", "memory": "64Mi"},
    }
    assert half["resources"]["requests"] == {"cpu": "1", "memory": "64Mi"}
    assert made["spec"]["initContainers"][0]["resources"] == {
        "limits": {"cpu": "2", "memory": "2Gi"},
        "requests": {"cpu": "100m", "memory": "2Gi"},
    }
    assert made["status"]["qosClass"] == "Burstable"
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container"
        " bare; cpu, memory limit for container bare; memory request for container half; cpu,"
        " memory limit for container half; cpu request for init container first; cpu limit for"
        " init container first"
    }


@pytest.mark.parametrize(
    ("limits", "resources", "why"),
    [
        pytest.param(
            {"max": {"cpu": "1"}, "default": {}, "defaultRequest": {}},
            {"requests": {"cpu": "1500m"}, "limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
            id="too-much",
        ),
        pytest.param(
            {"min": {"memory": "64Mi"}},
            {"requests": {"memory": "1Mi"}, "limits": {"memory": "1Gi"}},
            "minimum memory usage per Container is 64Mi, but request is 1Mi",
            id="too-little",
        ),
        pytest.param(
            {"type": "Pod", "max": {"cpu": "1"}},
            {"requests": {"cpu": "1"}},
            "maximum cpu usage per Pod is 1.  No limit is specified",
            id="no-limit-of-a-pod",
        ),
        pytest.param(
            {"type": "Pod", "min": {"cpu": "1"}},
            {},
            "minimum cpu usage per Pod is 1.  No request is specified",
            id="no-request-of-a-pod",
        ),
        pytest.param(
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 10.000000",
            id="too-far-apart",
        ),
        pytest.param(
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "0"}},
            "cpu max limit to request ratio per Container is 2, but no request is specified or"
            " request is 0",
            id="nothing-to-compare",
        ),
    ],
)
def test_a_limit_range_refuses(
    api: Backend, namespace: str, pods: str, limits: Wire, resources: Wire, why: str
) -> None:
    limit(api, namespace, **limits)
    check_refused(api, pods, pod(container(**resources)), why)


def test_all_that_one_limit_range_minds_is_told(api: Backend, namespace: str, pods: str) -> None:
    limit(api, namespace, min={"cpu": "1"})
    few = {"requests": {"cpu": "1m"}, "limits": {"cpu": "2m"}}
    none = {"requests": {"cpu": "2m"}, "limits": {"cpu": "2"}}
    check_refused(
        api,
        pods,
        pod(container("a", **few), container("b", **none)),
        "[minimum cpu usage per Container is 1, but request is 1m, minimum cpu usage per Container"
        " is 1, but request is 2m]",
    )


def test_a_limit_range_bounds_claims(api: Backend, namespace: str, claims: str) -> None:
    bounds = {"min": {"storage": "2Gi"}, "max": {"storage": "3Gi"}}
    limit(api, namespace, type="PersistentVolumeClaim", **bounds)
    kind = "storage usage per PersistentVolumeClaim"
    check_refused(api, claims, claim("1Gi"), f"minimum {kind} is 2Gi, but request is 1Gi")
    check_refused(api, claims, claim("4Gi"), f"maximum {kind} is 3Gi, but request is 4Gi")
    api.create(claims, claim("2Gi"))


def test_a_claim_gets_the_default_class(api: Backend, claims: str, unique: str) -> None:
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    meta = {"name": unique, "annotations": mark}
    api.create(STORAGE, {"metadata": meta, "provisioner": "ex.io/none"})
    try:
        once_noticed(
            api, claims, claim(), lambda found: found["spec"].get("storageClassName") == unique
        )
        assert api.create(claims, claim())["spec"]["storageClassName"] == unique
        assert api.create(claims, claim(storageClassName=""))["spec"]["storageClassName"] == ""
    finally:
        api.delete(f"{STORAGE}/{unique}")
    once_noticed(api, claims, claim(), lambda found: "storageClassName" not in found["spec"])


@pytest.mark.parametrize("grows", [True, False])
def test_a_bound_claim_grows_if_its_class_lets_it(
    api: Backend, claims: str, unique: str, *, grows: bool
) -> None:
    kind = {"metadata": {"name": unique}, "provisioner": "ex.io/none"}
    api.create(STORAGE, kind | {"allowVolumeExpansion": grows})
    wanted = claim(storageClassName=unique, volumeName="v")
    path = f"{claims}/{wanted['metadata']['name']}"
    api.create(claims, wanted)
    more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    name = wanted["metadata"]["name"]
    head = f'persistentvolumeclaims "{name}" is forbidden: '
    phase = {"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"]}}
    phase["status"]["capacity"] = {"storage": "1Gi"}
    api.patch(f"{path}/status", phase)
    until = time.monotonic() + PATIENCE_S
    answer = api.try_patch(path, more)
    while grows and answer.status != 200 and time.monotonic() < until:
        answer = api.try_patch(path, more)
    if grows:
        assert answer.object()["spec"]["resources"]["requests"] == {"storage": "2Gi"}
        return
    answer.refusal(
        403,
        "Forbidden",
        f"{head}only dynamically provisioned pvc can be resized and the storageclass that"
        " provisions the pvc must support resize",
    )


def test_a_runtime_class_adds_what_it_costs(api: Backend, pods: str, unique: str) -> None:
    made = {
        "metadata": {"name": unique},
        "handler": "box",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {
            "nodeSelector": {"box": "yes"},
            "tolerations": [{"key": "box", "operator": "Exists"}],
        },
    }
    api.create(RUNTIMES, made)
    spec = api.create(pods, pod(runtimeClassName=unique, nodeSelector={"a": "b"}))["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"a": "b", "box": "yes"}
    assert spec["tolerations"][-1] == {"key": "box", "operator": "Exists"}
    check_refused(
        api,
        pods,
        pod(runtimeClassName=unique, overhead={"cpu": "1"}),
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    )
    check_refused(
        api,
        pods,
        pod(runtimeClassName=unique, nodeSelector={"box": "no"}),
        "conflict: runtimeClass.scheduling.nodeSelector[box] = yes;"
        " pod.spec.nodeSelector[box] = no",
    )


def test_overhead_needs_a_runtime_class(api: Backend, pods: str, unique: str) -> None:
    why = f'pod rejected: RuntimeClass "{unique}" not found'
    check_refused(api, pods, pod(runtimeClassName=unique), why)
    check_refused(
        api,
        pods,
        pod(overhead={"cpu": "1"}),
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    )


def test_an_ingress_gets_the_default_class(api: Backend, namespace: str, unique: str) -> None:
    mark = {"ingressclass.kubernetes.io/is-default-class": "true"}
    made = {"metadata": {"name": unique, "annotations": mark}, "spec": {"controller": "ex.io/c"}}
    api.create(f"{NETWORKING}/ingressclasses", made)
    path = f"{NETWORKING}/namespaces/{namespace}/ingresses"
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    ingress = {"metadata": {"name": "i"}, "spec": {"defaultBackend": backend}}
    try:
        once_noticed(
            api, path, ingress, lambda found: found["spec"].get("ingressClassName") == unique
        )
        named = {"metadata": {"name": "i"}, "spec": {**ingress["spec"], "ingressClassName": "x"}}
        assert api.create(path, named)["spec"]["ingressClassName"] == "x"
    finally:
        api.delete(f"{NETWORKING}/ingressclasses/{unique}")


def test_a_new_node_takes_nobody_yet(api: Backend, unique: str) -> None:
    taints = [{"key": "mine", "effect": "NoExecute"}]
    made = api.create("/api/v1/nodes", {"metadata": {"name": unique}, "spec": {"taints": taints}})
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert made["spec"]["taints"] == [*taints, not_ready]
    freed = api.patch(f"/api/v1/nodes/{unique}", {"spec": {"taints": None}})
    assert "taints" not in freed["spec"]
    api.delete(f"/api/v1/nodes/{unique}")
