"""Whole numbers of a fixed width: replicas are counted in 32 bits, as in Kubernetes."""

INT32_MOST = 2**31 - 1


def as_int32(number: int) -> int:
    """What is left of a number in 32 bits; it wraps around, as Karmada's sums do."""
    return (number + 2**31) % 2**32 - 2**31
