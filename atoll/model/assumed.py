"""Work that was put on a cluster but does not show in its summary yet; its room is taken."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from atoll.model.amount import PODS, Amount
from atoll.model.demand import Component, Demand


class Sums(NamedTuple):
    """What components need together.

    `units` counts every resource in its own unit, and pods as a resource as well; `written`, which
    is how Karmada compares sets of components, what was written in decimal in thousandths.
    """

    pods: int = 0
    units: Mapping[str, int] = {}
    written: Mapping[str, int] = {}


class Parts(Sequence[Component]):
    """The beginning of a list to which components are added and from which none is taken.

    Made in a moment however long the list is, and never changed by what is added later. Whoever
    put a shorter beginning of the list somewhere learns what came after it (`since`), and what was
    worked out of the list is kept with it in `memo`.
    """

    __slots__ = ("_count", "_list", "memo")

    def __init__(
        self, parts: list[Component], count: int, memo: dict[object, object] | None = None
    ) -> None:
        self._list = parts
        self._count = count
        self.memo = {} if memo is None else memo

    def since(self, other: Sequence[Component]) -> Sequence[Component] | None:
        """What comes after another beginning of the list; None if it is no shorter one of it."""
        if not isinstance(other, Parts) or other._list is not self._list:
            return None
        return self.after(len(other))

    def after(self, count: int) -> Sequence[Component] | None:
        """What comes after so many; None if these are fewer."""
        return self._list[count : self._count] if count <= self._count else None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Component: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Component]: ...
    def __getitem__(self, place: int | slice) -> Component | Sequence[Component]:
        return tuple(self)[place]

    def __iter__(self) -> Iterator[Component]:
        return iter(self._list[: self._count])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Parts) and other._list is self._list:
            return other._count == self._count
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Assumed:
    """What recent decisions put on one cluster."""

    cluster: str
    components: Sequence[Component] = ()
    _sums: Sums | None = field(default=None, init=False, compare=False, repr=False)

    @classmethod
    def counted(cls, cluster: str, components: Sequence[Component], sums: Sums) -> "Assumed":
        """The same, where whoever keeps the components counts along."""
        made = cls(cluster, components)
        object.__setattr__(made, "_sums", sums)
        return made

    @property
    def sums(self) -> Sums:
        """What the components need together; added up once."""
        if self._sums is None:
            object.__setattr__(self, "_sums", summed(self.components))
        assert self._sums is not None
        return self._sums


def summed(components: Sequence[Component]) -> Sums:
    """What these need together."""
    pods, units, written = 0, dict[str, int](), dict[str, int]()
    for each in components:
        pods += each.replicas
        count(units, written, each.demand, each.replicas)
    return Sums(pods, units, written)


def count(
    units: dict[str, int], written: dict[str, int], demand: Demand | None, replicas: int
) -> None:
    """Add to sums what so many replicas need; take it away if they are less than none."""
    units[PODS] = units.get(PODS, 0) + replicas
    for name, amount in demand.requests if demand else ():
        units[name] = units.get(name, 0) + amount.in_its_unit(name) * replicas
        written[name] = written.get(name, 0) + as_written(amount) * replicas


def as_written(amount: Amount) -> int:
    """Whole units of what was written in powers of two, thousandths of what was not."""
    return amount.units if amount.binary else amount.milli


def merged(components: Sequence[Component]) -> tuple[Component, ...]:
    """The same work with equal demands told together, in the order in which they first came."""
    counts = dict[Demand | None, int]()
    for each in components:
        counts[each.demand] = counts.get(each.demand, 0) + each.replicas
    return tuple(Component("", replicas, demand) for demand, replicas in counts.items())
