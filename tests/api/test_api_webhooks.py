"""Admission webhooks: who is asked, what they see, and what becomes of what they say."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pytest
from backends import Backend
from manifests import configmap, deployment
from webhook_server import RULE, WebhookServer, deny, patch, registered, webhook

Object = dict[str, Any]

APPS = RULE | {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    found = WebhookServer(tmp_path_factory.mktemp("webhooks"))
    yield found
    found.close()


class Register(Protocol):
    """Puts webhooks in force that are asked about one test's namespace only."""

    def __call__(self, kind: str, *webhooks: Object) -> AbstractContextManager[None]: ...


@pytest.fixture
def register(api: Backend, server: WebhookServer, namespace: str) -> Register:
    api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"hooked": namespace}}})
    here = {"matchLabels": {"hooked": namespace}}

    def put_in_force(kind: str, *webhooks: Object) -> AbstractContextManager[None]:
        limited = [{"namespaceSelector": here, **each} for each in webhooks]
        return registered(api, server, kind, f"{namespace}-{kind}", limited)

    return put_in_force


@pytest.fixture
def path(unique: str) -> str:
    """A path at the webhook server that no other test has."""
    return f"/{unique}"


def test_a_webhook_is_told_all_about_a_creation(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    namespace = configmaps.split("/")[4]
    with register("validating", webhook(server, path)):
        made = api.create(f"{configmaps}?fieldManager=me&fieldValidation=Strict", configmap("a"))
    (review,) = server.reviews[path]
    assert (review["kind"], review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    request = review["request"]
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    assert len(request.pop("uid")) == 36
    user = request.pop("userInfo")
    assert "system:authenticated" in user["groups"]
    seen = request.pop("object")
    del made["metadata"]["resourceVersion"]
    assert seen == made
    assert request == {
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "a",
        "namespace": namespace,
        "operation": "CREATE",
        "oldObject": None,
        "dryRun": False,
        "options": {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
            "fieldValidation": "Strict",
        },
    }
    assert server.paths[path] == [f"{path}?timeout=20s"]


def test_changes_come_as_updates_with_the_old_object(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    before = api.create(configmaps, configmap("a"))
    with register("validating", webhook(server, path)):
        api.patch(f"{configmaps}/a", {"data": {"k": "v"}})
        api.apply(f"{configmaps}/b", configmap("b", {"swept": "yes"}), "me").object(201)
        api.delete(f"{configmaps}/a", {"propagationPolicy": "Background"})
        api.delete(f"{configmaps}?labelSelector=swept%3Dyes")
    told = server.asked(path)
    assert [one["operation"] for one in told] == ["UPDATE", "CREATE", "DELETE", "DELETE"]
    update, create, delete, swept = told
    assert update["oldObject"]["metadata"]["uid"] == before["metadata"]["uid"]
    assert update["object"]["data"] == {"k": "v"}
    assert update["options"]["kind"] == "UpdateOptions"
    assert create["options"]["fieldManager"] == "me"
    assert (delete["object"], delete["oldObject"]["data"]) == (None, {"k": "v"})
    assert delete["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "propagationPolicy": "Background",
    }
    assert "name" not in swept
    assert swept["oldObject"]["metadata"]["name"] == "b"


DENIALS: list[tuple[Object, int, str | None, str]] = [
    ({}, 400, None, " without explanation"),
    ({"message": "no tea"}, 400, None, ": no tea"),
    ({"reason": "Because"}, 400, "Because", ": Because"),
    ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": no"),
    ({"message": "no", "code": 200}, 400, None, ": no"),
]


@pytest.mark.parametrize("kind", ["validating", "mutating"])
def test_a_webhook_may_refuse(
    api: Backend,
    server: WebhookServer,
    register: Register,
    path: str,
    configmaps: str,
    kind: str,
) -> None:
    hook = webhook(server, path)
    with register(kind, hook):
        for status, code, reason, told in DENIALS:
            server.says[path] = deny(**status)
            answer = api.request("POST", configmaps, body=configmap("a"))
            message = f'admission webhook "{hook["name"]}" denied the request{told}'
            answer.refusal(code, reason, message)
    assert api.request("GET", f"{configmaps}/a").status == 404


def test_a_mutating_webhook_changes_what_is_stored(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    server.says[path] = patch(
        {"op": "add", "path": "/data/from", "value": "webhook"},
        {"op": "add", "path": "/metadata/labels", "value": {"patched": "yes"}},
    )
    with register("mutating", webhook(server, path)):
        made = api.create(configmaps, configmap("a", own="1"))
    (request,) = server.asked(path)
    assert "uid" not in request["object"]["metadata"]
    assert "creationTimestamp" not in request["object"]["metadata"]
    assert made["data"] == {"own": "1", "from": "webhook"}
    assert made["metadata"]["labels"] == {"patched": "yes"}
    assert api.read(f"{configmaps}/a") == made
    # What a webhook adds belongs to nobody.
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:own": {}}}


def test_a_made_up_name_is_told_to_those_who_validate_only(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    generated = {"metadata": {"generateName": "made-"}}
    with (
        register("mutating", webhook(server, f"{path}/m")),
        register("validating", webhook(server, f"{path}/v")),
    ):
        made = api.create(configmaps, generated)
    (mutating,), (validating,) = server.asked(f"{path}/m"), server.asked(f"{path}/v")
    assert "name" not in mutating
    assert "name" not in mutating["object"]["metadata"]
    assert validating["name"] == made["metadata"]["name"]
    assert validating["object"]["metadata"]["name"] == made["metadata"]["name"]


def test_defaults_are_filled_in_after_a_patch(
    api: Backend, server: WebhookServer, register: Register, path: str, namespace: str
) -> None:
    container = {"name": "side", "image": "side:1"}
    where = "/spec/template/spec/containers/-"
    server.says[path] = patch({"op": "add", "path": where, "value": container})
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    with register("mutating", webhook(server, path, rules=[APPS])):
        made = api.create(deployments, deployment("a"))
    side = made["spec"]["template"]["spec"]["containers"][-1]
    assert side["imagePullPolicy"] == "IfNotPresent"
    assert side["terminationMessagePath"] == "/dev/termination-log"


def test_webhooks_are_asked_in_the_order_of_their_names(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    def noted(letter: str) -> Any:
        def say(request: Object) -> Object:
            so_far = (request["object"].get("data") or {}).get("order", "")
            value = {"order": so_far + letter}
            return patch({"op": "add", "path": "/data", "value": value})(request)

        return say

    hooks = [webhook(server, f"{path}/{letter}") for letter in "cab"]
    for letter in "abc":
        server.says[f"{path}/{letter}"] = noted(letter)
    with register("mutating", *hooks):
        made = api.create(configmaps, configmap("a"))
    assert made["data"] == {"order": "cab"}


def test_a_webhook_may_be_asked_again_after_others(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    again, once, changing = (f"{path}/{name}" for name in ("again", "once", "changing"))
    server.says[changing] = patch({"op": "add", "path": "/data", "value": {"a": "b"}})
    with register(
        "mutating",
        webhook(server, again, reinvocationPolicy="IfNeeded"),
        webhook(server, once),
        webhook(server, changing, reinvocationPolicy="IfNeeded"),
    ):
        api.create(configmaps, configmap("a"))
    asked = {name: len(server.asked(name)) for name in (again, once, changing)}
    assert asked == {again: 2, once: 1, changing: 1}
    assert server.asked(again)[1]["object"]["data"] == {"a": "b"}


def test_all_who_validate_must_agree(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    """They are asked at once: each waits until the other has been asked."""
    both = threading.Barrier(2, timeout=20)

    def say(_: Object) -> Object:
        both.wait()
        return {"allowed": True, "warnings": ["from a webhook"]}

    server.says |= {f"{path}/a": say, f"{path}/b": say}
    with register("validating", *(webhook(server, f"{path}/{one}") for one in "ab")):
        answer = api.request("POST", configmaps, body=configmap("a"))
    assert answer.status == 201
    assert answer.warnings == '299 - "from a webhook"'


def test_an_object_may_have_to_be_selected(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    chosen = {"matchLabels": {"chosen": "yes"}}
    with register("validating", webhook(server, path, objectSelector=chosen)):
        api.create(configmaps, configmap("not"))
        api.create(configmaps, configmap("is", {"chosen": "yes"}))
        api.patch(f"{configmaps}/is", {"metadata": {"labels": {"chosen": "no"}}})
        api.patch(f"{configmaps}/is", {"metadata": {"labels": {"chosen": "never"}}})
    told = [(one["operation"], one["name"]) for one in server.asked(path)]
    assert told == [("CREATE", "is"), ("UPDATE", "is")]


def test_a_webhook_may_make_another_select_the_object(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    labelled = {"op": "add", "path": "/metadata/labels", "value": {"chosen": "yes"}}
    server.says[f"{path}/first"] = patch(labelled)
    server.says[f"{path}/second"] = patch({"op": "add", "path": "/data", "value": {"a": "b"}})
    chosen = {"matchLabels": {"chosen": "yes"}}
    with register(
        "mutating",
        webhook(server, f"{path}/first"),
        webhook(server, f"{path}/second", objectSelector=chosen),
    ):
        made = api.create(configmaps, configmap("a"))
    assert made["data"] == {"a": "b"}


def test_a_webhook_may_not_change_what_is_deleted(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    api.create(configmaps, configmap("a"))
    server.says[path] = patch({"op": "add", "path": "/data", "value": {}})
    hook = webhook(server, path, rules=[RULE | {"operations": ["DELETE"]}])
    with register("mutating", hook):
        answer = api.request("DELETE", f"{configmaps}/a")
    answer.refusal(
        500,
        "InternalError",
        f'Internal error occurred: admission webhook "{hook["name"]}" attempted to modify the'
        " object, which is not supported for this operation",
    )


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
    request, _ = server.asked(path)
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


REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
FAILURES: list[tuple[Object, str]] = [
    (
        {"status-code": 500, "body": "ouch"},
        'failed to call webhook: an error on the server ("ouch") has prevented the request from'
        " succeeding",
    ),
    (
        {"status-code": 404, "body": "what?"},
        "failed to call webhook: the server could not find the requested resource",
    ),
    ({"review": REVIEW}, "received invalid webhook response: webhook response was absent"),
    (
        {"allowed": True, "patch": "W10="},
        "received invalid webhook response: webhook returned response.patch but not"
        " response.patchType",
    ),
    (
        {"allowed": True, "patchType": "JSONPatch"},
        "received invalid webhook response: webhook returned response.patchType but not"
        " response.patch",
    ),
    (
        {"allowed": True, "patchType": "XMLPatch", "patch": "W3t9XQ=="},
        'unsupported patch type "XMLPatch"',
    ),
    (
        {"allowed": True, "patchType": "JSONPatch", "patch": "bm8="},
        "received undecodable patch in webhook response: invalid character 'o' in literal null"
        " (expecting 'u')",
    ),
]


def test_a_webhook_that_fails_fails_the_request_or_is_passed_over(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    hook = webhook(server, path)
    with register("mutating", hook):
        for said, told in FAILURES:
            server.says[path] = lambda _, said=said: said
            answer = api.request("POST", configmaps, body=configmap("a"))
            text = f'failed calling webhook "{hook["name"]}": {told}'
            details = answer.refusal(500, "InternalError", f"Internal error occurred: {text}")
            assert details == {"causes": [{"message": text}]}
    with register("mutating", {**hook, "failurePolicy": "Ignore"}):
        for said, _ in FAILURES:
            server.says[path] = lambda _, said=said: said
            api.create(f"{configmaps}?dryRun=All", configmap("a"))


def test_a_validating_webhook_may_not_patch(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    hook = webhook(server, path)
    server.says[path] = patch({"op": "add", "path": "/data", "value": {}})
    with register("validating", hook):
        answer = api.request("POST", configmaps, body=configmap("a"))
    told = "received invalid webhook response: validating webhook may not return response.patch"
    text = f'Internal error occurred: failed calling webhook "{hook["name"]}": {told}'
    answer.refusal(500, "InternalError", text)


def test_a_webhook_that_is_not_there_or_not_trusted_is_told(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    url = f"https://127.0.0.1:1{path}"
    gone = webhook(server, path, clientConfig={"url": url, "caBundle": server.ca})
    with register("validating", gone):
        answer = api.request("POST", configmaps, body=configmap("a"))
    answer.refusal(
        500,
        "InternalError",
        f'Internal error occurred: failed calling webhook "{gone["name"]}": failed to call webhook:'
        f' Post "{url}?timeout=20s": dial tcp 127.0.0.1:1: connect: connection refused',
    )
    stranger = webhook(server, path, clientConfig={"url": server.client(path)["url"]})
    with register("validating", stranger):
        answer = api.request("POST", configmaps, body=configmap("a"))
    answer.refusal(500, "InternalError")
    assert "x509: certificate signed by unknown authority" in answer.json()["message"]


def test_a_webhook_that_takes_too_long_is_given_up(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    over = threading.Event()

    def say(_: Object) -> Object:
        over.wait(20)
        return {"allowed": True}

    server.says[path] = say
    hooks = [webhook(server, path, timeoutSeconds=1), webhook(server, f"{path}/patient")]
    server.says[f"{path}/patient"] = say
    try:
        with register("validating", hooks[0]):
            answer = api.request("POST", configmaps, body=configmap("a"))
        with register("mutating", hooks[1]):
            # A client may be in a hurry, too.
            hurried = api.request("POST", f"{configmaps}?timeout=1s", body=configmap("a"))
    finally:
        over.set()
    answer.refusal(500, "InternalError")
    assert answer.json()["message"].endswith("context deadline exceeded")
    assert api.request("GET", f"{configmaps}/a").status == 404
    assert (hurried.status, hurried.json()["reason"]) == (504, "Timeout")
    assert hurried.json()["message"].startswith("Timeout: request did not complete within")


BAD_PATCHES: list[tuple[Object, str]] = [
    (
        {"op": "remove", "path": "/data/missing/deep"},
        'remove operation does not apply: doc is missing path: "/data/missing/deep": missing value',
    ),
    (
        {"op": "add", "path": "/data", "value": 7},
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type"
        " map[string]string",
    ),
    (
        {"op": "test", "path": "/metadata/name", "value": "other"},
        "testing value /metadata/name failed: test failed",
    ),
]


def test_a_patch_that_cannot_be_carried_out_fails_the_request(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    with register("mutating", webhook(server, path)):
        for operation, told in BAD_PATCHES:
            server.says[path] = patch(operation)
            answer = api.request("POST", configmaps, body=configmap("a"))
            answer.refusal(500, "InternalError", f"Internal error occurred: {told}")
    assert api.request("GET", f"{configmaps}/a").status == 404


def test_a_webhook_may_ask_the_server_meanwhile(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    def say(_: Object) -> Object:
        api.create(configmaps, {"metadata": {"name": "beside", "labels": {"beside": "yes"}}})
        api.forget()
        return {"allowed": True}

    server.says[path] = say
    others = {"matchExpressions": [{"key": "beside", "operator": "DoesNotExist"}]}
    with register("validating", webhook(server, path, objectSelector=others)):
        api.create(configmaps, configmap("a"))
    assert api.read(f"{configmaps}/beside")["metadata"]["name"] == "beside"


def test_a_change_that_overtakes_another_is_not_lost(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    """While a webhook thinks about a patch the object changes: the patch is made anew on that."""
    api.create(configmaps, configmap("a"))
    overtaking = iter([True])

    def say(request: Object) -> Object:
        if request["object"].get("data", {}).get("slow") and next(overtaking, False):
            api.patch(f"{configmaps}/a", {"data": {"quick": "yes"}})
            api.forget()
        return {"allowed": True}

    server.says[path] = say
    with register("validating", webhook(server, path)):
        api.patch(f"{configmaps}/a", {"data": {"slow": "yes"}})
    assert api.read(f"{configmaps}/a")["data"] == {"slow": "yes", "quick": "yes"}


def test_a_service_may_be_named_instead_of_a_url(
    api: Backend, server: WebhookServer, register: Register, path: str, configmaps: str
) -> None:
    """The certificate must be for the name of the Service, which is another host's name."""
    service = {
        "metadata": {"name": "hook"},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1"},
    }
    api.create("/api/v1/namespaces/default/services", service)
    client = {
        "service": {"name": "hook", "namespace": "default", "path": path, "port": server.port},
        "caBundle": server.ca,
    }
    try:
        with register("validating", webhook(server, path, clientConfig=client)):
            api.create(configmaps, configmap("a"))
    finally:
        api.delete("/api/v1/namespaces/default/services/hook")
    assert len(server.asked(path)) == 1


def test_configurations_of_webhooks_are_shown_to_nobody(
    api: Backend, server: WebhookServer, path: str, unique: str
) -> None:
    everything = {
        "operations": ["*"],
        "apiGroups": ["admissionregistration.k8s.io"],
        "apiVersions": ["*"],
        "resources": ["*"],
    }
    server.says[path] = deny("never")
    with registered(api, server, "validating", unique, [webhook(server, path, rules=[everything])]):
        other = {"metadata": {"name": f"{unique}-other"}, "webhooks": []}
        root = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        api.create(root, other)
        api.delete(f"{root}/{unique}-other")
    assert server.asked(path) == []
