"""Makes a server's own CAs, its certificate and token key, the administrator's credentials.

Made at the first start and kept in one directory that only its owner may read; certificates near
their end, or for other names than asked, are made anew, the CA never. Every file is either the old
or the new one, whole. A key or CA that cannot be read is an error, not a reason for a new one: all
kubeconfigs out there trust the old one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.authentication import FRONT_PROXY, MASTERS
from atoll.apiserver.certificate_forms import Key, alternative, draft, key_pem, read_key, usage
from atoll.apiserver.credentials import ADMIN, SERVER_NAMES, Credentials, is_known_good, note_good
from atoll.apiserver.http.tls import FRONT_AUTHORITY
from atoll.client.private_file import write_private
from atoll.effects import new_secret
from atoll.errors import Damaged

CA_VALID = timedelta(days=3650)
LEAF_VALID = timedelta(days=365)
RENEW_BEFORE = timedelta(days=90)
SIGNED_SKEW = timedelta(minutes=5)

AUTHORITY = "atoll-ca"


@dataclass(frozen=True, slots=True)
class _Authority:
    certificate: x509.Certificate
    key: Key


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Whom a certificate is to be for, and for what; where it is a server's, with its names."""

    name: str
    groups: Sequence[str]
    purpose: x509.ObjectIdentifier
    names: Sequence[str] = ()


def ensure_credentials(
    directory: Path, now: datetime, *, more_names: Sequence[str] = ()
) -> Credentials:
    """See to it that all credentials are there and good for a while; make what is not."""
    credentials = Credentials(directory)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    if is_known_good(credentials, now, more_names):
        return credentials
    authority = _ensure_authority(credentials.ca, credentials.ca_key, AUTHORITY, now)
    front = _ensure_authority(credentials.front_ca, credentials.front_ca_key, FRONT_AUTHORITY, now)
    names = tuple(dict.fromkeys([*SERVER_NAMES, *more_names]))
    server = _Wanted("kube-apiserver", (), ExtendedKeyUsageOID.SERVER_AUTH, names)
    admin = _Wanted(ADMIN, (MASTERS,), ExtendedKeyUsageOID.CLIENT_AUTH)
    proxy = _Wanted(FRONT_PROXY, (), ExtendedKeyUsageOID.CLIENT_AUTH)
    leaves = (
        _ensure_leaf(credentials.server, credentials.server_key, authority, now, server),
        _ensure_leaf(credentials.admin, credentials.admin_key, authority, now, admin),
        _ensure_leaf(credentials.front, credentials.front_key, front, now, proxy),
    )
    _ensure_account_key(credentials.account_key)
    if not credentials.token.exists():
        write_private(credentials.token, f"{new_secret()}\n".encode())
    since = max(leaf.not_valid_before_utc for leaf in leaves)
    until = min(leaf.not_valid_after_utc for leaf in leaves) - RENEW_BEFORE
    note_good(credentials, names, since, until)
    return credentials


def sign_request(signing: Signing, asked: bytes, now: datetime, valid: timedelta) -> bytes:
    """A client certificate (PEM) for the subject and key of this request (PEM)."""
    ca = x509.load_pem_x509_certificate(signing.ca)
    ca_key = read_key(signing.ca_key)
    request = x509.load_pem_x509_csr(asked)
    until = min(now + valid, ca.not_valid_after_utc)
    issuer = ca_key.public_key()
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
        .add_extension(usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(subject_key, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


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
    subject = _name(name, ())
    certificate = (
        draft(subject, subject, key, now, CA_VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    _write_pair((certificate, key), path, key_path)
    return _Authority(certificate, key)


def _read_authority(path: Path, key_path: Path, key: Key | None) -> _Authority:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    if key is None:
        raise Damaged(f"{path} is there, but its key {key_path} is not")
    if certificate.public_key() != key.public_key():
        raise Damaged(f"the CA and its key in {path.parent} do not belong together")
    return _Authority(certificate, key)


def _ensure_account_key(path: Path) -> None:
    if not path.exists():
        write_private(path, key_pem(ec.generate_private_key(ec.SECP256R1())))
    try:
        _load_key(path)
    except ValueError as error:
        raise Damaged(f"a key in {path.parent} cannot be read: {error}") from error


def _load_key(path: Path) -> Key:
    try:
        return read_key(path.read_bytes())
    except TypeError as error:  # it wants a password
        raise ValueError(f"{path}: {error}") from error


def _ensure_leaf(
    path: Path, key_path: Path, authority: _Authority, now: datetime, wanted: _Wanted
) -> x509.Certificate:
    """The certificate there, if it is good; else a new one in its place."""
    found = _good_leaf(path, key_path, authority, now, wanted)
    if found is not None:
        return found
    made = _leaf(authority, now, wanted)
    _write_pair(made, path, key_path)
    return made[0]


def _good_leaf(
    path: Path, key_path: Path, authority: _Authority, now: datetime, wanted: _Wanted
) -> x509.Certificate | None:
    """The certificate if it is ours, fits its key, has these names, and is not about to end."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        certificate.verify_directly_issued_by(authority.certificate)
        fits = certificate.public_key() == _load_key(key_path).public_key()
    except (OSError, ValueError, TypeError, InvalidSignature):
        return None
    lasts = certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - RENEW_BEFORE
    is_good = fits and lasts and set(wanted.names) <= _names_in(certificate)
    return certificate if is_good else None


def _names_in(certificate: x509.Certificate) -> set[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in extension.value}


def _leaf(authority: _Authority, now: datetime, wanted: _Wanted) -> tuple[x509.Certificate, Key]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(wanted.name, wanted.groups)
    builder = (
        draft(subject, authority.certificate.subject, key, now, LEAF_VALID)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([wanted.purpose]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
    )
    if wanted.names:
        alternatives = x509.SubjectAlternativeName([alternative(name) for name in wanted.names])
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(authority.key, hashes.SHA256()), key


def _name(common: str, organizations: Sequence[str]) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _write_pair(pair: tuple[x509.Certificate, Key], path: Path, key_path: Path) -> None:
    """The key first: a certificate without its key is noticed and made anew at the next start."""
    certificate, key = pair
    write_private(key_path, key_pem(key))
    write_private(path, certificate.public_bytes(serialization.Encoding.PEM))
