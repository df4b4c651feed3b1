"""TLS for the server's side: HTTP/1.1 only, client certificates asked for but not required.

A client certificate of a CA we do not know ends the handshake: Python's ssl module cannot accept it
and look at it later, as kube-apiserver does (which then answers 401).
"""

import ssl
from pathlib import Path


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
