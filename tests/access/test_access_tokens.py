"""How long a token speaks for its account, and which tokens are bootstrap tokens at all."""

import asyncio
import base64
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.access.accounts import ISSUER, Account, AccountTokens, Grant, asked_token
from atoll.apiserver.access.bootstrap_tokens import TYPE, BootstrapTokens, read_token
from atoll.apiserver.access.signing import Signing
from atoll.effects import Chance
from atoll.store.memory import MemoryLog
from atoll.store.store import Put, Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIGNING = Signing.by_chance(Chance("a server"))
ROBOT = Account("here", "robot", "uid-1")


def holding(collection, name, obj):
    """A store with one object in it."""

    async def main():
        store = Store.open(MemoryLog())
        committing = asyncio.get_running_loop().create_task(store.run())
        await store.write(collection, name, lambda _current, _revision: Put(orjson.dumps(obj)))
        await store.close()
        await committing
        return store

    return asyncio.run(main())


def with_robot(**metadata):
    meta = {"name": "robot", "namespace": "here", "uid": "uid-1", **metadata}
    return holding("serviceaccounts", "here/robot", {"metadata": meta})


def token(signing=SIGNING, audience=ISSUER):
    start = int(NOW.timestamp())
    return asked_token(signing, ROBOT, Grant((audience,), start, start + 600, "n"))


def identity(given, later=timedelta(0), store=None):
    known = AccountTokens(store or with_robot(), SIGNING, lambda: NOW + later)
    found = known.identity(given)
    return found and found.name


@pytest.mark.parametrize(
    ("seconds", "is_good"),
    [(-1, False), (0, True), (599, True), (600, False), (10**6, False)],
    ids=["before", "from the start", "to the end", "after", "long after"],
)
def test_a_token_is_good_for_its_time(seconds, is_good):
    found = identity(token(), timedelta(seconds=seconds))
    assert (found == "system:serviceaccount:here:robot") == is_good


def test_a_token_of_another_server_is_not_ours():
    assert identity(token(Signing.by_chance(Chance("another server")))) is None


@pytest.mark.parametrize(
    "metadata",
    [{"uid": "uid-2"}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}],
    ids=["another one of that name", "about to go"],
)
def test_a_token_is_for_this_very_account(metadata):
    assert identity(token(), store=with_robot(**metadata)) is None


def secret(name="bootstrap-token-abcdef", namespace="kube-system", kind=TYPE, **data):
    usual = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
    }
    texts = usual | {key.replace("_", "-"): value for key, value in data.items()}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
    meta = {"name": name, "namespace": namespace}
    return {"metadata": meta, "type": kind, "data": encoded}


@pytest.mark.parametrize(
    "given_secret",
    [
        pytest.param(secret(name="bootstrap-token-abcdeg"), id="another name"),
        pytest.param(secret(namespace="default"), id="another namespace"),
        pytest.param(secret(kind="Opaque"), id="another type"),
        pytest.param(secret(token_id="ABCDEF"), id="a bad id"),
        pytest.param(secret(token_secret="short"), id="a bad secret"),
        pytest.param(secret(expiration="tomorrow"), id="a bad end"),
        pytest.param(secret(auth_extra_groups="system:masters"), id="a bad group"),
    ],
)
def test_what_is_not_a_whole_token_is_none(given_secret):
    assert read_token(secret()) is not None
    assert read_token(given_secret) is None


@pytest.mark.parametrize(("seconds", "is_good"), [(59, True), (60, False)], ids=["yet", "over"])
def test_a_bootstrap_token_is_good_until_its_end(seconds, is_good):
    made = secret(expiration=(NOW + timedelta(seconds=60)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    store = holding("secrets", "kube-system/bootstrap-token-abcdef", made)
    tokens = BootstrapTokens(store, lambda: NOW + timedelta(seconds=seconds))
    found = tokens.identity("abcdef.0123456789abcdef")
    assert (found is not None and found.name == "system:bootstrap:abcdef") == is_good


STORE = holding("secrets", "kube-system/bootstrap-token-abcdef", secret())


@given(st.text() | st.from_regex(r"[a-z0-9]{6}\.[a-z0-9]{16}", fullmatch=True))
def test_no_other_text_lets_anybody_in(text):
    if text != "abcdef.0123456789abcdef":
        assert BootstrapTokens(STORE, lambda: NOW).identity(text) is None
        assert identity(text, store=STORE) is None
