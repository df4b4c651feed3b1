"""Bytes that say where they end: texts, whole numbers and columns, one after the other.

Values come in, bytes go out, and the other way round. Columns are kept in the narrowest form that
holds their numbers, short ones together; one that was written before is only pointed at. Bytes that
nobody wrote this way give an error, and never a column larger than themselves or the fleet. What
the values mean is not known here.
"""

from functools import lru_cache
from struct import Struct, pack, unpack
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from atoll.errors import Invalid
from atoll.scheduling.columns import Numbers

_NUMBER, _COLUMN, _LENGTH = Struct("<q"), Struct("<cI"), Struct("<I")
_NOTHING, _BITS = b"0", b"b"
_LONG, _AGAIN = -1, -2  # in the place of a short column's length; again: -2, -3, ...
_FORMS = {form: np.dtype(f"<{form.decode()}") for form in (b"B", b"H", b"I", b"h", b"i", b"q")}
_SHORT_MOST = 512
"""So long a column at most is not worth the trouble of finding a form of its own."""
Column = NDArray[np.int64] | NDArray[np.uint16] | NDArray[np.bool_]
_LEAST, _MOST = -(2**63), 2**63 - 1
_TEXT = "utf-8", "surrogatepass"  # whatever a user may have written


def sealed(magic: bytes, body: bytes) -> bytes:
    """The body with what tells later whether it is whole."""
    return magic + _LENGTH.pack(crc32(body)) + body


def unsealed(magic: bytes, data: bytes) -> bytes:
    """The body of sealed bytes."""
    start = len(magic) + _LENGTH.size
    if data[: len(magic)] != magic:
        found = bytes(data[: len(magic)])
        problem = f"it begins with {found!r}; this version of Atoll reads {magic!r} only"
        raise damaged(data, problem)
    if len(data) < start or _LENGTH.unpack_from(data, len(magic))[0] != crc32(data[start:]):
        raise damaged(data, "its checksum does not match")
    return data[start:]


def damaged(data: bytes, problem: str) -> Invalid:
    """The error for bytes that cannot be read."""
    return Invalid("explanation", f"{len(data)} bytes", f"cannot be read: {problem}")


@lru_cache(maxsize=1024)
def framed(*texts: str) -> bytes:
    """Texts that say where they end; decisions that resemble each other share most of them."""
    written = [text.encode(*_TEXT) for text in texts]
    return b"".join(_LENGTH.pack(len(each)) + each for each in written)


def packed(column: Column) -> bytes:
    """A column in its narrowest form."""
    count = len(column)
    # All the bits that any number has say how wide the widest is, in one pass.
    bits = int(np.bitwise_or.reduce(column)) if count else 0
    if bits == 0:
        return _COLUMN.pack(_NOTHING, count)
    if bits == 1:
        return _COLUMN.pack(_BITS, count) + np.packbits(column.astype(np.bool_)).tobytes()
    form = _form(column, bits)
    return _COLUMN.pack(form, count) + column.astype(_FORMS[form]).tobytes()


def _form(column: Column, bits: int) -> bytes:
    if bits < 0:
        widest = max(-int(column.min()), int(column.max()) + 1)
        return b"h" if widest <= 1 << 15 else b"i" if widest <= 1 << 31 else b"q"
    if bits < 1 << 16:
        return b"B" if bits < 1 << 8 else b"H"
    return b"I" if bits < 1 << 32 else b"q"


class Writer:
    """Gathers values; `framed` is all of them. Numbers, texts and what is framed already (`raw`)
    are put into its lists."""

    __slots__ = ("_known", "_places", "_short", "numbers", "raw", "texts")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.texts: list[str] = []
        self.raw: list[bytes] = []
        self._places: dict[int, int] = {}
        self._known: list[Numbers] = []
        self._short: list[Numbers] = []

    def known(self, column: Numbers) -> None:
        """A column the reader will know without being told."""
        self._places[id(column)] = len(self._known)
        # Holding on to it keeps another from being taken for it.
        self._known.append(column)

    def columns(self, *columns: Numbers) -> None:
        numbers, known = self.numbers, self._known
        for column in columns:
            new = len(known)
            place = self._places.setdefault(id(column), new)
            if place != new:
                numbers.append(_AGAIN - place)
                continue
            known.append(column)
            size = len(column)
            if size > _SHORT_MOST:
                numbers.append(_LONG)
                self.raw.append(packed(column))
                continue
            numbers.append(size)
            if size:
                self._short.append(column)

    def sparse(self, column: Numbers) -> None:
        """A column of a length the reader will know; if it is mostly nothing, only the rest."""
        places = column.astype(np.bool_).nonzero()[0]
        if 2 * len(places) > len(column):
            self.numbers.append(1)
            self.columns(column)
        else:
            self.numbers.append(0)
            self.columns(places, column[places])

    @property
    def framed(self) -> bytes:
        short = np.concatenate(self._short) if self._short else np.zeros(0, np.int64)
        count = len(self.numbers)
        numbers = pack(f"<I{count}q", count, *self.numbers)
        texts = framed(*self.texts)
        size = _LENGTH.pack(len(texts))
        return b"".join((numbers, packed(short), size, texts, *self.raw))


