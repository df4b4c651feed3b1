"""Bytes as text that is short enough to be stored: compressed, and written in base64."""

import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64

from atoll.errors import Invalid

_LARGEST = 16 * 2**20
"""More bytes than anything of ours ever has: so far what is compressed is read, and no further."""


def deflated(data: bytes) -> str:
    """Bytes, compressed, as text."""
    return b64encode(zlib.compress(data, 6)).decode()


def inflated(written: str, path: str) -> bytes:
    """The bytes that were written so; Invalid, with where they are, if they were not."""
    try:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(b64decode(written, validate=True), _LARGEST)
    except (NotBase64, ValueError, zlib.error) as error:
        raise Invalid(path, f"{len(written)} characters", "cannot be read") from error
    if not unpacking.eof:
        raise Invalid(path, f"{len(written)} characters", "is cut off, or far too large")
    return data
