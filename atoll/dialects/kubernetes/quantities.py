"""Amounts as Kubernetes writes them: in the largest unit that leaves a whole number."""

from collections.abc import Mapping

from atoll.dialects.kubernetes.pods import HUGE_PAGES
from atoll.model.amount import CPU, EPHEMERAL_STORAGE, MEMORY

BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")


def written_amounts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts by resource, thousandths of a CPU and whole units of all else, as quantities."""
    return {resource: written(resource, amount) for resource, amount in sorted(amounts.items())}


def written(resource: str, amount: int) -> str:
    """One amount of a resource, in the unit it is counted in, as a quantity."""
    if resource == CPU and amount % 1000:
        return f"{amount}m"
    if resource == CPU:
        return in_units(amount // 1000, 1000, _DECIMAL)
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGE_PAGES):
        return in_units(amount, 1024, BINARY)
    return in_units(amount, 1000, _DECIMAL)


def in_units(amount: int, step: int, units: tuple[str, ...]) -> str:
    """A number in the largest of these units, each so many times the one before, that is whole."""
    unit = 0
    while amount and amount % step == 0 and unit + 1 < len(units):
        amount, unit = amount // step, unit + 1
    return f"{amount}{units[unit]}"
