"""Requests for certificates (PKCS #10), read: who asks to be known as whom.

PEM goes in, plain values come out. This is loaded once there is such a request.
"""

from dataclasses import dataclass

from cryptography import x509
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    """What is asked for, and the request itself (PEM)."""

    pem: bytes
    name: str  # empty if it has none
    organizations: tuple[str, ...]
    has_other_names: bool


def read_request(pem: bytes) -> CertificateRequest | None:
    """What is asked for; None if it is no request, or not signed by the key it is about."""
    try:
        found = x509.load_pem_x509_csr(pem)
    except ValueError:
        return None
    if not found.is_signature_valid:
        return None
    names = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    organizations = found.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return CertificateRequest(
        pem,
        str(names[-1].value) if names else "",
        tuple(str(one.value) for one in organizations),
        _has_other_names(found),
    )


def _has_other_names(request: x509.CertificateSigningRequest) -> bool:
    try:
        found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return False
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return True  # nobody can say which
    return len(list(found.value)) > 0
