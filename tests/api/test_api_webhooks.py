"""Admission webhooks: what they are told, and what becomes of what they say."""

import threading
from typing import Any

import pytest
from backends import Backend
from manifests import configmap, deployment
from webhook_server import RULE, Register, WebhookServer, deny, patch, webhook

from atoll.wire import Wire

APPS = RULE | {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"]}


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


DENIALS: list[tuple[Wire, int, str | None, str]] = [
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
        def say(request: Wire) -> Wire:
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

    def say(_: Wire) -> Wire:
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
        left = api.patch(f"{configmaps}/is", {"metadata": {"labels": {"chosen": "no"}}})
        # kube-apiserver patches what it remembers, and asks again where that was old news.
        version = left["metadata"]["resourceVersion"]
        api.read(f"{configmaps}/is?resourceVersion={version}")
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
