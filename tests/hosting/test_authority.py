"""Which certificates are due: made, kept, renewed in time, and followed by those of the next."""

import base64
import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from atoll.hosting.authority import (
    AUTHORITY_VALID,
    PAIR_VALID,
    RENEW_AUTHORITY_BEFORE,
    RENEW_PAIR_BEFORE,
    TOLD_BEFORE,
    Kept,
    due,
    kept_in,
)

START = datetime(2030, 1, 1, tzinfo=UTC)
NAMES = ["atoll.atoll-system.svc", "127.0.0.1"]
HOUR = timedelta(hours=1)


def names_of(kept: Kept) -> set[str]:
    certificate = x509.load_pem_x509_certificate(kept.certificate)
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return {str(each.value) for each in found.value}


def trusts(bundle: bytes, kept: Kept, name: str, directory: Path) -> bool:
    """Whether one who trusts the bundle shakes hands with one who serves with the pair."""
    (directory / "tls.crt").write_bytes(kept.certificate)
    (directory / "tls.key").write_bytes(kept.key)
    theirs, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    theirs.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    ours.load_verify_locations(cadata=bundle.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = theirs.wrap_bio(to_server, to_client, server_side=True)
    client = ours.wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return client.getpeercert() is not None


def now_made() -> Kept:
    return due(None, datetime.now(UTC), NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_is_trusted_by_who_trusts_the_bundle(tmp_path: Path, name: str):
    kept = now_made()
    assert trusts(kept.bundle, kept, name, tmp_path)
    assert not trusts(now_made().bundle, kept, name, tmp_path)


def test_what_is_good_stays_as_it_is():
    kept = due(None, START, NAMES)
    later = START + PAIR_VALID - RENEW_PAIR_BEFORE - HOUR
    assert due(kept, later, NAMES) == kept


def test_a_secret_gives_back_what_was_put_into_it():
    kept = due(None, START, NAMES)
    assert kept_in(kept.data()) == kept


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"ca.crt": "!"},
        {"ca.crt": base64.b64encode(b"no certificate").decode(), "ca.key": ""},
        {"ca.crt": "", "ca.key": base64.b64encode(b"no key").decode()},
    ],
    ids=["nothing", "no base64", "no certificate", "no key"],
)
def test_what_cannot_be_read_is_made_anew(data: dict[str, str]):
    assert kept_in(data) is None


def test_a_pair_near_its_end_is_renewed_by_the_same_authority(tmp_path: Path):
    kept = due(None, START, NAMES)
    renewed = due(kept, START + PAIR_VALID - RENEW_PAIR_BEFORE + HOUR, NAMES)
    assert renewed.authority == kept.authority
    assert renewed.certificate != kept.certificate
    assert names_of(renewed) == set(NAMES)


def test_a_replica_at_another_place_adds_its_name_and_takes_none_away():
    kept = due(None, START, NAMES)
    more = due(kept, START, ["10.0.0.1"])
    assert names_of(more) == {*NAMES, "10.0.0.1"}
    assert due(more, START, NAMES) == more


def test_the_next_authority_is_told_of_a_day_before_anything_is_signed_with_it():
    moment = START + AUTHORITY_VALID - RENEW_AUTHORITY_BEFORE + HOUR
    first = due(due(None, START, NAMES), moment, NAMES)
    told = due(first, moment, NAMES)
    assert told.next_authority
    assert told.next_authority in told.bundle
    assert told.authority == first.authority
    assert due(told, moment + TOLD_BEFORE - HOUR, NAMES) == told
    followed = due(told, moment + TOLD_BEFORE + HOUR, NAMES)
    assert followed.authority == told.next_authority
    assert followed.bundle == followed.authority + told.authority
    assert followed.certificate != told.certificate
    issuer = x509.load_pem_x509_certificate(followed.certificate).issuer
    assert issuer == x509.load_pem_x509_certificate(told.next_authority).subject
    assert due(followed, moment + TOLD_BEFORE + HOUR, NAMES) == followed


def test_whoever_trusts_what_was_told_before_a_change_trusts_what_is_served_after_it(
    tmp_path: Path,
):
    kept = now_made()
    following = now_made()
    told = replace(kept, next_authority=following.authority, next_key=following.authority_key)
    after = replace(following, old_authority=kept.authority)
    assert trusts(told.bundle, kept, NAMES[0], tmp_path)
    assert trusts(told.bundle, after, NAMES[0], tmp_path)
    assert trusts(after.bundle, kept, NAMES[0], tmp_path)
