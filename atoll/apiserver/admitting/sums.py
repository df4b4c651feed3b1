"""What a pod asks for and is limited to as a whole: its containers' amounts, taken together.

A pod's spec comes in, exact amounts go out, as Kubernetes' admission adds them up: containers and
those init containers that keep running are summed, each other init container is a maximum together
with those that run beside it; cpu and memory given for the pod as a whole replace the sum.
"""

from decimal import Decimal
from typing import Literal

from atoll.apiserver.kinds.reading import part, parts, text
from atoll.interpreting.quantities import quantity_text
from atoll.model.quantity import parse
from atoll.wire import Wire

Side = Literal["requests", "limits"]

_OF_WHOLE = ("cpu", "memory")
_BINARY_MARK = "i"


class Sum(dict[str, Decimal]):
    """Amounts by the name of their resource; what was written in powers of two is shown so."""

    def __init__(self, written: Wire | None = None) -> None:
        super().__init__()
        self.binary: set[str] = set()
        for name, amount in (written or {}).items():
            value = parse(amount)
            if value is not None:
                self[name] = value
                if amount.endswith(_BINARY_MARK):
                    self.binary.add(name)

    def add(self, other: "Sum") -> None:
        for name, value in other.items():
            if not self.get(name):
                self._mark(name, other)
            self[name] = self.get(name, Decimal(0)) + value

    def take(self, other: "Sum") -> None:
        """Less of everything by what the other one has."""
        for name, value in other.items():
            self[name] = self.get(name, Decimal(0)) - value

    def raise_to(self, other: "Sum") -> None:
        """At least as much of everything as the other one has."""
        for name, value in other.items():
            if name not in self or value > self[name]:
                self._mark(name, other)
                self[name] = value

    def put(self, name: str, other: "Sum", known_as: str) -> None:
        """Take over one amount of another sum, under this name."""
        self[known_as] = other[name]
        if name in other.binary:
            self.binary.add(known_as)

    def shown(self, name: str) -> str:
        """One amount as Kubernetes writes it; there is nothing of what is not named."""
        return quantity_text(self.get(name, Decimal(0)), binary=name in self.binary)

    def _mark(self, name: str, other: "Sum") -> None:
        if name in other.binary:
            self.binary.add(name)
        else:
            self.binary.discard(name)


def of_pod(spec: Wire, side: Side) -> Sum:
    """What all containers of a pod come to."""
    total = Sum()
    for container in parts(spec, "containers"):
        total.add(of_container(container, side))
    beside, highest = Sum(), Sum()
    for container in parts(spec, "initContainers"):
        own = of_container(container, side)
        if text(container, "restartPolicy") == "Always":
            total.add(own)
            beside.add(own)
            highest.raise_to(beside)
        else:
            own.add(beside)
            highest.raise_to(own)
    total.raise_to(highest)
    whole = Sum(part(spec, "resources", side))
    for name in _OF_WHOLE:
        if name in whole:
            total.binary.discard(name)
            total.put(name, whole, name)
    return total


def of_container(container: Wire, side: Side) -> Sum:
    return Sum(part(container, "resources", side))
