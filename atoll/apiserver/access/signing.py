"""What a server signs with: the key of its tokens, and the CA that clients know it by.

Claims go in, a JSON Web Token (ES256) comes out, and the other way round. Whom a token stands for,
and whether that one still exists, is not known here. Signatures are deterministic, so that a run
from one seed is the same every time.
"""

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from atoll.apiserver.access.front_proxy import FrontProxy
from atoll.effects import Chance

Claims = dict[str, Any]

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
_HALF = 32  # bytes of each of the two numbers of a signature
_TEXT_MAX = 16 * 1024
_ECDSA = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)


@dataclass(frozen=True)
class Signing:
    """A key as a number, which becomes one when it is first used; and what others know us by.

    That is a CA's certificate (PEM) with its key, where we are reached, and what we show to servers
    behind us; nothing of it where nobody comes from outside.
    """

    secret: int
    ca: bytes = b""
    ca_key: ec.EllipticCurvePrivateKey | None = None
    url: str = ""
    front: FrontProxy | None = None

    @classmethod
    def by_chance(cls, chance: Chance) -> "Signing":
        """The key of a server that nobody reaches from outside: a test's, or a simulation's."""
        return cls(chance.of("token key").randrange(1, _ORDER))

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        return ec.derive_private_key(self.secret, ec.SECP256R1())

    @cached_property
    def _key_name(self) -> str:
        public = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _encoded(sha256(public).digest()).decode()

    @cached_property
    def _head(self) -> bytes:
        return _encoded(orjson.dumps({"alg": "ES256", "kid": self._key_name}))

    def public_key(self) -> dict[str, str]:
        """What others check our tokens with, as a JSON Web Key."""
        numbers = self._key.public_key().public_numbers()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self._key_name,
            "crv": "P-256",
            "alg": "ES256",
            "x": _encoded(numbers.x.to_bytes(_HALF, "big")).decode(),
            "y": _encoded(numbers.y.to_bytes(_HALF, "big")).decode(),
        }

    def sign(self, claims: Claims) -> str:
        """A token that says this."""
        said = self._head + b"." + _encoded(orjson.dumps(claims))
        r, s = decode_dss_signature(self._key.sign(said, _ECDSA))
        signature = r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")
        return (said + b"." + _encoded(signature)).decode()

    def claims(self, token: str) -> Claims | None:
        """What a token of ours says; None if it is not ours, or no token at all."""
        said, _, signature = token.rpartition(".")
        head, _, body = said.partition(".")
        if len(token) > _TEXT_MAX or head.encode() != self._head:
            return None
        try:
            raw = _decoded(signature)
            if len(raw) != 2 * _HALF:
                return None
            r, s = (int.from_bytes(half, "big") for half in (raw[:_HALF], raw[_HALF:]))
            der = encode_dss_signature(r, s)
            self._key.public_key().verify(der, said.encode(), _ECDSA)
            claims: Claims = orjson.loads(_decoded(body))
        except (InvalidSignature, binascii.Error, ValueError):
            return None
        return claims


def _encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
