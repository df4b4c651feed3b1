"""A certificate authority for one test run, with one server and one administrator.

In: a directory. Out: PEM files in it. Everything is valid for a day, and worth nothing.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

ADMINISTRATOR = x509.Name(
    [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
        x509.NameAttribute(NameOID.COMMON_NAME, "admin"),
    ]
)
SERVER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "testenv")])
FRONT_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "testenv-front-proxy")])
USER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "user")])
FRONT_PROXY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "front-proxy-client")])


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Certificates:
    authority: Pair
    server: Pair
    administrator: Pair
    user: Pair  # somebody who may do only what roles allow
    service_account_key: Path
    front_authority: Pair  # of those who may say for whom they ask
    front_proxy: Pair


def make_certificates(directory: Path) -> Certificates:
    directory.mkdir()
    key, authority = _authority(directory, "ca", AUTHORITY)
    front_key, front_authority = _authority(directory, "front-proxy-ca", FRONT_AUTHORITY)
    client = ExtendedKeyUsageOID.CLIENT_AUTH
    names = [x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    return Certificates(
        authority=authority,
        server=_issue(directory, SERVER, key, ExtendedKeyUsageOID.SERVER_AUTH, names),
        administrator=_issue(directory, ADMINISTRATOR, key, client),
        user=_issue(directory, USER, key, client),
        service_account_key=_write_key(directory / "service-account.key"),
        front_authority=front_authority,
        front_proxy=_issue(directory, FRONT_PROXY, front_key, client, issuer=FRONT_AUTHORITY),
    )


def _authority(
    directory: Path, file: str, name: x509.Name
) -> tuple[ec.EllipticCurvePrivateKey, Pair]:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _certificate(name, key, key, name)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return key, _write(directory, file, builder.sign(key, hashes.SHA256()), key)


def _issue(
    directory: Path,
    subject: x509.Name,
    authority: ec.EllipticCurvePrivateKey,
    usage: ObjectIdentifier,
    names: list[x509.GeneralName] | None = None,
    *,
    issuer: x509.Name = AUTHORITY,
) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _certificate(subject, key, authority, issuer)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    name = str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
    return _write(directory, name, builder.sign(authority, hashes.SHA256()), key)


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    authority: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # The clock of a virtual machine may lag behind the one that reads this.
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        # Strict verifiers (OpenSSL's X509_STRICT, Python 3.13) insist on these two.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()),
            critical=False,
        )
    )


def _write(
    directory: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> Pair:
    path = directory / f"{name}.crt"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Pair(path, _write_key(directory / f"{name}.key", key))


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | None = None) -> Path:
    """Writes a private key, a new one unless given."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,  # the one kube-apiserver signs with
        serialization.NoEncryption(),
    )
    path.touch(mode=0o600)
    path.write_bytes(pem)
    return path
