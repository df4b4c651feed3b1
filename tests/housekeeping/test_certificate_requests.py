"""What is done about a request for a certificate, and when it is swept up."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from atoll.apiserver.access.signers import CLIENT, KUBELET
from atoll.apiserver.housekeeping.certificates import Approve, Refuse, Sign, Sweep, Wait, plan

NOW = datetime(2026, 1, 2, tzinfo=UTC)
KEY = ec.derive_private_key(7, ec.SECP256R1())
USAGES = ("client auth", "digital signature")
AGENT = ("system:karmada:agent:m1", "system:karmada:agents")
NODE = ("system:node:n1", "system:nodes")


def asked(name, *groups, dns=()):
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    if dns:
        other = x509.SubjectAlternativeName([x509.DNSName(one) for one in dns])
        made = made.add_extension(other, critical=False)
    pem = made.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(pem).decode()


def csr(request, *conditions, age=timedelta(0), signer=CLIENT, username="u", **spec):
    made = (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = [{"type": kind, "status": "True", "lastUpdateTime": made} for kind in conditions]
    return {
        "metadata": {"name": "a", "creationTimestamp": made},
        "spec": {
            "request": request,
            "signerName": signer,
            "usages": list(USAGES),
            "username": username,
            **spec,
        },
        "status": {"conditions": found} if found else {},
    }


def allowing(*rights):
    return lambda _identity, wanted: wanted.subresource in rights


@pytest.mark.parametrize(
    ("request_of", "rights", "approved"),
    [
        pytest.param(csr(asked(*AGENT)), ["clusteragent"], True, id="an agent"),
        pytest.param(csr(asked(*AGENT)), [], False, id="no right"),
        pytest.param(csr(asked(*AGENT)), ["selfclusteragent"], False, id="somebody else's own"),
        pytest.param(
            csr(asked(*AGENT), username=AGENT[0]), ["selfclusteragent"], True, id="an agent's own"
        ),
        pytest.param(csr(asked("ann", AGENT[1])), ["clusteragent"], False, id="another name"),
        pytest.param(csr(asked(AGENT[0], "x")), ["clusteragent"], False, id="another group"),
        pytest.param(csr(asked(*AGENT, "x")), ["clusteragent"], False, id="more groups"),
        pytest.param(csr(asked(*AGENT, dns=["x"])), ["clusteragent"], False, id="other names"),
        pytest.param(
            csr(asked(*AGENT), usages=["client auth"]), ["clusteragent"], False, id="usages"
        ),
        pytest.param(csr(asked(*AGENT), signer=KUBELET), ["clusteragent"], False, id="signer"),
        pytest.param(csr(asked(*NODE), signer=KUBELET), ["nodeclient"], True, id="a node"),
    ],
)
def test_only_those_who_register_are_approved_at_once(request_of, rights, approved):
    assert isinstance(plan(request_of, allowing(*rights), NOW), Approve) == approved


@pytest.mark.parametrize(
    ("spec", "days"),
    [
        pytest.param({}, 365, id="not said"),
        pytest.param({"expirationSeconds": 86400}, 1, id="said"),
        pytest.param({"expirationSeconds": 10**9}, 365, id="too long"),
    ],
)
def test_a_certificate_lasts_as_long_as_asked_but_no_more_than_a_year(spec, days):
    planned = plan(csr(asked("ann"), "Approved", **spec), allowing(), NOW)
    assert isinstance(planned, Sign)
    assert planned.valid == timedelta(days=days)


def test_a_node_is_a_node():
    planned = plan(csr(asked("ann"), "Approved", signer=KUBELET), allowing(), NOW)
    assert isinstance(planned, Refuse)
    assert isinstance(plan(csr(asked(*NODE), "Approved", signer=KUBELET), allowing(), NOW), Sign)


@pytest.mark.parametrize(
    ("conditions", "age", "planned"),
    [
        pytest.param([], timedelta(hours=23), Wait(3600.0), id="pending"),
        pytest.param([], timedelta(hours=24), Sweep(), id="pending for a day"),
        pytest.param(["Denied"], timedelta(minutes=59), Wait(60.0), id="denied"),
        pytest.param(["Denied"], timedelta(hours=1), Sweep(), id="denied an hour ago"),
        pytest.param(["Approved", "Failed"], timedelta(hours=1), Sweep(), id="failed"),
    ],
)
def test_what_is_over_is_swept_up(conditions, age, planned):
    assert plan(csr(asked("ann"), *conditions, age=age), allowing(), NOW) == planned


def test_what_is_no_request_at_all_is_left_to_time():
    assert plan(csr(base64.b64encode(b"hello").decode()), allowing(), NOW) == Wait(86400.0)
