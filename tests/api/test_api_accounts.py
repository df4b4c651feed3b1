"""Service accounts: the tokens that speak for them, and what ends these."""

import base64
import json
import time
from collections.abc import Callable

import pytest
from backends import Answer, Backend

from atoll.wire import Wire

PATIENCE_S = 120.0
KIND = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}


@pytest.fixture
def accounts(api: Backend, namespace: str) -> str:
    """The path of accounts in a namespace that has one called `robot`."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.create(path, {"metadata": {"name": "robot"}})
    return path


def asked(api: Backend, accounts: str, **spec: object) -> str:
    body = {**KIND, "spec": spec}
    answer = api.request("POST", f"{accounts}/robot/token", body=body)
    token: str = answer.object(201)["status"]["token"]
    return token


def seen_as(api: Backend, token: str) -> Answer:
    """What somebody with this token is answered who asks for what only administrators may see."""
    return api.stranger("GET", "/api/v1/namespaces", {"authorization": f"Bearer {token}"})


def gone(ask: Callable[[], Answer], status: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (answer := ask()).status != status and time.monotonic() < deadline:
        time.sleep(0.02)
    assert answer.status == status, answer.body.decode()


def claims(token: str) -> Wire:
    body = token.split(".")[1]
    said: Wire = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return said


def test_a_token_speaks_for_its_account(api: Backend, accounts: str, namespace: str) -> None:
    user = f"system:serviceaccount:{namespace}:robot"
    seen_as(api, asked(api, accounts)).refusal(
        403,
        "Forbidden",
        f'namespaces is forbidden: User "{user}" cannot list resource "namespaces" in API group ""'
        " at the cluster scope",
    )


def test_a_token_says_for_whom_and_how_long_it_is(
    api: Backend, accounts: str, namespace: str
) -> None:
    said = claims(asked(api, accounts, expirationSeconds=700))
    uid = api.read(f"{accounts}/robot")["metadata"]["uid"]
    assert said["exp"] - said["iat"] == 700
    assert said["sub"] == f"system:serviceaccount:{namespace}:robot"
    account = {"name": "robot", "uid": uid}
    assert said["kubernetes.io"] == {"namespace": namespace, "serviceaccount": account}


def test_a_request_for_a_token_is_answered_with_the_account(
    api: Backend, accounts: str, namespace: str
) -> None:
    answer = api.request("POST", f"{accounts}/robot/token", body={}).object(201)
    uid = api.read(f"{accounts}/robot")["metadata"]["uid"]
    meta = {key: answer["metadata"][key] for key in ("name", "namespace", "uid")}
    assert meta == {"name": "robot", "namespace": namespace, "uid": uid}
    assert (answer["kind"], answer["apiVersion"]) == (KIND["kind"], KIND["apiVersion"])
    assert answer["spec"]["expirationSeconds"] == 3600
    assert sorted(answer["status"]) == ["expirationTimestamp", "token"]


@pytest.mark.parametrize(
    ("body", "code", "reason", "message"),
    [
        pytest.param(
            {"spec": {"expirationSeconds": 10}},
            422,
            "Invalid",
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid'
            " value: 10: may not specify a duration less than 10 minutes",
            id="too short",
        ),
        pytest.param(
            {"spec": {"expirationSeconds": 2**32 + 1}},
            422,
            "Invalid",
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid'
            " value: 4294967297: may not specify a duration larger than 2^32 seconds",
            id="too long",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "x"}}},
            404,
            "NotFound",
            'secrets "x" not found',
            id="bound to nothing",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}},
            400,
            "BadRequest",
            "cannot bind token to object of type /v1, Kind=ConfigMap",
            id="bound to what cannot be",
        ),
        pytest.param(
            {"metadata": {"name": "other"}},
            422,
            "Invalid",
            'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value:'
            ' "other": must match the service account name if specified',
            id="another name",
        ),
    ],
)
def test_odd_requests_for_tokens_are_refused(
    api: Backend, accounts: str, body: Wire, code: int, reason: str, message: str
) -> None:
    answer = api.request("POST", f"{accounts}/robot/token", body={**KIND, **body})
    answer.refusal(code, reason, message)


def test_there_is_no_token_for_an_account_that_is_not_there(api: Backend, accounts: str) -> None:
    answer = api.request("POST", f"{accounts}/nobody/token", body=KIND)
    answer.refusal(404, "NotFound", 'serviceaccounts "nobody" not found')
    assert api.request("GET", f"{accounts}/robot/token").status == 405


def test_a_token_for_others_is_not_for_us(api: Backend, accounts: str) -> None:
    assert seen_as(api, asked(api, accounts, audiences=["somebody-else"])).status == 401


def test_a_token_that_was_tampered_with_is_refused(api: Backend, accounts: str) -> None:
    head, body, signature = asked(api, accounts).split(".")
    said = {**claims(f"{head}.{body}."), "sub": "system:serviceaccount:kube-system:admin"}
    other = base64.urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"=").decode()
    for token in (f"{head}.{other}.{signature}", f"{head}.{body}.", f"{head}.{body}.AAAA"):
        assert seen_as(api, token).status == 401
    nothing = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    assert seen_as(api, f"{nothing}.{body}.").status == 401


# From here on ours alone: the testenv's Kubernetes runs no controllers, and remembers tokens.


@pytest.fixture
def robot(https: Backend, unique: str) -> str:
    """The path of accounts in a namespace of ours that has one called `robot`."""
    https.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    path = f"/api/v1/namespaces/{unique}/serviceaccounts"
    https.create(path, {"metadata": {"name": "robot"}})
    return path


@pytest.fixture
def secret(https: Backend, robot: str, unique: str) -> str:
    """The path of a Secret made for a token of that account, with its token in it."""
    return with_token(https, unique)


def with_token(api: Backend, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/secrets"
    notes = {"kubernetes.io/service-account.name": "robot"}
    api.create(
        path,
        {
            "metadata": {"name": "robot-token", "annotations": notes},
            "type": "kubernetes.io/service-account-token",
        },
    )
    deadline = time.monotonic() + PATIENCE_S
    while "data" not in api.read(f"{path}/robot-token"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return f"{path}/robot-token"


def data_of(api: Backend, secret: str) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in api.read(secret)["data"].items()}


def test_a_secret_for_a_token_is_filled(https: Backend, secret: str, unique: str) -> None:
    data = data_of(https, secret)
    assert data.keys() == {"token", "namespace", "ca.crt"}
    assert data["namespace"] == unique.encode()
    assert data["ca.crt"].startswith(b"-----BEGIN CERTIFICATE-----")
    answer = seen_as(https, data["token"].decode())
    assert f'"system:serviceaccount:{unique}:robot\\" cannot list' in answer.body.decode()
    uid = https.read(f"/api/v1/namespaces/{unique}/serviceaccounts/robot")["metadata"]["uid"]
    notes = https.read(secret)["metadata"]["annotations"]
    assert notes["kubernetes.io/service-account.uid"] == uid


def test_a_secret_for_a_token_goes_with_its_account(
    https: Backend, secret: str, unique: str
) -> None:
    token = data_of(https, secret)["token"].decode()
    https.delete(f"/api/v1/namespaces/{unique}/serviceaccounts/robot")
    gone(lambda: https.request("GET", secret), 404)
    assert seen_as(https, token).status == 401


def test_a_token_ends_with_its_account(https: Backend, robot: str) -> None:
    token = asked(https, robot)
    assert seen_as(https, token).status == 403
    https.delete(f"{robot}/robot")
    assert seen_as(https, token).status == 401
    https.create(robot, {"metadata": {"name": "robot"}})  # another one of that name
    assert seen_as(https, asked(https, robot)).status == 403
    assert seen_as(https, token).status == 401


def test_a_token_ends_with_what_it_is_bound_to(https: Backend, robot: str, unique: str) -> None:
    secrets = f"/api/v1/namespaces/{unique}/secrets"
    https.create(secrets, {"metadata": {"name": "held"}})
    bound = {"kind": "Secret", "apiVersion": "v1", "name": "held"}
    token = asked(https, robot, boundObjectRef=bound)
    assert seen_as(https, token).status == 403
    https.delete(f"{secrets}/held")
    assert seen_as(https, token).status == 401


def test_a_token_ends_with_its_secret(https: Backend, secret: str, unique: str) -> None:
    token = data_of(https, secret)["token"].decode()
    assert seen_as(https, token).status == 403
    https.delete(secret)
    assert seen_as(https, token).status == 401
    assert data_of(https, with_token(https, unique))["token"].decode() == token
    assert seen_as(https, token).status == 403


def test_a_secret_for_an_account_that_is_not_there_goes(https: Backend, unique: str) -> None:
    https.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    path = f"/api/v1/namespaces/{unique}/secrets"
    notes = {"kubernetes.io/service-account.name": "nobody"}
    https.create(
        path,
        {
            "metadata": {"name": "orphan", "annotations": notes},
            "type": "kubernetes.io/service-account-token",
        },
    )
    gone(lambda: https.request("GET", f"{path}/orphan"), 404)
    assert https.read(path)["items"] == []


def test_people_are_allowed_what_roles_collect(https: Backend, unique: str) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    rule = {"apiGroups": [f"{unique}.io"], "resources": ["things"], "verbs": ["get"]}
    https.create(roles, {"metadata": {"name": unique, "labels": label}, "rules": [rule]})
    deadline = time.monotonic() + PATIENCE_S
    while rule not in (https.read(f"{roles}/admin")["rules"] or []):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert rule in https.read(f"{roles}/view")["rules"]
    https.delete(f"{roles}/{unique}")
    while rule in https.read(f"{roles}/admin")["rules"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
