"""What can be done with a pod beside reading and writing it: bind, evict, resize, look into it."""

from typing import Any

import pytest
from backends import Backend

from atoll.wire import Wire

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def budgets(namespace: str) -> str:
    return f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"


PARTS = {
    "nodes/proxy": ("NodeProxyOptions", ["create", "delete", "get", "patch", "update"]),
    "pods/attach": ("PodAttachOptions", ["create", "get"]),
    "pods/binding": ("Binding", ["create"]),
    "pods/ephemeralcontainers": ("Pod", ["get", "patch", "update"]),
    "pods/eviction": ("Eviction", ["create"]),
    "pods/exec": ("PodExecOptions", ["create", "get"]),
    "pods/log": ("Pod", ["get"]),
    "pods/portforward": ("PodPortForwardOptions", ["create", "get"]),
    "pods/proxy": ("PodProxyOptions", ["create", "delete", "get", "patch", "update"]),
    "pods/resize": ("Pod", ["get", "patch", "update"]),
    "services/proxy": ("ServiceProxyOptions", ["create", "delete", "get", "patch", "update"]),
    "bindings": ("Binding", ["create"]),
}


@pytest.mark.parametrize("name", PARTS)
def test_discovery_names_what_can_be_done(api: Backend, name: str) -> None:
    [found] = [one for one in api.read("/api/v1")["resources"] if one["name"] == name]
    assert (found["kind"], found["verbs"]) == PARTS[name]


def make(api: Backend, pods: str, name: str = "p", **spec: Any) -> Wire:
    meta = {"name": name, "labels": {"app": "a"}}
    resources = spec.pop("resources", {})
    container = {"name": "c", "image": "i", "resources": resources}
    return api.create(pods, {"metadata": meta, "spec": {"containers": [container], **spec}})


def binding(name: str = "p", node: str = "n1", **meta: Any) -> Wire:
    return {"metadata": {"name": name, **meta}, "target": {"kind": "Node", "name": node}}


def evict(api: Backend, pods: str, name: str = "p", **options: Any) -> Any:
    body: Wire = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options:
        body["deleteOptions"] = options
    return api.request("POST", f"{pods}/{name}/eviction", body=body)


def status_of(answer: Any) -> Wire:
    body: Wire = answer.object(201)
    assert body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    return body


@pytest.mark.parametrize("path", ["pods/p/binding", "bindings"])
def test_a_pod_is_given_its_node_once(api: Backend, pods: str, path: str) -> None:
    make(api, pods)
    there = pods.removesuffix("pods") + path
    wanted = binding(annotations={"by": "me"}, labels={"zone": "z"})
    status_of(api.request("POST", f"{there}?dryRun=All", body=wanted))
    assert "nodeName" not in api.read(f"{pods}/p")["spec"]
    status_of(api.request("POST", there, body=wanted))
    bound = api.read(f"{pods}/p")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"by": "me"}
    assert bound["metadata"]["labels"] == {"app": "a", "zone": "z"}
    assert bound["metadata"]["generation"] == 1
    [told] = bound["status"]["conditions"]
    assert (told["type"], told["status"]) == ("PodScheduled", "True")
    answer = api.request("POST", there, body=binding(node="n2"))
    details = answer.refusal(
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    )
    assert details == {"name": "p", "kind": "pods/binding"}


