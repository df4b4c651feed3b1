"""Who is asking: a verified client certificate, a bearer token, or nobody in particular.

A front proxy, known by the authority of its certificate, asks for whom its headers name. A
credential that is given but wrong is refused, never treated as absent.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from atoll.apiserver.status import unauthorized
from atoll.exchange import Headers, Peer, Request

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"

FRONT_PROXY = "front-proxy-client"  # the one name that may speak as such
REMOTE = "x-remote-"
REMOTE_USER, REMOTE_UID = f"{REMOTE}user", f"{REMOTE}uid"
REMOTE_GROUP, REMOTE_EXTRA = f"{REMOTE}group", f"{REMOTE}extra-"

Extra = tuple[tuple[str, tuple[str, ...]], ...]


class Identity(NamedTuple):
    """A caller: the user's name and groups, as authorization and admission see them."""

    name: str
    groups: tuple[str, ...]
    uid: str = ""
    extra: Extra = ()


def user_info(identity: Identity) -> dict[str, Any]:
    """A caller as a UserInfo: how reviews and audit events tell of one."""
    info: dict[str, Any] = {"username": identity.name}
    if identity.uid:
        info["uid"] = identity.uid
    if identity.groups:
        info["groups"] = list(identity.groups)
    if identity.extra:
        info["extra"] = {key: list(values) for key, values in identity.extra}
    return info


def identity_in(spec: Mapping[str, Any], name: str) -> Identity:
    """The caller of this name that an object tells of."""
    extra = tuple((key, tuple(values)) for key, values in (spec.get("extra") or {}).items())
    return Identity(name, tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


ANONYMOUS = Identity("system:anonymous", ("system:unauthenticated",))
ITSELF = Identity("system:apiserver", (MASTERS, AUTHENTICATED))


class Bearers(Protocol):
    """Whoever knows some tokens, and whom they stand for."""

    def identity(self, token: str) -> Identity | None:
        """Whom this token stands for; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Static bearer tokens and whom they stand for."""

    identities: Mapping[str, Identity]

    def identity(self, token: str) -> Identity | None:
        # Every token is compared, in constant time each, so that timing tells nothing.
        found = None
        for known, identity in self.identities.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                found = identity
        return found


@dataclass(frozen=True, slots=True)
class Several:
    """Those who know tokens, asked one after the other."""

    bearers: tuple[Bearers, ...]

    def identity(self, token: str) -> Identity | None:
        for bearers in self.bearers:
            identity = bearers.identity(token)
            if identity is not None:
                return identity
        return None


def authenticate(request: Request, bearers: Bearers) -> Identity:
    """Say who is asking; ApiError 401 for a token that is not known."""
    peer = request.peer
    if peer is not None:
        if not peer.is_front_proxy:
            return _of_certificate(peer)
        named = _named_by(request.headers) if peer.name == FRONT_PROXY else None
        if named is not None:
            return _authenticated(named)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        if peer is not None:  # its certificate is for speaking for others, and it names none
            raise unauthorized()
        return ANONYMOUS
    identity = bearers.identity(token.strip())
    if identity is None:
        raise unauthorized()
    return _authenticated(identity)


@lru_cache(maxsize=1024)
def _of_certificate(peer: Peer) -> Identity:
    return Identity(peer.name, (*peer.groups, AUTHENTICATED), extra=peer.extra)


def _authenticated(identity: Identity) -> Identity:
    if AUTHENTICATED in identity.groups:
        return identity
    return identity._replace(groups=(*identity.groups, AUTHENTICATED))


def _named_by(headers: Headers) -> Identity | None:
    """Whom the headers of a front proxy name; None if nobody."""
    user = headers.get(REMOTE_USER, "").partition("\n")[0]
    if not user:
        return None
    uid = headers.get(REMOTE_UID, "").partition("\n")[0]
    return Identity(user, values_of(headers, REMOTE_GROUP), uid, extra_of(headers, REMOTE_EXTRA))


def values_of(headers: Headers, name: str) -> tuple[str, ...]:
    """All values of a header; the reader of requests puts each on a line of its own."""
    return tuple(value for value in headers.get(name, "").split("\n") if value)


def extra_of(headers: Headers, prefix: str) -> Extra:
    """What headers of this prefix tell of somebody beside the name and the groups."""
    extra = {
        unquote(name.removeprefix(prefix)): values_of(headers, name)
        for name in headers
        if name.startswith(prefix)
    }
    return tuple(sorted(extra.items()))
