"""Ordinals of a StatefulSet that one cluster runs."""

from dataclasses import dataclass

from atoll.errors import Invalid


@dataclass(frozen=True, slots=True)
class Range:
    """The ordinals start, start+1, ... of one cluster, `count` of them."""

    cluster: str
    start: int
    count: int

    def __post_init__(self) -> None:
        if self.start < 0 or self.count < 0:
            raise Invalid(f"ranges[{self.cluster}]", str(self), "must not be negative")

    @property
    def end(self) -> int:
        return self.start + self.count

    def __str__(self) -> str:
        return f"{self.start}-{self.end - 1}" if self.count > 1 else f"{self.start}"
