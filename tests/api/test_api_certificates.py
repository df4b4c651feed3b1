"""Certificates on request: who may ask for, approve and issue them, and what they are good for."""

import base64
import time
from collections.abc import Callable

import pytest
from backends import Answer, Backend
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from transports import HttpBackend

from atoll.apiserver.access.default_roles import GROUP as RBAC
from atoll.wire import Wire

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
PATIENCE_S = 120.0
KEY = ec.derive_private_key(7, ec.SECP256R1())
USAGES = ["client auth", "digital signature"]


def pem(name: str, *groups: str) -> bytes:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    return made.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def request(name: str, asked: bytes, signer: str = CLIENT, **more: object) -> Wire:
    spec = {"request": base64.b64encode(asked).decode(), "signerName": signer, "usages": USAGES}
    return {"metadata": {"name": name}, "spec": {**spec, **more}}


def condition(kind: str, status: str = "True") -> Wire:
    return {"type": kind, "status": status, "reason": "Test", "message": "so"}


def decided(csr: Wire, *conditions: Wire) -> Wire:
    return {**csr, "status": {"conditions": list(conditions)}}


def settled(ask: Callable[[], Answer], done: Callable[[Answer], bool]) -> Answer:
    deadline = time.monotonic() + PATIENCE_S
    while not done(answer := ask()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert done(answer), answer.body.decode()
    return answer


def test_a_request_says_who_asks_whatever_it_said_itself(api: Backend, unique: str) -> None:
    headers = {"impersonate-user": "ann", "impersonate-group": "system:masters"}
    body = request(unique, pem("ann"), username="bob", groups=["x"], uid="1", extra={"a": ["b"]})
    made = api.request("POST", PATH, body=body, headers=headers).object(201)
    spec = {key: value for key, value in made["spec"].items() if key != "request"}
    assert spec == {
        "signerName": CLIENT,
        "usages": USAGES,
        "username": "ann",
        "groups": ["system:masters", "system:authenticated"],
    }
    changed = {**made, "spec": {**made["spec"], "username": "bob"}}
    assert api.update(f"{PATH}/{unique}", changed)["spec"] == made["spec"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            request("b", b"hello"),
            'spec.request: Invalid value: "aGVsbG8=": PEM block type must be CERTIFICATE REQUEST',
            id="no request",
        ),
        pytest.param(
            request("b", pem("ann"), usages=[]), "spec.usages: Required value", id="no usages"
        ),
        pytest.param(
            request("b", pem("ann"), ""), "spec.signerName: Required value", id="no signer"
        ),
        pytest.param(
            request("b", pem("ann"), "plain"),
            'spec.signerName: Invalid value: "plain": must be a fully qualified domain and path of'
            " the form 'example.com/signer-name'",
            id="a signer without domain",
        ),
        pytest.param(
            request("b", pem("ann"), "com/x"),
            'spec.signerName: Invalid value: "com": should be a domain with at least two segments'
            " separated by dots",
            id="a signer with a short domain",
        ),
        pytest.param(
            request("b", pem("ann"), expirationSeconds=5),
            "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600"
            " seconds (10 minutes)",
            id="too short",
        ),
        pytest.param(
            request("b", pem("ann"), usages=["client auth", "client auth"]),
            'spec.usages[1]: Duplicate value: "client auth"',
            id="a usage twice",
        ),
    ],
)
def test_odd_requests_are_refused(api: Backend, body: Wire, message: str) -> None:
    api.request("POST", PATH, body=body).refusal(
        422,
        "Invalid",
        f'CertificateSigningRequest.certificates.k8s.io "b" is invalid: {message}',
    )


def test_nobody_becomes_an_administrator_by_a_certificate(api: Backend) -> None:
    answer = api.request("POST", PATH, body=request("b", pem("ann", "system:masters")))
    answer.refusal(
        403,
        "Forbidden",
        'certificatesigningrequests.certificates.k8s.io "b" is forbidden: use of'
        f" {CLIENT} signer with system:masters group is not allowed",
    )


