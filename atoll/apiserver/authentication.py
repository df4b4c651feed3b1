"""Who is asking: a verified client certificate, a bearer token, or nobody in particular.

A credential that is given but wrong is refused, never treated as absent.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from atoll.apiserver.status import unauthorized
from atoll.exchange import Request

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"

Extra = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller: the user's name and groups, as authorization and admission see them."""

    name: str
    groups: tuple[str, ...]
    uid: str = ""
    extra: Extra = ()


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
    if request.peer is not None:
        return Identity(request.peer.name, (*request.peer.groups, AUTHENTICATED))
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        return ANONYMOUS
    identity = bearers.identity(token.strip())
    if identity is None:
        raise unauthorized()
    return replace(identity, groups=(*identity.groups, AUTHENTICATED))
