"""What becomes of a Secret that was made for a token; and how tokens are signed and read."""

import asyncio
import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.access.accounts import ACCOUNT_UID, Account, account_of, user_name
from atoll.apiserver.access.signing import Signing
from atoll.apiserver.housekeeping.accounts import filled, plan
from atoll.apiserver.housekeeping.bootstrap import BOOTSTRAP_NAMESPACES
from atoll.effects import Chance, Effects
from atoll.simulated.member import running
from simulation.link import build

SIGNING = Signing.by_chance(Chance("a server"))
ROBOT = Account("here", "robot", "uid-1")
WANTED = ("token", "namespace")


def secret(uid: str | None = None, **data: str) -> dict:
    notes = {"kubernetes.io/service-account.name": "robot"} | ({ACCOUNT_UID: uid} if uid else {})
    meta = {"name": "robot-token", "namespace": "here", "annotations": notes}
    return {"metadata": meta, **({"data": data} if data else {})}


@pytest.mark.parametrize(
    ("given_secret", "account", "planned"),
    [
        pytest.param(secret(), ROBOT, "fill", id="new"),
        pytest.param(secret("uid-1", token="eA==", namespace="eA=="), ROBOT, None, id="filled"),
        pytest.param(secret("uid-1", token="eA=="), ROBOT, "fill", id="half filled"),
        pytest.param(secret("uid-0", token="eA=="), ROBOT, "delete", id="of an older account"),
        pytest.param(secret(), None, "delete", id="of nobody"),
    ],
)
def test_a_secret_is_filled_or_goes(given_secret, account, planned):
    assert plan(given_secret, account, WANTED) == planned


def test_a_filled_secret_needs_nothing_more():
    after = filled(secret(), ROBOT, SIGNING)
    assert plan(after, ROBOT, WANTED) is None
    assert base64.b64decode(after["data"]["namespace"]) == b"here"


@given(st.dictionaries(st.text(), st.text() | st.integers(0, 2**53)))
def test_what_is_signed_is_read_by_its_signer_only(claims):
    token = SIGNING.sign(claims)
    assert SIGNING.claims(token) == claims
    assert token == SIGNING.sign(claims)
    assert Signing.by_chance(Chance("another server")).claims(token) is None


@given(st.text())
def test_no_text_makes_the_reader_of_tokens_fail(text):
    assert SIGNING.claims(text) is None
    assert SIGNING.claims(SIGNING.sign({}).rpartition(".")[0] + "." + text) is None


def test_an_account_is_known_by_its_user():
    assert account_of(user_name("here", "robot")) == ("here", "robot")
    for other in ("system:serviceaccount:here", "system:serviceaccount::robot", "robot"):
        assert account_of(other) is None


def test_every_namespace_of_a_member_has_an_account():
    async def main():
        effects = Effects(now=lambda: datetime(2026, 1, 1, tzinfo=UTC), chance=Chance("m1"))
        member = build("m1", effects)
        async with running(member), asyncio.timeout(120):
            watch = member.store.watch("serviceaccounts", member.store.revision)
            while len(found := member.store.page("serviceaccounts").records) < len(
                BOOTSTRAP_NAMESPACES
            ):
                await watch.wait()
                watch.take()
            return [record.name for record in found]

    assert asyncio.run(main()) == [f"{name}/default" for name in BOOTSTRAP_NAMESPACES]
