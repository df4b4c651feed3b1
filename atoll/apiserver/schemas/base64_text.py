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
    else:
        if len(text) % 4:  # Python takes a superfluous = at the end
            data = _decode_loosely(text)
    return base64.b64encode(data).decode("ascii")


def _decode_loosely(text: str) -> bytes:
    at = _first_fault(text)
    if at is not None:
        raise NotBase64(f"illegal base64 data at input byte {at}")
    return base64.b64decode(text)


def _first_fault(text: str) -> int | None:
    """The position Go complains of, if it does."""
    given = 0  # characters of the current group of four
    for at, character in enumerate(text):
        if character in "\r\n":
            continue
        if character == "=":
            return _padding_fault(text, at, given)
        if character not in _ALPHABET:
            return at
        given = (given + 1) % 4
    return len(text) - given if given else None


def _padding_fault(text: str, at: int, given: int) -> int | None:
    """What follows the first = must be the second, if two are needed, and then nothing."""
    if given < 2:
        return at
    rest = _skip_breaks(text, at + 1)
    if given == 2:
        if rest == len(text):
            return rest
        if text[rest] != "=":
            return rest - 1
        rest = _skip_breaks(text, rest + 1)
    return rest if rest < len(text) else None


def _skip_breaks(text: str, at: int) -> int:
    while at < len(text) and text[at] in "\r\n":
        at += 1
    return at