class Reader:
    """Hands out values in the order they were written. `most`: how long a column can be."""

    __slots__ = ("_at", "_data", "_most", "_numbers", "_read", "_short", "_short_at", "_texts")

    def __init__(self, data: bytes, most: int) -> None:
        self._data = data
        self._at = 0
        self._most = most
        self._read: list[Numbers] = []
        self._short_at = 0
        count = _LENGTH.unpack(self._take(_LENGTH.size))[0]
        self._numbers = iter(unpack(f"<{count}q", self._take(count * _NUMBER.size)))
        self._short = self.packed()
        end = _LENGTH.unpack(self._take(_LENGTH.size))[0] + self._at
        texts = list[str]()
        while self._at < end:
            texts.append(self.text_here())
        self._texts = iter(texts)

    def number(self, least: int = _LEAST, most: int = _MOST) -> int:
        return self._checked(next(self._numbers, None), least, most)

    def number_here(self, least: int = _LEAST, most: int = _MOST) -> int:
        """A number of those that stand alone."""
        return self._checked(_NUMBER.unpack(self._take(_NUMBER.size))[0], least, most)

    def _checked(self, number: int | None, least: int, most: int) -> int:
        if number is None or not least <= number <= most:
            raise damaged(self._data, f"{number} is not in {least}..{most}")
        return number

    def text(self) -> str:
        found = next(self._texts, None)
        if found is None:
            raise damaged(self._data, "has too few texts")
        return found

    def text_here(self) -> str:
        """A text of those that stand alone."""
        length = _LENGTH.unpack(self._take(_LENGTH.size))[0]
        try:
            return self._take(length).decode(*_TEXT)
        except UnicodeDecodeError as bad:
            raise damaged(self._data, "holds a text that is none") from bad

    def known(self, column: Numbers) -> None:
        self._read.append(column)

    def column(self, least: int = _LEAST, most: int = _MOST) -> Numbers:
        """The next column, all of whose numbers are in this range."""
        length = self.number()
        if length <= _AGAIN:
            place = _AGAIN - length
            self.check(place < len(self._read), "points at a column that is not there")
            return self._within(self._read[place], least, most)
        if length == _LONG:
            column = self.packed()
        else:
            start, self._short_at = self._short_at, self._short_at + length
            self.check(self._short_at <= len(self._short), "has too few short columns")
            column = self._short[start : self._short_at]
        self.known(column)
        return self._within(column, least, most)

    def sparse(self, count: int) -> Numbers:
        """The next column, of so many numbers, that was written if not nothing."""
        if self.number(0, 1):
            column = self.column()
            self.check(len(column) == count, "has a column of another length")
            return column
        places, numbers = self.column(0, count - 1), self.column()
        self.check(len(places) == len(numbers), "has places and numbers of different length")
        column = np.zeros(count, np.int64)
        column[places] = numbers
        return column

    def packed(self, least: int = _LEAST, most: int = _MOST) -> Numbers:
        """The next column, of those that stand alone."""
        form, count = _COLUMN.unpack(self._take(_COLUMN.size))
        self.check(count <= self._most, f"holds a column of {count}")
        return self._within(self._unpacked(form, count), least, most)

    def _within(self, column: Numbers, least: int, most: int) -> Numbers:
        inside = not len(column) or (least <= int(column.min()) and int(column.max()) <= most)
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

    def check(self, holds: object, problem: str) -> None:
        if not holds:
            raise damaged(self._data, problem)

    def end(self) -> None:
        self.check(self._at == len(self._data), "goes on after its end")

    def _take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        self.check(self._at <= len(self._data), "ends too early")
        return self._data[start : self._at]
