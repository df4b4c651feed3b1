"""Binary data as JSON carries it: standard base64, line breaks ignored, padding required.

Go says at which byte the text goes wrong; so do we.
"""

import base64
import binascii

_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class NotBase64(Exception):
    """The text is no base64; the message is Go's."""


def canonical_base64(text: str) -> str:
    """The same bytes, written without line breaks and with the unused bits zero."""
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        data = _decode_loosely(text)
    return base64.b64encode(data).decode("ascii")


def _decode_loosely(text: str) -> bytes:
    at = _first_fault(text)
    if at is not None:
        raise NotBase64(f"illegal base64 data at input byte {at}")
    return base64.b64decode(text)


def _first_fault(text: str) -> int | None:
    """The position Go complains of, if it does."""
    group: list[int] = []
    for at, character in enumerate(text):
        if character in "\r\n":
            continue
        if character == "=":
            return _padding_fault(text, at, len(group))
        if character not in _ALPHABET:
            return at
        group = [*group, at] if len(group) < 4 else [at]
        if len(group) == 4:
            group = []
    return group[-1] + 1 - len(group) if group else None


def _padding_fault(text: str, at: int, given: int) -> int | None:
    rest = text[at:].replace("\r", "").replace("\n", "")
    if given < 2:
        return at
    wanted = "=" * (4 - given)
    if rest == wanted:
        return None
    if len(rest) < len(wanted):
        return len(text)
    return at + len(wanted)
