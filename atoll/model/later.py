"""A value that is worked out when it is first asked for, and then kept."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """What a pure function without arguments gives; it is called once at most."""

    __slots__ = ("_found", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._found: T

    def __call__(self) -> T:
        if self._make is not None:
            self._found, self._make = self._make(), None
        return self._found
