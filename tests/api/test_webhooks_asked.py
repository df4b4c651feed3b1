"""Admission webhooks: about which requests they are asked, and how."""

from backends import Backend
from manifests import configmap, deployment
from webhook_server import RULE, Register, WebhookServer, deny, patch, webhook

APPS = RULE | {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"]}


NOT_ASKED = {
    "operation": {"operations": ["DELETE"]},
    "version": {"apiVersions": ["v2"]},
    "resource": {"resources": ["secrets"]},
    "below": {"resources": ["configmaps/status"]},
    "scope": {"scope": "Cluster"},
}


def test_rules_say_what_a_webhook_is_asked_about(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    hooks = [
        webhook(server, f"{path}/{name}", rules=[RULE | rule]) for name, rule in NOT_ASKED.items()
    ]
    with register("validating", *hooks):
        api.create(configmaps, configmap("a"))
    assert [name for name in NOT_ASKED if server.asked(f"{path}/{name}")] == []


def test_a_scale_is_shown_as_such_and_can_be_changed(
    api: Backend, server: WebhookServer, register: Register, path: str, namespace: str
) -> None:
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    api.create(deployments, deployment("a"))
    server.says[path] = patch({"op": "replace", "path": "/spec/replicas", "value": 5})
    rule = APPS | {"resources": ["deployments/scale"]}
    with register("mutating", webhook(server, path, rules=[rule])):
        scaled = api.patch(f"{deployments}/a/scale", {"spec": {"replicas": 3}})
        server.says[path] = patch({"op": "replace", "path": "/spec/replicas", "value": "many"})
        odd = api.try_patch(f"{deployments}/a/scale", {"spec": {"replicas": 4}})
    odd.refusal(500, "InternalError")
    # kube-apiserver patches what its watch cache remembers, and asks again where that was old news.
    request, *_ = server.asked(path)
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert request["resource"]["resource"] == "deployments"
    assert (request["subResource"], request["requestSubResource"]) == ("scale", "scale")
    assert request["object"]["spec"] == {"replicas": 3}
    assert scaled["spec"] == {"replicas": 5}


def test_ways_into_pods_are_asked_about(
    api: Backend, server: WebhookServer, register: Register, path: str, namespace: str
) -> None:
    server.says[path] = deny("stay out", code=403)
    rule = RULE | {"operations": ["CONNECT"], "resources": ["pods/exec"]}
    hook = webhook(server, path, rules=[rule])
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with register("validating", hook):
        answer = api.request("POST", f"{pods}/p/exec?command=ls&command=-l&stdout=true")
        other = api.request("GET", f"{pods}/p/log")
    assert (answer.status, other.status) == (403, 404)
    denied = f'admission webhook "{hook["name"]}" denied the request: stay out'
    assert answer.json()["message"] == denied
    (request,) = server.asked(path)
    assert request["kind"] == {"group": "", "version": "v1", "kind": "PodExecOptions"}
    assert request["resource"]["resource"] == "pods"
    told = (request["operation"], request["subResource"], request["name"])
    assert told == ("CONNECT", "exec", "p")
    assert request["object"]["command"] == ["ls", "-l"]
    assert request["object"]["stdout"] is True
    assert (request["oldObject"], request["options"]) == (None, None)


def test_evictions_are_asked_about(
    api: Backend, server: WebhookServer, register: Register, path: str, namespace: str
) -> None:
    server.says[path] = deny("not now")
    hook = webhook(server, path, rules=[RULE | {"resources": ["pods/eviction"]}])
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with register("validating", hook):
        answer = api.request("POST", f"{pods}/p/eviction", body=eviction)
    answer.refusal(400, None, f'admission webhook "{hook["name"]}" denied the request: not now')
    (request,) = server.asked(path)
    assert request["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert (request["operation"], request["subResource"]) == ("CREATE", "eviction")


def test_equivalent_versions_are_asked_about_too(
    api: Backend, server: WebhookServer, register: Register, path: str, namespace: str
) -> None:
    rule = RULE | {"resources": ["events"]}
    event = {
        "metadata": {"name": "e", "namespace": namespace},
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "example.io/test",
        "reportingInstance": "one",
        "action": "Test",
        "reason": "Test",
        "type": "Normal",
        "note": "hello",
        "regarding": {"kind": "Pod", "namespace": namespace, "name": "p"},
    }
    events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    with register(
        "validating",
        webhook(server, f"{path}/any", rules=[rule]),
        webhook(server, f"{path}/exact", rules=[rule], matchPolicy="Exact"),
    ):
        api.create(events, event)
    (request,) = server.asked(f"{path}/any")
    assert request["kind"] == {"group": "", "version": "v1", "kind": "Event"}
    assert request["requestKind"] == {"group": "events.k8s.io", "version": "v1", "kind": "Event"}
    assert request["requestResource"]["group"] == "events.k8s.io"
    assert request["object"]["message"] == "hello"
    assert server.asked(f"{path}/exact") == []


def test_dry_runs_are_told(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    with register("validating", webhook(server, path)):
        api.create(f"{configmaps}?dryRun=All", configmap("a"))
    (request,) = server.asked(path)
    assert request["dryRun"] is True
    assert request["options"]["dryRun"] == ["All"]
    assert api.request("GET", f"{configmaps}/a").status == 404


def test_the_older_review_is_spoken_where_it_is_wanted(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    with register("validating", webhook(server, path, admissionReviewVersions=["v1beta1", "v1"])):
        api.create(configmaps, configmap("a"))
    (review,) = server.reviews[path]
    assert review["apiVersion"] == "admission.k8s.io/v1beta1"
