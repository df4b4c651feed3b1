"""gRPC as both sides of the estimator protocol need it: messages stay bytes, and TLS if wanted."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpclib.encoding.base import CodecBase

from atoll.errors import UsageError

PORT = 10352


class Bytes(CodecBase):
    """Messages that are encoded already."""

    __content_subtype__ = "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:
        content: bytes = message
        return content

    def decode(self, data: bytes, message_type: Any) -> bytes:
        return data


@dataclass(frozen=True, slots=True)
class Trust:
    """Files for TLS: whom to believe, and what to show. None at all: in the clear."""

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    skip_verification: bool = False


def server_tls(trust: Trust) -> ssl.SSLContext | None:
    """TLS for a server, which asks for certificates if it has an authority to judge them by."""
    if trust.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load(context, trust)
    if trust.authority is not None and not trust.skip_verification:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_tls(trust: Trust) -> ssl.SSLContext | None:
    """TLS for a client."""
    if trust.authority is None and trust.certificate is None and not trust.skip_verification:
        return None
    context = ssl.create_default_context()
    _load(context, trust)
    if trust.skip_verification:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load(context: ssl.SSLContext, trust: Trust) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    try:
        if trust.certificate is not None:
            context.load_cert_chain(trust.certificate, trust.key)
        if trust.authority is not None:
            context.load_verify_locations(trust.authority)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(
            str(each) for each in (trust.authority, trust.certificate, trust.key) if each
        )
        raise UsageError(f"cannot use the certificates for gRPC in {named}: {error}") from error
