"""The certificates that a host knows us by: an authority of our own, and a pair to serve with.

In: what is kept (the data of a Secret), the time, and under which names we are reached. Out: what
is to be kept from now on, the same if it is good. An authority near its end is followed by another
that is told of a day before anything is signed with it, so that nobody is caught out. Pure but for
the keys, which nobody may guess.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from atoll.apiserver.certificate_forms import (
    CLOCK_SKEW,
    alternative,
    draft,
    key_pem,
    read_key,
    usage,
)

AUTHORITY_VALID = timedelta(days=3650)
PAIR_VALID = timedelta(days=365)
RENEW_AUTHORITY_BEFORE = timedelta(days=730)
RENEW_PAIR_BEFORE = timedelta(days=90)
TOLD_BEFORE = timedelta(days=1)
_NAME = "atoll-serving"
_FILES = {
    "ca.crt": "authority",
    "ca.key": "authority_key",
    "tls.crt": "certificate",
    "tls.key": "key",
    "next-ca.crt": "next_authority",
    "next-ca.key": "next_key",
    "old-ca.crt": "old_authority",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """All that replicas share; PEM. What there is not is empty."""

    authority: bytes
    authority_key: bytes = field(repr=False)
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    next_authority: bytes = b""
    next_key: bytes = field(default=b"", repr=False)
    old_authority: bytes = b""

    @property
    def bundle(self) -> bytes:
        """Whom others are to trust."""
        return b"".join(
            each for each in (self.authority, self.next_authority, self.old_authority) if each
        )

    def data(self) -> dict[str, str]:
        """As a Secret has it."""
        return {
            file: base64.b64encode(getattr(self, name)).decode()
            for file, name in _FILES.items()
            if getattr(self, name)
        }


def kept_in(data: Mapping[str, str]) -> Kept | None:
    """What the data of a Secret say; None if that cannot be used."""
    try:
        kept = Kept(**{name: base64.b64decode(data.get(file, "")) for file, name in _FILES.items()})
        for pem in filter(None, (kept.authority, kept.certificate, kept.next_authority)):
            x509.load_pem_x509_certificate(pem)
        for key in filter(None, (kept.authority_key, kept.key, kept.next_key)):
            read_key(key)
    except (ValueError, TypeError):
        return None
    return kept if kept.authority and kept.authority_key else None


def due(kept: Kept | None, now: datetime, names: Iterable[str]) -> Kept:
    """What is to be kept from now on; equal to what is, if that is good for a while."""
    if kept is None:
        authority, key = _authority(now)
        kept = Kept(authority, key)
    kept = _followed(kept, now)
    present = _names_in(kept.certificate)
    wanted = present | set(names)
    good = wanted == present and not _ends_within(kept.certificate, RENEW_PAIR_BEFORE, now)
    if good and _is_signed_by(kept.certificate, kept.authority):
        return kept
    certificate, pair_key = _pair(kept, sorted(wanted), now)
    return replace(kept, certificate=certificate, key=pair_key)


def _followed(kept: Kept, now: datetime) -> Kept:
    """With an authority that lasts, or one told of that will."""
    if not _ends_within(kept.authority, RENEW_AUTHORITY_BEFORE, now):
        return kept
    if not kept.next_authority:
        authority, key = _authority(now)
        return replace(kept, next_authority=authority, next_key=key)
    told = x509.load_pem_x509_certificate(kept.next_authority).not_valid_before_utc + CLOCK_SKEW
    if now - told < TOLD_BEFORE:
        return kept
    return replace(
        kept,
        authority=kept.next_authority,
        authority_key=kept.next_key,
        next_authority=b"",
        next_key=b"",
        old_authority=kept.authority,
    )


def _ends_within(pem: bytes, span: timedelta, now: datetime) -> bool:
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc - now < span


def _is_signed_by(pem: bytes, authority: bytes) -> bool:
    known = x509.load_pem_x509_certificate(authority)
    return x509.load_pem_x509_certificate(pem).issuer == known.subject


def _names_in(pem: bytes) -> set[str]:
    if not pem:
        return set()
    found = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    return {str(each.value) for each in found.value}


def _authority(now: datetime) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    # Two authorities of ours are told apart by when they began.
    name = _named(f"{_NAME}-ca@{int(now.timestamp())}")
    begun = draft(name, name, key, now, AUTHORITY_VALID)
    certificate = (
        begun.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pem(certificate), key_pem(key)


def _pair(kept: Kept, names: Iterable[str], now: datetime) -> tuple[bytes, bytes]:
    authority = x509.load_pem_x509_certificate(kept.authority)
    signer, key = read_key(kept.authority_key), ec.generate_private_key(ec.SECP256R1())
    begun = draft(_named(_NAME), authority.subject, key, now, PAIR_VALID)
    certificate = (
        begun.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(x509.SubjectAlternativeName(list(map(alternative, names))), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return _pem(certificate), key_pem(key)


def _named(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
