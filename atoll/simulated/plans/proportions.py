"""How a Deployment that is scaled in the midst of a roll-out shares what it may have.

Shares come in, the elder first, and how many pods there may be now; the new sizes go out.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """The pods of one replica set, and how many there might be of the whole when it got them."""

    uid: str
    replicas: int
    most: int


def proportional(shares: Sequence[Share], allowed: int) -> dict[str, int]:
    """Every share grows or shrinks as the whole does; what rounding leaves goes to the largest."""
    change = allowed - sum(one.replicas for one in shares)
    # Of those of one size, the newest grows first, and the eldest shrinks first.
    ordered = list(reversed(shares)) if change > 0 else list(shares)
    ordered.sort(key=lambda one: -one.replicas)
    sizes = {one.uid: one.replicas for one in ordered}
    left = change
    for one in ordered:
        target = (2 * one.replicas * allowed + one.most) // (2 * one.most)  # rounded
        part = target - one.replicas
        part = max(0, min(part, left)) if change > 0 else min(0, max(part, left))
        sizes[one.uid] += part
        left -= part
    for one in ordered:
        part = max(left, -sizes[one.uid])
        sizes[one.uid] += part
        left -= part
    return sizes
