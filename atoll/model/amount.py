"""How much of a resource: a quantity as whole thousandths, which is what Kubernetes rounds to.

An exact quantity comes in, an `Amount` goes out. Rounding is away from zero, as Kubernetes'
`Value()` and `MilliValue()` round; everything after that is whole-number arithmetic.
"""

from collections.abc import Mapping
from decimal import ROUND_UP, Decimal
from typing import NamedTuple

CPU, MEMORY, PODS, EPHEMERAL_STORAGE = "cpu", "memory", "pods", "ephemeral-storage"


class Amount(NamedTuple):
    """So many thousandths of one unit; `binary` if it was written in powers of two (`2Gi`)."""

    milli: int
    binary: bool = False

    @classmethod
    def of(cls, value: Decimal, *, binary: bool = False) -> "Amount":
        return cls(int((value * 1000).to_integral_value(ROUND_UP)), binary)

    @property
    def units(self) -> int:
        """Whole units, rounded away from zero."""
        return -(-self.milli // 1000) if self.milli >= 0 else self.milli // 1000

    def in_its_unit(self, resource: str) -> int:
        """The number capacity is counted in: thousandths of a CPU, whole units of all else."""
        return self.milli if resource == CPU else self.units


Resources = Mapping[str, Amount]
"""Amounts by resource name. Never changed once it is part of the model."""