@pytest.mark.parametrize(
    ("body", "code", "reason", "message"),
    [
        pytest.param(
            binding("other"),
            400,
            "BadRequest",
            "name in URL does not match name in Binding object",
            id="another-name",
        ),
        pytest.param(binding(node=""), 500, None, "target.name: Required value", id="no-node"),
        pytest.param(
            {"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}},
            500,
            None,
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
            id="no-kind-of-node",
        ),
    ],
)
def test_a_binding_must_make_sense(
    api: Backend, pods: str, body: Wire, code: int, reason: str | None, message: str
) -> None:
    make(api, pods)
    api.request("POST", f"{pods}/p/binding", body=body).refusal(code, reason, message)


def test_only_a_pod_that_is_there_is_bound_or_evicted(api: Backend, pods: str) -> None:
    for name, body in (("binding", binding("none")), ("eviction", {"metadata": {"name": "none"}})):
        answer = api.request("POST", f"{pods}/none/{name}", body=body)
        answer.refusal(404, "NotFound", 'pods "none" not found')


def test_a_pod_that_has_not_begun_is_evicted_at_once(api: Backend, pods: str) -> None:
    make(api, pods)
    status_of(evict(api, pods, dryRun=["All"]))
    status_of(evict(api, pods))
    api.request("GET", f"{pods}/p").refusal(404, "NotFound")


def test_an_eviction_must_name_its_pod(api: Backend, pods: str) -> None:
    make(api, pods)
    body = {"metadata": {"name": "q"}}
    answer = api.request("POST", f"{pods}/p/eviction", body=body)
    answer.refusal(400, "BadRequest", "name in URL does not match name in Eviction object")


def running(api: Backend, pods: str, *names: str) -> None:
    for name in names:
        make(api, pods, name, nodeName="n1")
        api.patch(f"{pods}/{name}/status", {"status": READY}, "strategic")


def budget(api: Backend, budgets: str, name: str = "b", **status: int) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    api.create(budgets, {"metadata": {"name": name}, "spec": spec})
    if status:
        told = {"observedGeneration": 1, "expectedPods": 2, "desiredHealthy": 1, **status}
        api.patch(f"{budgets}/{name}/status", {"status": told})


VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


def check_refused(answer: Any, cause: str, **more: Any) -> None:
    details = answer.refusal(429, "TooManyRequests", VIOLATED)
    assert details == {"causes": [{"reason": "DisruptionBudget", "message": cause}], **more}


def test_a_budget_that_nobody_has_looked_at_allows_nothing(
    api: Backend, pods: str, budgets: str
) -> None:
    running(api, pods, "p")
    budget(api, budgets)
    answer = evict(api, pods)
    why = "The disruption budget b is still being processed by the server."
    check_refused(answer, why, retryAfterSeconds=10)
    assert answer.headers["retry-after"] == "10"


def test_a_budget_is_spent_by_evictions(api: Backend, pods: str, budgets: str) -> None:
    running(api, pods, "p", "q")
    budget(api, budgets, disruptionsAllowed=1, currentHealthy=2)
    status_of(evict(api, pods, dryRun=["All"]))
    status_of(evict(api, pods))
    gone = api.read(f"{pods}/p")
    assert gone["metadata"]["deletionGracePeriodSeconds"] == 30
    told = {one["type"]: one for one in gone["status"]["conditions"]}["DisruptionTarget"]
    assert (told["reason"], told["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")
    spent = api.read(f"{budgets}/b")["status"]
    assert (spent["disruptionsAllowed"], set(spent["disruptedPods"])) == (0, {"p"})
    [condition] = spent["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )
    check_refused(
        evict(api, pods, "q"), "The disruption budget b does not allow evicting pods currently"
    )


def test_too_few_healthy_pods_stay(api: Backend, pods: str, budgets: str) -> None:
    running(api, pods, "p")
    budget(api, budgets, disruptionsAllowed=0, currentHealthy=1)
    check_refused(
        evict(api, pods), "The disruption budget b needs 1 healthy pods and has 1 currently"
    )


def test_two_budgets_for_one_pod_are_too_many(api: Backend, pods: str, budgets: str) -> None:
    running(api, pods, "p")
    budget(api, budgets, "b")
    budget(api, budgets, "d")
    evict(api, pods).refusal(
        500,
        None,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not"
        " support.",
    )


def test_a_pod_that_is_not_ready_may_go_where_enough_are(
    api: Backend, pods: str, budgets: str
) -> None:
    make(api, pods, nodeName="n1")
    api.patch(f"{pods}/p/status", {"status": {"phase": "Running"}}, "strategic")
    budget(api, budgets, disruptionsAllowed=0, currentHealthy=1)
    status_of(evict(api, pods))
    assert api.read(f"{budgets}/b")["status"]["disruptionsAllowed"] == 0


def sized(cpu: str, **more: Any) -> Wire:
    resources = {"requests": {"cpu": cpu}, **more}
    return {"spec": {"containers": [{"name": "c", "resources": resources}]}}


def test_a_pod_is_resized_and_nothing_else(api: Backend, pods: str) -> None:
    make(api, pods, resources={"requests": {"cpu": "1"}})
    patch = sized("2")
    patch["metadata"] = {"labels": {"new": "label"}}
    patch["spec"]["containers"][0]["image"] = "other"
    changed = api.patch(f"{pods}/p/resize", patch, "strategic")
    [container] = changed["spec"]["containers"]
    assert (container["resources"], container["image"]) == ({"requests": {"cpu": "2"}}, "i")
    assert changed["metadata"]["labels"] == {"app": "a"}
    assert changed["metadata"]["generation"] == 2
    assert api.read(f"{pods}/p/resize")["kind"] == "Pod"


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        pytest.param(
            {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": None}}}]}},
            '[spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of'
            " resizing, spec.containers[0].resources.requests: Forbidden: resource requests cannot"
            " be removed]",
            id="nothing-left",
        ),
        pytest.param(
            {
                "spec": {
                    "containers": [
                        {"name": "c", "resources": {"requests": {"ephemeral-storage": "1Gi"}}}
                    ]
                }
            },
            "spec: Forbidden: only cpu and memory resources are mutable",
            id="neither-cpu-nor-memory",
        ),
    ],
)
def test_not_every_size_is_possible(api: Backend, pods: str, patch: Wire, why: str) -> None:
    make(api, pods, resources={"requests": {"cpu": "1"}})
    answer = api.try_patch(f"{pods}/p/resize", patch, "strategic")
    answer.refusal(422, "Invalid", f'Pod "p" is invalid: {why}')


def test_no_container_is_renamed_by_resizing(api: Backend, pods: str) -> None:
    make(api, pods)
    rename = [{"op": "replace", "path": "/spec/containers/0/name", "value": "x"}]
    why = "containers may not be renamed or reordered on resize"
    answer = api.try_patch(f"{pods}/p/resize", rename, "json")
    message = f'Pod "p" is invalid: spec.containers[0].name: Forbidden: {why}'
    answer.refusal(422, "Invalid", message)


def test_guests_join_a_pod_and_stay(api: Backend, pods: str) -> None:
    make(api, pods)
    path = f"{pods}/p/ephemeralcontainers"
    guest = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "tools"}]}}
    [joined] = api.patch(path, guest, "strategic")["spec"]["ephemeralContainers"]
    assert (joined["name"], joined["imagePullPolicy"]) == ("debug", "Always")
    answer = api.try_patch(path, {"spec": {"ephemeralContainers": []}})
    answer.refusal(
        422,
        "Invalid",
        'Pod "p" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers'
        ' "debug" may not be removed\n',
    )


