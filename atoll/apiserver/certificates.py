"""The server's own CAs, its certificate and token key, the administrator's certificate and token.

Made at the first start and kept in one directory that only its owner may read; certificates near
their end, or for other names than asked, are made anew, the CA never. Every file is either the old
or the new one, whole. A key or CA that cannot be read is an error, not a reason for a new one: all
kubeconfigs out there trust the old one.
"""

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from atoll.apiserver.access.front_proxy import FrontProxy
from atoll.apiserver.access.signing import Signing
from atoll.apiserver.authentication import FRONT_PROXY
from atoll.apiserver.http.identity import FRONT_AUTHORITY
from atoll.effects import new_secret
from atoll.errors import Damaged

CA_VALID = timedelta(days=3650)
LEAF_VALID = timedelta(days=365)
RENEW_BEFORE = timedelta(days=90)
CLOCK_SKEW = timedelta(hours=1)
SIGNED_SKEW = timedelta(minutes=5)

AUTHORITY = "atoll-ca"
ADMIN = "kubernetes-admin"
ADMIN_GROUP = "system:masters"

SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
)

_Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the files are."""

    directory: Path

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def ca_key(self) -> Path:
        return self.directory / "ca.key"

    @property
    def server(self) -> Path:
        return self.directory / "server.crt"

    @property
    def server_key(self) -> Path:
        return self.directory / "server.key"

    @property
    def admin(self) -> Path:
        return self.directory / "admin.crt"

    @property
    def admin_key(self) -> Path:
        return self.directory / "admin.key"

    @property
    def front_ca(self) -> Path:
        """Whom servers behind this one believe when it speaks for its callers."""
        return self.directory / "front-proxy-ca.crt"

    @property
    def front_ca_key(self) -> Path:
        return self.directory / "front-proxy-ca.key"

    @property
    def front(self) -> Path:
        return self.directory / "front-proxy-client.crt"

    @property
    def front_key(self) -> Path:
        return self.directory / "front-proxy-client.key"

    @property
    def account_key(self) -> Path:
        """What tokens of service accounts are signed with."""
        return self.directory / "sa.key"

    @property
    def token(self) -> Path:
        return self.directory / "admin.token"


@dataclass(frozen=True, slots=True)
class _Authority:
    certificate: x509.Certificate
    key: _Key


def ensure_credentials(
    directory: Path, now: datetime, *, more_names: Sequence[str] = ()
) -> Credentials:
    """See to it that all credentials are there and good for a while; make what is not."""
    credentials = Credentials(directory)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    authority = _ensure_authority(credentials.ca, credentials.ca_key, AUTHORITY, now)
    names = tuple(dict.fromkeys([*SERVER_NAMES, *more_names]))
    if not _is_good(credentials.server, credentials.server_key, authority, now, names):
        subject = _name(("kube-apiserver",), ())
        leaf = _leaf(authority, subject, now, ExtendedKeyUsageOID.SERVER_AUTH, names)
        _write_pair(leaf, credentials.server, credentials.server_key)
    if not _is_good(credentials.admin, credentials.admin_key, authority, now, ()):
        subject = _name((ADMIN,), (ADMIN_GROUP,))
        leaf = _leaf(authority, subject, now, ExtendedKeyUsageOID.CLIENT_AUTH, ())
        _write_pair(leaf, credentials.admin, credentials.admin_key)
    front = _ensure_authority(credentials.front_ca, credentials.front_ca_key, FRONT_AUTHORITY, now)
    if not _is_good(credentials.front, credentials.front_key, front, now, ()):
        subject = _name((FRONT_PROXY,), ())
        leaf = _leaf(front, subject, now, ExtendedKeyUsageOID.CLIENT_AUTH, ())
        _write_pair(leaf, credentials.front, credentials.front_key)
    if not credentials.account_key.exists():
        write_private(credentials.account_key, _key_pem(ec.generate_private_key(ec.SECP256R1())))
    if not credentials.token.exists():
        write_private(credentials.token, f"{new_secret()}\n".encode())
    return credentials


def read_signing(credentials: Credentials, url: str = "") -> Signing:
    """What a server that is reached there signs with, and what it is known by."""
    try:
        key = _load_key(credentials.account_key)
        ca_key = _load_key(credentials.ca_key)
    except ValueError as error:
        raise Damaged(f"a key in {credentials.directory} cannot be read: {error}") from error
    secret = key.private_numbers().private_value
    front = FrontProxy(
        credentials.front_ca.read_bytes(),
        credentials.front.read_bytes(),
        credentials.front_key.read_bytes(),
    )
    return Signing(secret, credentials.ca.read_bytes(), ca_key, url, front)


def sign_request(
    signing: Signing, request: x509.CertificateSigningRequest, now: datetime, valid: timedelta
) -> bytes:
    """A client certificate (PEM) for the subject and key of this request."""
    assert signing.ca_key is not None, "only who has a CA is asked to sign"
    ca = x509.load_pem_x509_certificate(signing.ca)
    until = min(now + valid, ca.not_valid_after_utc)
    issuer = signing.ca_key.public_key()
    subject_key = x509.SubjectKeyIdentifier.from_public_key(request.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(ca.subject)
        .public_key(request.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SIGNED_SKEW)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signing_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(subject_key, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
        .sign(signing.ca_key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def sign_client(
    credentials: Credentials, name: str, groups: Sequence[str], now: datetime
) -> tuple[bytes, bytes]:
    """A new client certificate for this name and these groups, and its key, both PEM."""
    authority = _ensure_authority(credentials.ca, credentials.ca_key, AUTHORITY, now)
    subject = _name((name,), groups)
    certificate, key = _leaf(authority, subject, now, ExtendedKeyUsageOID.CLIENT_AUTH, ())
    return certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key)


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step by one that only its owner may read."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _ensure_authority(path: Path, key_path: Path, name: str, now: datetime) -> _Authority:
    try:
        key = _load_key(key_path) if key_path.exists() else None
        if path.exists():
            return _read_authority(path, key_path, key)
    except ValueError as error:
        raise Damaged(f"the CA in {path.parent} cannot be read: {error}") from error
    # A key alone was left by a first start that was interrupted, or somebody took the certificate
    # away: one for the same key is trusted wherever the old one was.
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = _name((name,), ())
    certificate = (
        _draft(subject, subject, key, now, CA_VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signing_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    _write_pair((certificate, key), path, key_path)
    return _Authority(certificate, key)


def _read_authority(path: Path, key_path: Path, key: _Key | None) -> _Authority:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    if key is None:
        raise Damaged(f"{path} is there, but its key {key_path} is not")
    if certificate.public_key() != key.public_key():
        raise Damaged(f"the CA and its key in {path.parent} do not belong together")
    return _Authority(certificate, key)


def _load_key(path: Path) -> _Key:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path} is not an elliptic curve key")
    return key


def _is_good(
    path: Path, key_path: Path, authority: _Authority, now: datetime, names: Sequence[str]
) -> bool:
    """Say if the certificate is ours, fits its key, has these names, and is not about to end."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        certificate.verify_directly_issued_by(authority.certificate)
        fits = certificate.public_key() == _load_key(key_path).public_key()
    except (OSError, ValueError, TypeError, InvalidSignature):
        return False
    lasts = certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - RENEW_BEFORE
    return fits and lasts and set(names) <= _names_in(certificate)


def _names_in(certificate: x509.Certificate) -> set[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in extension.value}


def _leaf(
    authority: _Authority,
    subject: x509.Name,
    now: datetime,
    purpose: x509.ObjectIdentifier,
    names: Sequence[str],
) -> tuple[x509.Certificate, _Key]:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _draft(subject, authority.certificate.subject, key, now, LEAF_VALID)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signing_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
    )
    if names:
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(authority.key, hashes.SHA256()), key


def _draft(
    subject: x509.Name, issuer: x509.Name, key: _Key, now: datetime, valid: timedelta
) -> x509.CertificateBuilder:
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


def _usage(*, signing_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signing_certificates,
        crl_sign=signing_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: Sequence[str], organizations: Sequence[str]) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    names = [x509.NameAttribute(NameOID.COMMON_NAME, name) for name in common]
    return x509.Name([*groups, *names])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: _Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write_pair(pair: tuple[x509.Certificate, _Key], path: Path, key_path: Path) -> None:
    """The key first: a certificate without its key is noticed and made anew at the next start."""
    certificate, key = pair
    write_private(key_path, _key_pem(key))
    write_private(path, certificate.public_bytes(serialization.Encoding.PEM))
