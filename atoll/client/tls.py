"""TLS towards an API server: an Endpoint comes in, a context to connect with goes out."""

import os
import ssl
import tempfile

from atoll.client.endpoint import Endpoint
from atoll.errors import UsageError

Pair = tuple[bytes, bytes]


def client_context(endpoint: Endpoint, pair: Pair | None = None) -> ssl.SSLContext:
    """TLS as this endpoint wants it, showing a certificate; UsageError if they cannot be used."""
    try:
        context = _trusting(endpoint)
    except (ssl.SSLError, ValueError) as error:
        why = "it is not a certificate in PEM"
        raise UsageError(
            f"the certificate authority of {endpoint} cannot be used: {why}"
        ) from error
    if pair is None and endpoint.certificate is not None and endpoint.key is not None:
        pair = endpoint.certificate, endpoint.key
    if pair is not None:
        try:
            _load_pair(context, *pair)
        except (ssl.SSLError, ValueError) as error:
            why = _why(error)
            raise UsageError(
                f"the client certificate for {endpoint} cannot be used: {why}"
            ) from error
    return context


def _why(error: Exception) -> str:
    if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
        return "the key belongs to another certificate"
    return "certificate and key must be PEM, and the key not encrypted"


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
        # Without a password given, an encrypted key would make OpenSSL ask for one on the terminal.
        context.load_cert_chain(name, password=b"")
    finally:
        os.unlink(name)
