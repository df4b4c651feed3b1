"""What the certificates have in common that we make, for the embedded server and for hosts.

Names, times and keys come in, parts of certificates go out; who signs what is decided elsewhere.
"""

import ipaddress
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

CLOCK_SKEW = timedelta(hours=1)
Key = ec.EllipticCurvePrivateKey


def draft(
    subject: x509.Name, issuer: x509.Name, key: Key, now: datetime, valid: timedelta
) -> x509.CertificateBuilder:
    """A certificate as all of ours begin; it counts from a little before, for clocks that lag."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + valid)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def usage(*, signs: bool) -> x509.KeyUsage:
    """What a key is for."""
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def alternative(name: str) -> x509.GeneralName:
    """A name or an address that a server is reached by."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def key_pem(key: Key) -> bytes:
    """A key as files and Secrets have it."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def read_key(pem: bytes) -> Key:
    """A key from what `key_pem` gave; ValueError or TypeError if it is none of ours."""
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("it is not an elliptic curve key")
    return key
