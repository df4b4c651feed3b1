"""The key that tokens are signed with: ES256, an elliptic curve of 256 bits.

Bytes go in, signatures come out, and the other way round. Signatures are deterministic, so that a
run from one seed is the same every time. What is signed is not known here; this is loaded once
something is.
"""

from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

HALF = 32  # bytes of each of the two numbers of a signature, and of a public key

_ECDSA = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)


@dataclass(frozen=True, slots=True)
class Key:
    """A private key."""

    _private: ec.EllipticCurvePrivateKey

    @classmethod
    def of(cls, secret: int | bytes) -> "Key":
        """The key of this number, or the one written there (PEM); ValueError if there is none."""
        if isinstance(secret, int):
            return cls(ec.derive_private_key(secret, ec.SECP256R1()))
        read = serialization.load_pem_private_key(secret, password=None)
        if not isinstance(read, ec.EllipticCurvePrivateKey):
            raise ValueError("it is not an elliptic curve key")
        return cls(read)

    def sign(self, said: bytes) -> bytes:
        r, s = decode_dss_signature(self._private.sign(said, _ECDSA))
        return r.to_bytes(HALF, "big") + s.to_bytes(HALF, "big")

    def has_signed(self, said: bytes, signature: bytes) -> bool:
        if len(signature) != 2 * HALF:
            return False
        r, s = (int.from_bytes(half, "big") for half in (signature[:HALF], signature[HALF:]))
        try:
            self._private.public_key().verify(encode_dss_signature(r, s), said, _ECDSA)
        except InvalidSignature:
            return False
        return True

    def public(self) -> tuple[bytes, bytes]:
        """The two numbers of the public key."""
        numbers = self._private.public_key().public_numbers()
        return numbers.x.to_bytes(HALF, "big"), numbers.y.to_bytes(HALF, "big")

    def public_der(self) -> bytes:
        return self._private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
