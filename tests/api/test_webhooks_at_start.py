"""A server starts whatever its webhooks say: they were configured before, and may be gone."""

import time
from pathlib import Path

from backends import Backend
from manifests import configmap
from ours import running
from transports import ProcessBackend
from webhook_server import RULE, WebhookServer, allow, webhook

ROOT = "/apis/admissionregistration.k8s.io/v1"
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


def test_a_webhook_that_is_gone_keeps_no_server_from_starting(tmp_path: Path) -> None:
    hook = {
        "name": "gone.example.io",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [EVERYTHING],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configmaps = "/api/v1/namespaces/default/configmaps"
    for kind in ("validating", "mutating"):
        path = f"{ROOT}/{kind}webhookconfigurations"
        with running(tmp_path) as ours:
            api = ProcessBackend(ours.handler, ours.loop)
            api.create(path, {"metadata": {"name": "gone"}, "webhooks": [hook]})
        with running(tmp_path) as ours:
            api = ProcessBackend(ours.handler, ours.loop)
            answer = api.request("POST", configmaps, body=configmap("a"))
            answer.refusal(500, "InternalError")
            assert "connection refused" in answer.json()["message"]
            api.delete(f"{path}/gone")
            api.create(f"{configmaps}?dryRun=All", configmap("a"))


def test_no_webhook_is_asked_about_what_a_start_leaves_as_it_is(tmp_path: Path) -> None:
    hooks = WebhookServer(tmp_path / "hooks")
    try:
        hooks.says["/asked"] = allow
        hook = webhook(hooks, "/asked", rules=[{**RULE, "operations": ["UPDATE"]}])
        configuration = {"metadata": {"name": "asked"}, "webhooks": [hook]}
        with running(tmp_path / "plane", furnishes=True) as ours:
            api = ProcessBackend(ours.handler, ours.loop)
            _furnished(api, "sooner")
            api.create(f"{ROOT}/validatingwebhookconfigurations", configuration)
        with running(tmp_path / "plane", furnishes=True) as ours:
            api = ProcessBackend(ours.handler, ours.loop)
            _furnished(api, "later")
            path = "/api/v1/namespaces/sooner/configmaps/kube-root-ca.crt"
            api.patch(path, {"metadata": {"labels": {"mine": "yes"}}})
        asked = [
            request["userInfo"]["username"]
            for request in hooks.asked("/asked")
            if request["name"] != "cluster-info"  # tells of the port, which is another one now
        ]
    finally:
        hooks.close()
    assert asked == ["kubernetes-admin"]


def _furnished(api: Backend, namespace: str) -> None:
    """Make a namespace, and wait until the ConfigMap is in it that each one gets."""
    api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    deadline = time.monotonic() + 120
    path = f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt"
    while api.request("GET", path).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)
