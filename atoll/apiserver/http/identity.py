"""Whom a verified client certificate speaks for: its common name, and its organizations as groups.

Takes the form in which Python's ssl module describes a certificate. Whether the certificate is
valid was decided in the TLS handshake; what the name may do is decided elsewhere.
"""

from collections.abc import Mapping
from typing import Any

from atoll.exchange import Peer


def peer_of(certificate: Mapping[str, Any] | None) -> Peer | None:
    """The peer a certificate names; None without a certificate, or with one that names nobody."""
    if not certificate:
        return None
    name, groups = "", []
    for relative_name in certificate.get("subject", ()):
        for attribute, value in relative_name:
            if attribute == "commonName":
                name = value  # of several, the last one counts, as in Go
            elif attribute == "organizationName":
                groups.append(value)
    return Peer(name, tuple(groups)) if name else None
