"""A kind that is read as values: which one, in which version, and how it is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from atoll.wire import Object

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One kind in one version. `decode` is given an object, and the value of the one before."""

    api_version: str
    kind: str
    decode: Callable[[Object, T | None], T]

    @property
    def key(self) -> tuple[str, str]:
        return self.api_version, self.kind
