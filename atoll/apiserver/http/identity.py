"""Whom a verified client certificate speaks for: its common name, and its organizations as groups.

Takes the form in which Python's ssl module describes a certificate. Whether the certificate is
valid was decided in the TLS handshake; what the name may do is decided elsewhere.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from atoll.exchange import Peer

CREDENTIAL = "authentication.kubernetes.io/credential-id"
FRONT_AUTHORITY = "atoll-front-proxy-ca"  # whom its certificates are issued by, and no other


def peer_of(certificate: Mapping[str, Any] | None, encoded: bytes | None = None) -> Peer | None:
    """The peer a certificate names; None without a certificate, or with one that names nobody.

    Encoded (DER), it also has a fingerprint, by which its requests can be told from others.
    """
    if not certificate:
        return None
    name, groups = _named(certificate.get("subject", ()))
    issuer, _ = _named(certificate.get("issuer", ()))
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if encoded:
        extra = ((CREDENTIAL, (f"X509SHA256={sha256(encoded).hexdigest()}",)),)
    return Peer(name, groups, issuer == FRONT_AUTHORITY, extra) if name else None


def _named(names: Sequence[Any]) -> tuple[str, tuple[str, ...]]:
    name, groups = "", []
    for relative_name in names:
        for attribute, value in relative_name:
            if attribute == "commonName":
                name = value  # of several, the last one counts, as in Go
            elif attribute == "organizationName":
                groups.append(value)
    return name, tuple(groups)
