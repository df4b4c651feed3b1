"""A cluster registers with a plane by itself, with nothing but a token."""

import base64
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from karmada_plane import Asking, running

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import read_signing

TOKEN = "abcdef.0123456789abcdef"
GROUP = "system:bootstrappers:karmada:default-cluster-token"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
AGENT = "system:karmada:agent:member1"
AGENTS = "system:karmada:agents"
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    directory: Path = tmp_path_factory.mktemp("pki")
    credentials = ensure_credentials(directory, datetime.now(UTC))
    with running(signing=read_signing(credentials, "https://192.0.2.1:5443")) as asking:
        name, _, secret = TOKEN.partition(".")
        data = {"token-id": name, "token-secret": secret, "auth-extra-groups": GROUP}
        data |= dict.fromkeys(("usage-bootstrap-authentication", "usage-bootstrap-signing"), "true")
        asking.done(
            "POST",
            "/api/v1/namespaces/kube-system/secrets",
            {
                "metadata": {"name": f"bootstrap-token-{name}"},
                "type": "bootstrap.kubernetes.io/token",
                "stringData": data,
            },
        )
        yield asking


def asked_for(name: str, group: str) -> dict:
    key = ec.generate_private_key(ec.SECP256R1())
    names = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, group),
        x509.NameAttribute(NameOID.COMMON_NAME, name),
    ]
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return {
        "metadata": {"generateName": "csr-"},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["digital signature", "key encipherment", "client auth"],
        },
    }


def status_of(plane: Asking, name: str, wanted: str) -> dict:
    deadline = time.monotonic() + PATIENCE_S
    while wanted not in (status := plane.done("GET", f"{REQUESTS}/{name}")["status"]):
        assert time.monotonic() < deadline, status
    return status


def test_anybody_may_read_where_the_plane_is(plane: Asking) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (answer := plane.by(None).ask("GET", INFO))[0] == 404:
        assert time.monotonic() < deadline
    assert answer[0] == 200
    assert "https://192.0.2.1:5443" in answer[1]["data"]["kubeconfig"]
    assert plane.by(None).ask("GET", f"{INFO}-of-others")[0] == 403


def test_a_token_gets_an_agent_its_certificate(plane: Asking) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    made = plane.by(None).done("POST", REQUESTS, asked_for(AGENT, AGENTS), **bearer)
    assert made["spec"]["username"] == "system:bootstrap:abcdef"
    status = status_of(plane, made["metadata"]["name"], "certificate")
    assert status["conditions"][0]["reason"] == "AutoApproved"
    pem = base64.b64decode(status["certificate"])
    assert b"BEGIN CERTIFICATE" in pem
    assert plane.by(None).ask("GET", "/api/v1/secrets", **bearer)[0] == 403


def test_an_agent_renews_its_own_certificate_and_no_other(plane: Asking) -> None:
    headers = {"impersonate_user": AGENT, "impersonate_group": AGENTS}
    requests = {"apiGroups": ["certificates.k8s.io"], "verbs": ["create"]}
    requests["resources"] = ["certificatesigningrequests"]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    plane.done("POST", f"{roles}/clusterroles", {"metadata": {"name": "ask"}, "rules": [requests]})
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "ask"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "ask"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": AGENTS}],
    }
    plane.done("POST", f"{roles}/clusterrolebindings", binding)
    other = plane.done("POST", REQUESTS, asked_for(f"{AGENT}-other", AGENTS), **headers)
    own = plane.done("POST", REQUESTS, asked_for(AGENT, AGENTS), **headers)
    assert status_of(plane, own["metadata"]["name"], "certificate")
    assert plane.done("GET", f"{REQUESTS}/{other['metadata']['name']}")["status"] == {}


def test_karmadas_own_agents_find_the_namespace_in_which_they_agree(plane: Asking) -> None:
    found = plane.done("GET", "/api/v1/namespaces/karmada-system")
    assert found["status"]["phase"] == "Active"