@pytest.mark.parametrize(
    ("part", "conditions", "message"),
    [
        pytest.param(
            "status",
            [condition("Approved")],
            'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
            id="approved elsewhere",
        ),
        pytest.param(
            "approval",
            [condition("Approved", "False")],
            'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
            id="approved falsely",
        ),
        pytest.param(
            "approval",
            [condition("Approved"), condition("Denied")],
            'status.conditions: Invalid value: "Denied": Approved and Denied conditions are'
            " mutually exclusive",
            id="approved and denied",
        ),
        pytest.param(
            "approval",
            [condition("Odd", "Maybe")],
            'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False",'
            ' "True", "Unknown"',
            id="maybe",
        ),
    ],
)
def test_odd_approvals_are_refused(
    api: Backend, unique: str, part: str, conditions: list[Wire], message: str
) -> None:
    made = api.create(PATH, request(unique, pem("ann"), "example.com/mine"))
    body = decided(made, *conditions)
    api.request("PUT", f"{PATH}/{unique}/{part}", body=body).refusal(
        422,
        "Invalid",
        f'CertificateSigningRequest.certificates.k8s.io "{unique}" is invalid: {message}',
    )


def test_what_is_approved_stays_so_and_nothing_else_is_changed_by_it(
    api: Backend, unique: str
) -> None:
    made = api.create(PATH, request(unique, pem("ann"), "example.com/mine"))
    body = decided({**made, "spec": {**made["spec"], "usages": ["any"]}}, condition("Approved"))
    body["status"]["certificate"] = base64.b64encode(b"none").decode()
    after = api.update(f"{PATH}/{unique}/approval", body)
    assert after["spec"] == made["spec"]
    (approved,) = after["status"]["conditions"]
    assert "certificate" not in after["status"]
    assert {"lastUpdateTime", "lastTransitionTime"} < approved.keys()
    api.request("PUT", f"{PATH}/{unique}/approval", body=decided(after)).refusal(
        422,
        "Invalid",
        f'CertificateSigningRequest.certificates.k8s.io "{unique}" is invalid: status.conditions:'
        ' Forbidden: updates may not remove a condition of type "Approved"',
    )


def grant(api: Backend, name: str, user: str, rules: list[Wire]) -> None:
    path = f"/apis/{RBAC}/v1"
    api.create(f"{path}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    api.create(
        f"{path}/clusterrolebindings",
        {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "apiGroup": RBAC, "name": user}],
        },
    )


def test_approving_and_issuing_need_a_right_on_the_signer(api: Backend, unique: str) -> None:
    parts = ["certificatesigningrequests", "certificatesigningrequests/approval"]
    parts.append("certificatesigningrequests/status")
    verbs = ["get", "create", "update"]
    user = {"impersonate-user": f"user-{unique}"}
    group = "certificates.k8s.io"
    rule = {"apiGroups": [group], "resources": parts, "verbs": verbs}
    grant(api, unique, user["impersonate-user"], [rule])
    body = request(unique, pem("ann"), "example.com/mine")
    answer = settled(
        lambda: api.request("POST", PATH, body=body, headers=user), lambda a: a.status == 201
    )
    made = answer.object(201)

    def send(part: str, kind: str) -> Answer:
        path = f"{PATH}/{unique}/{part}"
        return api.request("PUT", path, body=decided(made, condition(kind)), headers=user)

    said = f'{parts[0]}.{group} "{unique}" is forbidden: user not permitted to'
    signer = 'requests with signerName "example.com/mine"'
    send("approval", "Approved").refusal(403, "Forbidden", f"{said} approve {signer}")
    send("status", "Failed").refusal(403, "Forbidden", f"{said} sign {signer}")
    more = {"apiGroups": [group], "resources": ["signers"], "verbs": ["approve"]}
    more["resourceNames"] = ["example.com/*"]
    api.patch(f"/apis/{RBAC}/v1/clusterroles/{unique}", {"rules": [rule, more]})
    settled(lambda: send("approval", "Approved"), lambda a: a.status == 200)
    assert api.read(f"{PATH}/{unique}")["status"]["conditions"][0]["type"] == "Approved"


# From here on ours alone: the testenv's Kubernetes runs no controllers.


def issued(api: Backend, name: str) -> x509.Certificate:
    def has_certificate(answer: Answer) -> bool:
        return "certificate" in answer.object()["status"]

    answer = settled(lambda: api.request("GET", f"{PATH}/{name}"), has_certificate)
    raw = base64.b64decode(answer.json()["status"]["certificate"])
    return x509.load_pem_x509_certificate(raw)


