"""A certificate from the plane: a key is made here, and only a request for it is sent.

Names come in, a request and its key go out, and then a certificate. Whoever asks waits until the
request is approved, which happens at once for agents, and says what to do if it is not.
"""

import base64
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.dialects.karmada import names
from atoll.effects import new_word
from atoll.errors import UsageError
from atoll.members.patience import Pause, tries
from atoll.wire import Wire

REQUESTS = Collection(
    "certificates.k8s.io/v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    namespaced=False,
)
SIGNER = "kubernetes.io/kube-apiserver-client"
AGENTS = "system:karmada:agents"
NAME_MAX = 43  # of a cluster, so that a certificate's name has no more than the 64 it may have
WAIT_S = 30.0
STEP_S = 0.2


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a certificate, as an object of the plane, and the key that stays here."""

    wire: Wire
    key: bytes = field(repr=False)  # PEM

    @property
    def path(self) -> str:
        return REQUESTS.path_of(self.wire)


def ask_for(user: str, title: str, valid_s: int) -> Asked:
    """A new key, and the request for a certificate of one of the agents that lasts so long."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Asked(_request(f"{title}-{new_word(5)}", _signed_by(key, user), valid_s), _pem(key))


def issued(request: Wire) -> bytes | None:
    """The certificate (PEM) that a request led to, None: not yet; UsageError if it was refused."""
    status, name = request.get("status") or {}, request["metadata"]["name"]
    if status.get("certificate"):
        return base64.b64decode(status["certificate"])
    for condition in status.get("conditions") or ():
        if condition["type"] in ("Denied", "Failed"):
            why = condition.get("message") or condition.get("reason") or "without a reason"
            raise UsageError(f'the plane refused the request "{name}": {why}')
    return None


def certify(plane: PlainClient, asked: Asked, pause: Pause) -> bytes:
    """Send a request and wait for the certificate (PEM); UsageError if there is none in time."""
    plane.create(REQUESTS, asked.wire)
    for _ in tries(WAIT_S, STEP_S, pause):
        found = issued(plane.get(asked.path))
        if found is not None:
            return found
    raise not_approved(asked)


def not_approved(asked: Asked) -> UsageError:
    """Nobody decided in time."""
    name = asked.wire["metadata"]["name"]
    return UsageError(
        f'nobody approved the request "{name}"; in the plane: kubectl certificate '
        f"approve {name}, or give the token's group the right to it; then once more"
    )


def _signed_by(key: ec.EllipticCurvePrivateKey, user: str) -> bytes:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, AGENTS),
            x509.NameAttribute(NameOID.COMMON_NAME, user),
        ]
    )
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject)
    return asked.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _request(name: str, request: bytes, valid_s: int) -> Wire:
    return {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {"name": name, "labels": {names.SYSTEM: "true"}},
        "spec": {
            "request": base64.b64encode(request).decode(),
            "signerName": SIGNER,
            "expirationSeconds": valid_s,
            "usages": ["digital signature", "key encipherment", "client auth"],
        },
    }
