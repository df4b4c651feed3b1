"""TLS for the server's side: HTTP/1.1 only, client certificates asked for but not required.

A client certificate of a CA we do not know ends the handshake: Python's ssl module cannot accept it
and look at it later, as kube-apiserver does (which then answers 401). One that is verified speaks
for its common name, with its organizations as groups; what the name may do is decided elsewhere."""

import ssl
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from atoll.exchange import Peer


def server_context(certificate: Path, key: Path, *client_cas: Path) -> ssl.SSLContext:
    """Serve with this certificate; believe client certificates that one of these CAs signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key)
    for authority in client_cas:
        context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    # No session is resumed, so a renewed certificate counts from the next connection on.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    return context


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
