"""Bytes that say where they end: texts, whole numbers and columns, one after the other.

Values come in, bytes go out, and the other way round. A column is kept in the narrowest form that
holds its numbers; one that was written before is only pointed at. Bytes that nobody wrote this way
give an error, and never a column larger than themselves or the fleet. What the values mean is not
known here.
"""

from functools import lru_cache
from struct import Struct
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from atoll.errors import Invalid
from atoll.scheduling.columns import Numbers

_NUMBER, _COLUMN, _LENGTH = Struct("<q"), Struct("<cI"), Struct("<I")
_AGAIN, _NOTHING, _BITS = b"=", b"0", b"b"
_NARROW = ((1 << 8, b"B", "<u1"), (1 << 16, b"H", "<u2"), (1 << 32, b"I", "<u4"))
_SIGNED = ((1 << 7, b"c", "<i1"), (1 << 15, b"h", "<i2"), (1 << 31, b"i", "<i4"))
_WIDE = b"q", "<i8"
_FORMS = {form: np.dtype(kind) for _, form, kind in (*_NARROW, *_SIGNED, (0, *_WIDE))}
_TEXT = "utf-8", "surrogatepass"  # whatever a user may have written


def sealed(magic: bytes, body: bytes) -> bytes:
    """The body with what tells later whether it is whole."""
    return magic + _LENGTH.pack(crc32(body)) + body


def unsealed(magic: bytes, data: bytes) -> bytes:
    """The body of sealed bytes."""
    start = len(magic) + _LENGTH.size
    if data[: len(magic)] != magic:
        raise damaged(data, f"does not begin with {magic!r}")
    if len(data) < start or _LENGTH.unpack_from(data, len(magic))[0] != crc32(data[start:]):
        raise damaged(data, "its checksum does not match")
    return data[start:]


def damaged(data: bytes, problem: str) -> Invalid:
    """The error for bytes that cannot be read."""
    return Invalid("explanation", f"{len(data)} bytes", f"cannot be read: {problem}")


@lru_cache(maxsize=1024)
def _framed(text: str) -> bytes:
    written = text.encode(*_TEXT)
    return _LENGTH.pack(len(written)) + written


def packed(column: NDArray[np.integer] | NDArray[np.bool_]) -> bytes:
    """A column in its narrowest form."""
    count = len(column)
    # All the bits that any number has say how wide the widest is, in one pass.
    bits = int(np.bitwise_or.reduce(column)) if count else 0
    if bits == 0:
        return _COLUMN.pack(_NOTHING, count)
    if bits == 1:
        return _COLUMN.pack(_BITS, count) + np.packbits(column.astype(np.bool_)).tobytes()
    form, kind = _form(column, bits)
    return _COLUMN.pack(form, count) + column.astype(kind).tobytes()


def _form(column: NDArray[np.integer] | NDArray[np.bool_], bits: int) -> tuple[bytes, str]:
    if bits > 0:
        return next(((form, kind) for end, form, kind in _NARROW if bits < end), _WIDE)
    low, high = int(column.min()), int(column.max())
    fits = ((form, kind) for end, form, kind in _SIGNED if -end <= low and high < end)
    return next(fits, _WIDE)


class Writer:
    """Gathers values; `framed` is all of them."""

    __slots__ = ("_parts", "_written")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written: dict[int, int] = {}

    def raw(self, part: bytes) -> None:
        """What is framed already."""
        self._parts.append(part)

    def number(self, number: int) -> None:
        self._parts.append(_NUMBER.pack(number))

    def text(self, text: str) -> None:
        self._parts.append(_framed(text))

    def known(self, column: Numbers) -> None:
        """A column the reader will know without being told."""
        self._written[id(column)] = len(self._written)

    def column(self, column: Numbers) -> None:
        before = self._written.get(id(column))
        if before is None:
            self.known(column)
            self._parts.append(packed(column))
        else:
            self._parts.append(_COLUMN.pack(_AGAIN, before))

    @property
    def framed(self) -> bytes:
        return b"".join(self._parts)


class Reader:
    """Hands out values in the order they were written. `most`: how long a column can be."""

    __slots__ = ("_at", "_data", "_most", "_read")

    def __init__(self, data: bytes, most: int) -> None:
        self._data = data
        self._at = 0
        self._most = most
        self._read: list[Numbers] = []

    def number(self, least: int = -(2**63), most: int = 2**63 - 1) -> int:
        number: int = _NUMBER.unpack(self._take(_NUMBER.size))[0]
        self.check(least <= number <= most, f"{number} is not in {least}..{most}")
        return number

    def text(self) -> str:
        length = _LENGTH.unpack(self._take(_LENGTH.size))[0]
        try:
            return self._take(length).decode(*_TEXT)
        except UnicodeDecodeError as bad:
            raise damaged(self._data, "holds a text that is none") from bad

    def known(self, column: Numbers) -> None:
        self._read.append(column)

    def column(self, least: int = -(2**63), most: int = 2**63 - 1) -> Numbers:
        """The next column, all of whose numbers are in this range."""
        form, count = _COLUMN.unpack(self._take(_COLUMN.size))
        if form == _AGAIN:
            self.check(count < len(self._read), "points at a column that is not there")
            column = self._read[count]
        else:
            self.check(count <= self._most, f"holds a column of {count}")
            column = self._unpacked(form, count)
            self.known(column)
        if len(column):
            inside = least <= int(column.min()) and int(column.max()) <= most
            self.check(inside, f"holds a number outside of {least}..{most}")
        return column

    def _unpacked(self, form: bytes, count: int) -> Numbers:
        if form == _NOTHING:
            return np.zeros(count, np.int64)
        if form == _BITS:
            bits = np.frombuffer(self._take(-(-count // 8)), np.uint8)
            return np.unpackbits(bits, count=count).astype(np.int64)
        kind = _FORMS.get(form)
        if kind is None:
            raise damaged(self._data, f"holds a column of unknown form {form!r}")
        return np.frombuffer(self._take(count * kind.itemsize), kind).astype(np.int64)

    def check(self, holds: bool, problem: str) -> None:
        if not holds:
            raise damaged(self._data, problem)

    def end(self) -> None:
        self.check(self._at == len(self._data), "goes on after its end")

    def _take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        self.check(self._at <= len(self._data), "ends too early")
        return self._data[start : self._at]
