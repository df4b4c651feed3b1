"""Bootstrap tokens: who comes in with one, and how they vouch for where the server is."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from backends import Backend
from transports import HttpBackend

from atoll.wire import Wire

SECRETS = "/api/v1/namespaces/kube-system/secrets"
INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
SECRET = "0123456789abcdef"
PATIENCE_S = 120.0


@pytest.fixture
def token_id(unique: str) -> str:
    return f"t{int(unique.partition('-')[2]):05}"


def token(token_id: str, name: str = "", **data: str) -> Wire:
    usual = {
        "token-id": token_id,
        "token-secret": SECRET,
        "usage-bootstrap-authentication": "true",
    }
    return {
        "metadata": {"name": name or f"bootstrap-token-{token_id}"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": usual | {key.replace("_", "-"): value for key, value in data.items()},
    }


def status_with(api: Backend, given: str) -> int:
    return api.stranger("GET", "/api", {"authorization": f"Bearer {given}"}).status


def until(done: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not (holds := done()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds


def in_hours(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_bootstrap_token_stands_for_itself_and_its_groups(api: Backend, token_id: str) -> None:
    more = "system:bootstrappers:one,system:bootstrappers:two:three"
    api.create(SECRETS, token(token_id, auth_extra_groups=more, expiration=in_hours(1)))
    assert until(lambda: status_with(api, f"{token_id}.{SECRET}") == 200)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    body = {**review, "spec": {"token": f"{token_id}.{SECRET}"}}
    answer = api.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body=body)
    assert answer.object(201)["status"]["user"] == {
        "username": f"system:bootstrap:{token_id}",
        "groups": ["system:bootstrappers", *more.split(","), "system:authenticated"],
    }
    assert status_with(api, f"{token_id}.{SECRET[:-1]}0") == 401
    api.delete(f"{SECRETS}/bootstrap-token-{token_id}")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"expiration": "2020-01-01T00:00:00Z"}, id="over"),
        pytest.param({"usage_bootstrap_authentication": "false"}, id="not for coming in"),
        pytest.param({"auth_extra_groups": "system:masters"}, id="of a group that may not be"),
        pytest.param({"name": "bootstrap-token-other"}, id="of another name"),
    ],
)
def test_a_token_that_is_not_good_is_refused(
    api: Backend, token_id: str, data: dict[str, str]
) -> None:
    api.create(SECRETS, token(f"{token_id[:-1]}x"))
    name = api.create(SECRETS, token(token_id, **data))["metadata"]["name"]
    assert until(lambda: status_with(api, f"{token_id[:-1]}x.{SECRET}") == 200)
    assert status_with(api, f"{token_id}.{SECRET}") == 401
    api.request("DELETE", f"{SECRETS}/{name}")
    api.delete(f"{SECRETS}/bootstrap-token-{token_id[:-1]}x")


# From here on ours alone: the testenv's Kubernetes runs no controllers.


def test_the_server_says_where_it_is_and_tokens_vouch_for_it(
    https: HttpBackend, token_id: str
) -> None:
    https.create(SECRETS, token(token_id, usage_bootstrap_signing="true"))
    key = f"jws-kubeconfig-{token_id}"
    assert until(lambda: key in https.read(INFO)["data"])
    data = https.read(INFO)["data"]
    (cluster,) = yaml.safe_load(data["kubeconfig"])["clusters"]
    assert cluster["cluster"]["server"] == https.url
    authority = base64.b64decode(cluster["cluster"]["certificate-authority-data"])
    assert authority == https.authority.read_bytes()
    head, content, signature = data[key].split(".")
    assert content == ""
    assert json.loads(decoded(head)) == {"alg": "HS256", "kid": token_id}
    said = f"{head}.{encoded(data['kubeconfig'].encode())}".encode()
    assert decoded(signature) == hmac.digest(SECRET.encode(), said, hashlib.sha256)
    https.delete(f"{SECRETS}/bootstrap-token-{token_id}")
    assert until(lambda: key not in https.read(INFO)["data"])


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_what_was_changed_in_it_is_put_right(https: HttpBackend) -> None:
    assert until(lambda: https.request("GET", INFO).status == 200)
    right = https.read(INFO)["data"]["kubeconfig"]
    https.patch(INFO, {"data": {"kubeconfig": "elsewhere", "jws-kubeconfig-ffffff": "x"}})
    assert until(lambda: https.read(INFO)["data"] == {"kubeconfig": right})
    https.delete(INFO)
    assert until(lambda: https.request("GET", INFO).status == 200)


def test_a_token_whose_time_is_up_goes(https: HttpBackend, token_id: str) -> None:
    https.create(SECRETS, token(token_id, expiration=in_hours(1 / 3600)))
    path = f"{SECRETS}/bootstrap-token-{token_id}"
    assert until(lambda: https.request("GET", path).status == 404)