@pytest.mark.parametrize(
    ("guest", "why"),
    [
        pytest.param({"name": "c", "image": "i"}, '.name: Duplicate value: "c"', id="name-taken"),
        pytest.param({"name": "d"}, ".image: Required value", id="no-image"),
        pytest.param(
            {"name": "d", "image": "i", "ports": [{"containerPort": 1}]},
            ".ports: Forbidden: cannot be set for an Ephemeral Container",
            id="ports",
        ),
        pytest.param(
            {"name": "d", "image": "i", "resources": {"limits": {"cpu": "1"}}},
            ".resources: Forbidden: cannot be set for an Ephemeral Container",
            id="resources",
        ),
        pytest.param(
            {"name": "d", "image": "i", "targetContainerName": "x"},
            '.targetContainerName: Not found: "x"',
            id="no-host",
        ),
    ],
)
def test_not_everybody_may_be_a_guest(api: Backend, pods: str, guest: Wire, why: str) -> None:
    make(api, pods)
    patch = {"spec": {"ephemeralContainers": [guest]}}
    answer = api.try_patch(f"{pods}/p/ephemeralcontainers", patch, "strategic")
    message = f'Pod "p" is invalid: spec.ephemeralContainers[0]{why}'
    answer.refusal(422, "Invalid", message)


@pytest.mark.parametrize("way", ["exec?command=ls", "attach", "portforward"])
def test_there_is_no_way_into_a_pod_without_a_node(api: Backend, pods: str, way: str) -> None:
    make(api, pods)
    make(api, pods, "lost", nodeName="nowhere")
    answer = api.request("GET", f"{pods}/p/{way}")
    answer.refusal(400, "BadRequest", "pod p does not have a host assigned")
    answer = api.request("GET", f"{pods}/lost/{way}")
    answer.refusal(404, "NotFound", 'pods "nowhere" not found')


def test_a_pod_without_a_node_has_said_nothing(api: Backend, pods: str) -> None:
    make(api, pods)
    make(api, pods, "lost", nodeName="nowhere")
    answer = api.request("GET", f"{pods}/p/log")
    assert (answer.status, answer.body) == (204, b"")
    answer = api.request("GET", f"{pods}/p/log?container=x")
    answer.refusal(400, "BadRequest", "container x is not valid for pod p")
    answer = api.request("GET", f"{pods}/lost/log")
    answer.refusal(404, "NotFound", 'pods "nowhere" not found')


def test_there_is_no_traffic_where_nothing_runs(api: Backend, pods: str) -> None:
    make(api, pods)
    answer = api.request("GET", f"{pods}/p/proxy/some/path")
    answer.refusal(400, "BadRequest", "address not allowed")
    services = pods.removesuffix("pods") + "services"
    answer = api.request("GET", f"{services}/none/proxy/")
    answer.refusal(404, "NotFound", 'services "none" not found')
    answer = api.request("GET", "/api/v1/nodes/nowhere/proxy/")
    answer.refusal(404, "NotFound", 'nodes "nowhere" not found')
