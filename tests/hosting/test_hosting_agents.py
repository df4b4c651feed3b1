"""What lets clusters register by themselves on a real host: who it is, and a certificate."""

import base64
import json
from collections.abc import Iterator

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from replicas import QUICK, Host, Setting, replica, wait_for

from atoll.client.endpoint import Endpoint
from atoll.client.plain import PlainClient
from atoll.members.certifying import SIGNER

pytestmark = pytest.mark.testenv

INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
TOKENS = "/api/v1/namespaces/kube-system/secrets"
TOKEN = ("abcdef", "0123456789abcdef")
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def host(setting: Setting) -> Iterator[Host]:
    """A host with a plane, and with a token for clusters that register."""
    kubeconfig = setting.directory / "administrator"
    kubeconfig.write_bytes(setting.host.cluster.kubeconfig.read_bytes())
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"bootstrap-token-{TOKEN[0]}", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": TOKEN[0],
            "token-secret": TOKEN[1],
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": "system:bootstrappers:karmada:default-cluster-token",
        },
    }
    path = f"{TOKENS}/bootstrap-token-{TOKEN[0]}"
    setting.host.apply(path, secret)
    with replica(kubeconfig, *QUICK):
        yield setting.host
    for left in (path, INFO):
        setting.host.client.delete(left)


def test_cluster_info_says_where_the_host_is_and_tokens_vouch_for_it(host: Host):
    def signed() -> dict[str, str] | None:
        found = host.get(INFO)
        data: dict[str, str] = found["data"] if found else {}
        return data if f"jws-kubeconfig-{TOKEN[0]}" in data else None

    data = wait_for("signed cluster-info", signed)
    assert data is not None
    assert f"server: {host.cluster.url}" in data["kubeconfig"]
    authority = base64.b64encode(host.cluster.authority.read_bytes()).decode()
    assert authority in data["kubeconfig"]


def request_for(name: str) -> dict[str, object]:
    """A request for an agent's certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:karmada:agents"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:karmada:agent:{name}"),
        ]
    )
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    pem = asked.public_bytes(serialization.Encoding.PEM)
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": SIGNER,
            "usages": ["digital signature", "client auth"],
        },
    }


def test_an_agent_that_has_a_token_is_given_a_certificate(host: Host):
    authority = host.cluster.authority.read_bytes()
    agent = PlainClient(Endpoint(host.cluster.url, ca=authority, token=".".join(TOKEN)))
    body = json.dumps(request_for("edge")).encode()
    wait_for(
        "the rights of a token", lambda: agent.request("POST", REQUESTS, "", body, JSON).json()
    )
    agent.close()

    def approved() -> list[str]:
        status = host.client.get(f"{REQUESTS}/edge").get("status") or {}
        return [each["message"] for each in status.get("conditions") or ()]

    assert wait_for("approval", approved) == ["An agent registers with a token made for that."]
    host.client.delete(f"{REQUESTS}/edge")
