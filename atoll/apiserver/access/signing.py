"""What a server signs with: the key of its tokens, and the CA that clients know it by.

Claims go in, a JSON Web Token (ES256) comes out, and the other way round. Whom a token stands for,
and whether that one still exists, is not known here. Signatures are deterministic, so that a run
from one seed is the same every time.
"""

import base64
import binascii
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

from atoll.apiserver.access.front_proxy import FrontProxy
from atoll.effects import Chance

if TYPE_CHECKING:
    from atoll.apiserver.access.elliptic import Key

Claims = dict[str, Any]

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
_TEXT_MAX = 16 * 1024


@dataclass(frozen=True)
class Signing:
    """A key as a number or PEM, which becomes one when first used; and what others know us by.

    That is a CA's certificate with its key (both PEM), where we are reached, and what we show to
    servers behind us; nothing of it where nobody comes from outside.
    """

    secret: int | bytes = field(repr=False)
    ca: bytes = b""
    ca_key: bytes = field(default=b"", repr=False)
    url: str = ""
    front: FrontProxy | None = None

    @classmethod
    def by_chance(cls, chance: Chance) -> "Signing":
        """The key of a server that nobody reaches from outside: a test's, or a simulation's."""
        return cls(chance.of("token key").randrange(1, _ORDER))

    @cached_property
    def _key(self) -> "Key":
        from atoll.apiserver.access.elliptic import Key  # large, and most servers sign nothing

        return Key.of(self.secret)

    @cached_property
    def _key_name(self) -> str:
        return encoded(sha256(self._key.public_der()).digest()).decode()

    @cached_property
    def _head(self) -> bytes:
        return encoded(orjson.dumps({"alg": "ES256", "kid": self._key_name}))

    def public_key(self) -> dict[str, str]:
        """What others check our tokens with, as a JSON Web Key."""
        x, y = self._key.public()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self._key_name,
            "crv": "P-256",
            "alg": "ES256",
            "x": encoded(x).decode(),
            "y": encoded(y).decode(),
        }

    def sign(self, claims: Claims) -> str:
        """A token that says this."""
        said = self._head + b"." + encoded(orjson.dumps(claims))
        return (said + b"." + encoded(self._key.sign(said))).decode()

    def claims(self, token: str) -> Claims | None:
        """What a token of ours says; None if it is not ours, or no token at all."""
        said, _, signature = token.rpartition(".")
        head, dot, body = said.partition(".")
        if not dot or len(token) > _TEXT_MAX or head.encode() != self._head:
            return None
        try:
            if not self._key.has_signed(said.encode(), _decoded(signature)):
                return None
            claims: Claims = orjson.loads(_decoded(body))
        except (binascii.Error, ValueError):
            return None
        return claims


def encoded(data: bytes) -> bytes:
    """Bytes as web tokens have them."""
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
