"""Numbers given out, each to one holder: the last part of addresses, and ports.

Who asks is given the same number as ever where it is free, so that a cluster that is built again
looks as it did.
"""

import zlib
from collections.abc import Hashable


class Allotment:
    """So many numbers from zero on."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[Hashable, int] = {}
        self._used: set[int] = set()

    def give(self, holder: Hashable) -> int:
        """The number of this holder, the one it has or a free one."""
        known = self._held.get(holder)
        if known is not None:
            return known
        assert len(self._used) < self._size, "there are more numbers than anyone could hold"
        number = zlib.crc32(repr(holder).encode()) % self._size
        while number in self._used:
            number = (number + 1) % self._size
        self.hold(holder, number)
        return number

    def hold(self, holder: Hashable, number: int) -> None:
        """This holder has this number already."""
        if holder not in self._held and 0 <= number < self._size:
            self._held[holder] = number
            self._used.add(number)

    def release(self, holder: Hashable) -> None:
        number = self._held.pop(holder, None)
        if number is not None:
            self._used.discard(number)


def address(network: tuple[int, int], number: int) -> str:
    """The address of this number in a network, which is told by its first two bytes."""
    first, second = network
    beyond, last = divmod(number + 1, 256)
    more, third = divmod(beyond, 256)
    return f"{first}.{second + more}.{third}.{last}"


def number_of(network: tuple[int, int], written: str) -> int:
    """The number of an address in a network; -1 if it is not in it."""
    parts = written.split(".")
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        return -1
    first, second, third, last = map(int, parts)
    if first != network[0] or second < network[1]:
        return -1
    return ((second - network[1]) * 256 + third) * 256 + last - 1
