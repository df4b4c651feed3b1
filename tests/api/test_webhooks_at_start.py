"""A server starts whatever its webhooks say: they were configured before, and may be gone."""

from pathlib import Path

from manifests import configmap
from ours import running
from transports import ProcessBackend

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