def test_an_approved_request_is_signed_and_its_certificate_is_accepted(
    https: HttpBackend, unique: str, tmp_path
) -> None:
    body = request(unique, pem("ann", "team"), expirationSeconds=3600)
    made = https.create(PATH, body)
    https.update(f"{PATH}/{unique}/approval", decided(made, condition("Approved")))
    certificate = issued(https, unique)
    lasts = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert lasts.total_seconds() == 3600 + 300
    chain, key = tmp_path / "ann.crt", tmp_path / "ann.key"
    chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    key.write_bytes(KEY.private_bytes(*form))
    ann = HttpBackend("ann", https.url, https.authority, (chain, key))
    answer = ann.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body={})
    ann.forget()
    info = answer.object(201)["status"]["userInfo"]
    assert list(info.pop("extra")) == ["authentication.kubernetes.io/credential-id"]
    assert info == {"username": "ann", "groups": ["team", "system:authenticated"]}


def test_what_was_denied_or_is_for_others_is_not_signed(https: Backend, unique: str) -> None:
    denied = https.create(PATH, request(f"{unique}-a", pem("ann")))
    https.update(f"{PATH}/{unique}-a/approval", decided(denied, condition("Denied")))
    foreign = https.create(PATH, request(f"{unique}-b", pem("ann"), "example.com/mine"))
    https.update(f"{PATH}/{unique}-b/approval", decided(foreign, condition("Approved")))
    last = https.create(PATH, request(f"{unique}-c", pem("ann")))
    https.update(f"{PATH}/{unique}-c/approval", decided(last, condition("Approved")))
    assert issued(https, f"{unique}-c")
    for name in (f"{unique}-a", f"{unique}-b"):
        assert "certificate" not in https.read(f"{PATH}/{name}")["status"]


@pytest.mark.parametrize(
    ("signer", "usages"),
    [
        pytest.param(CLIENT, ["server auth"], id="for a server"),
        pytest.param(KUBELET, USAGES, id="not a node"),
    ],
)
def test_what_may_not_be_signed_fails(
    https: Backend, unique: str, signer: str, usages: list[str]
) -> None:
    made = https.create(PATH, request(unique, pem("ann"), signer, usages=usages))
    https.update(f"{PATH}/{unique}/approval", decided(made, condition("Approved")))

    def has_failed(answer: Answer) -> bool:
        return len(answer.object()["status"]["conditions"]) == 2

    answer = settled(lambda: https.request("GET", f"{PATH}/{unique}"), has_failed)
    failed = answer.json()["status"]["conditions"][1]
    assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")


def test_an_agent_that_may_register_is_approved_at_once(https: Backend, unique: str) -> None:
    right = {"apiGroups": ["certificates.k8s.io"], "verbs": ["create"]}
    parts = ["certificatesigningrequests", "certificatesigningrequests/clusteragent"]
    grant(https, unique, f"user-{unique}", [{**right, "resources": parts}])
    user = {"impersonate-user": f"user-{unique}"}
    agent = pem("system:karmada:agent:member1", "system:karmada:agents")
    https.request("POST", PATH, body=request(f"{unique}-a", agent), headers=user).object(201)
    certificate = issued(https, f"{unique}-a")
    assert certificate.subject.rfc4514_string() == (
        "CN=system:karmada:agent:member1,O=system:karmada:agents"
    )
    (approved,) = https.read(f"{PATH}/{unique}-a")["status"]["conditions"]
    assert (approved["type"], approved["reason"]) == ("Approved", "AutoApproved")
    other = request(f"{unique}-b", pem("ann", "system:karmada:agents"))
    https.request("POST", PATH, body=other, headers=user).object(201)
    https.create(PATH, request(f"{unique}-c", pem("somebody")))
    assert https.read(f"{PATH}/{unique}-b")["status"] == {}
    shown = https.read(PATH, "application/json;as=Table;v=v1;g=meta.k8s.io")
    cells = {row["cells"][0]: row["cells"][5] for row in shown["rows"]}
    assert (cells[f"{unique}-a"], cells[f"{unique}-b"]) == ("Approved,Issued", "Pending")
