"""Who is asking: a verified client certificate, a bearer token, or nobody in particular.

A credential that is given but wrong is refused, never treated as absent.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from atoll.apiserver.status import unauthorized
from atoll.exchange import Request

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller: the user's name and groups, as authorization and admission see them."""

    name: str
    groups: tuple[str, ...]


ANONYMOUS = Identity("system:anonymous", ("system:unauthenticated",))
ITSELF = Identity("system:apiserver", (MASTERS, AUTHENTICATED))


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


def authenticate(request: Request, tokens: Tokens) -> Identity:
    """Say who is asking; ApiError 401 for a token that is not known."""
    if request.peer is not None:
        return Identity(request.peer.name, (*request.peer.groups, AUTHENTICATED))
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        return ANONYMOUS
    identity = tokens.identity(token.strip())
    if identity is None:
        raise unauthorized()
    return Identity(identity.name, (*identity.groups, AUTHENTICATED))
