"""TLS towards an API server: an Endpoint comes in, a context to connect with goes out."""

import os
import ssl
import tempfile

from atoll.client.endpoint import Endpoint
from atoll.errors import UsageError


def client_context(endpoint: Endpoint) -> ssl.SSLContext:
    """TLS as this endpoint wants it; UsageError if its certificates cannot be used."""
    try:
        context = _trusting(endpoint)
        if endpoint.certificate is not None and endpoint.key is not None:
            _load_pair(context, endpoint.certificate, endpoint.key)
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"the certificates for {endpoint.server} cannot be used") from error
    return context


def _trusting(endpoint: Endpoint) -> ssl.SSLContext:
    if endpoint.skip_verification:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif endpoint.ca is not None:
        context = ssl.create_default_context(cadata=endpoint.ca.decode())
        # As in Go, every certificate that is handed over is trusted, not only a root.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    else:
        context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Python's ssl reads a certificate and its key from a file only."""
    descriptor, name = tempfile.mkstemp(prefix="atoll-")
    try:
        with open(descriptor, "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(name)
    finally:
        os.unlink(name)
