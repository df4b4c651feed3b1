"""Admission webhooks that fail, are slow, or ask the server in turn; and how they are found."""

import threading
from contextlib import suppress
from http.client import RemoteDisconnected

from backends import Answer, Backend
from manifests import configmap
from webhook_server import RULE, Register, WebhookServer, deny, patch, registered, webhook

from atoll.wire import Wire

APPS = RULE | {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"]}


REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
FAILURES: list[tuple[Wire, str]] = [
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

    def say(_: Wire) -> Wire:
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
            hurried = _in_time(api, f"{configmaps}?timeout=1s", configmap("a"))
    finally:
        over.set()
    answer.refusal(500, "InternalError")
    assert answer.json()["message"].endswith("context deadline exceeded")
    assert api.request("GET", f"{configmaps}/a").status == 404
    assert (hurried.status, hurried.json()["reason"]) == (504, "Timeout")
    assert hurried.json()["message"].startswith("Timeout: request did not complete within")


def _in_time(api: Backend, path: str, wire: Wire) -> Answer:
    """The answer to a request that is given up, asked for until there is one.

    Where webhook and request end at the same moment, kube-apiserver may hang up without a word.
    """
    for _ in range(10 if api.name == "kubernetes" else 0):
        with suppress(RemoteDisconnected):
            return api.request("POST", path, body=wire)
    return api.request("POST", path, body=wire)


BAD_PATCHES: list[tuple[Wire, str]] = [
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
    def say(_: Wire) -> Wire:
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

    def say(request: Wire) -> Wire:
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
