"""What every object carries: who it is, in which version, whose, and whether it is going."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from atoll.model.action import Ref


class Owner(NamedTuple):
    """An object that another goes with; the controller is the one who made it."""

    kind: str
    uid: str
    controller: bool = False


@dataclass(frozen=True, slots=True)
class Metadata:
    """An object's metadata; times are seconds since the epoch, None where they are not given."""

    ref: Ref
    uid: str
    version: str
    generation: int | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    finalizers: tuple[str, ...]
    owners: tuple[Owner, ...]
    created: float | None
    deleted: float | None
    """Since when it is on its way out."""

    @property
    def namespace(self) -> str:
        return self.ref.namespace

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def is_going(self) -> bool:
        return self.deleted is not None
