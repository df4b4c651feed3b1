"""For whom a host asks: believed from its front proxy, and from nobody else."""

import json
from typing import Any

import pytest

from atoll.apiserver.authentication import Identity
from atoll.apiserver.status import ApiError
from atoll.exchange import Peer, Request
from atoll.hosting.callers import Trust, trust_of

FRONT = Peer("front-proxy-client")
USUAL = {"x-remote-user": "ada", "x-remote-group": "staff\nsystem:authenticated"}


def config(**data: Any) -> dict[str, Any]:
    listed = {
        f"requestheader-{key.replace('_', '-')}": json.dumps(value) for key, value in data.items()
    }
    return {"data": {"requestheader-client-ca-file": "PEM", **listed}}


def asked(peer: Peer | None = FRONT, **headers: str) -> Request:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("GET", "/apis", "", said, peer=peer)


def test_the_caller_is_whom_the_front_proxy_names():
    trust = Trust("PEM", ("front-proxy-client",))
    request = Request("GET", "/apis", "", {**USUAL, "x-remote-extra-scopes": "a"}, peer=FRONT)
    expected = Identity("ada", ("staff", "system:authenticated"), extra=(("scopes", ("a",)),))
    assert trust.identity(request) == expected


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(Request("GET", "/apis", "", USUAL), id="no certificate"),
        pytest.param(Request("GET", "/apis", "", USUAL, peer=Peer("bob")), id="another's name"),
        pytest.param(Request("GET", "/apis", "", {}, peer=FRONT), id="names nobody"),
        pytest.param(
            Request("GET", "/apis", "", {"authorization": "Bearer x"}, peer=FRONT), id="a token"
        ),
    ],
)
def test_nobody_else_is_let_in(request_: Request):
    with pytest.raises(ApiError) as refused:
        Trust("PEM", ("front-proxy-client",)).identity(request_)
    assert refused.value.code == 401


def test_without_names_everybody_is_believed_whom_the_authority_has_signed():
    assert Trust("PEM").identity(asked(Peer("any"), x_remote_user="ada")).name == "ada"


def test_a_host_may_use_headers_of_its_own():
    trust = trust_of(
        config(
            allowed_names=["front-proxy-client"],
            username_headers=["X-Who", "X-Else"],
            group_headers=["X-Of"],
            extra_headers_prefix=["X-More-"],
        )
    )
    assert trust is not None
    found = trust.identity(asked(x_else="ada", x_of="staff", x_more_key="v", x_remote_user="eve"))
    assert (found.name, found.groups[0], found.extra) == ("ada", "staff", (("key", ("v",)),))


@pytest.mark.parametrize("wire", [{}, {"data": None}, {"data": {"client-ca-file": "PEM"}}])
def test_a_host_without_a_front_proxy_is_believed_nothing(wire: dict[str, Any]):
    assert trust_of(wire) is None


def test_lists_that_cannot_be_read_are_as_good_as_none():
    data = {"requestheader-client-ca-file": "PEM", "requestheader-username-headers": "{"}
    assert trust_of({"data": data}) == Trust("PEM")
