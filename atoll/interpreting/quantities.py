"""Quantities as Kubernetes writes them, from exact values or from whatever form a user chose."""

from decimal import ROUND_CEILING, Decimal
from typing import Any

from atoll.dialects.kubernetes.quantities import BINARY, in_units
from atoll.dialects.wire import quantity

_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_NANO = Decimal("1e-9")


def normal(written: Any, path: str) -> str:
    """A quantity in the form in which the API stores it: `2` for 2.0, `1408Mi` for 1408.0Mi."""
    value, binary = quantity(written, path)
    return quantity_text(value, binary=binary)


def quantity_text(value: Decimal, *, binary: bool) -> str:
    """A quantity in its shortest exact form: `1500m`, `2`, `3Gi`."""
    if binary and abs(value) >= 1024:
        return in_units(_whole(value), 1024, BINARY)
    # Nothing is finer than a billionth; what is, is rounded away from zero.
    return in_units(_whole(value / _NANO), 1000, _DECIMAL) if value else "0"


def _whole(value: Decimal) -> int:
    size = int(abs(value).to_integral_value(ROUND_CEILING))
    return -size if value < 0 else size
