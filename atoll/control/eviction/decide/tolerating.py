"""When work must leave a cluster: its NoExecute taints against what a placement tolerates.

As in Karmada: a taint that nothing tolerates is an order at once; each of the others is answered by
the first toleration that fits, and of these the one that ends first counts, from when the taint was
added.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from atoll.model.taint import Effect, Taint, Toleration


@dataclass(frozen=True, slots=True)
class Order:
    """That work must leave: from this moment on, because of this taint."""

    taint: Taint
    at: float = -inf


def order(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Order | None:
    """The order that these taints are for work that tolerates so much; None: it may stay."""
    evicting = [each for each in taints if each.effect is Effect.NO_EXECUTE]
    used: list[Toleration] = []
    for taint in evicting:
        found = next((each for each in tolerations if each.tolerates(taint)), None)
        if found is None:
            return Order(taint)
        used.append(found)
    ends = [
        Order(taint, taint.added + each.seconds)
        for each in used
        for taint in evicting
        if each.seconds is not None and taint.added is not None and each.tolerates(taint)
    ]
    return min(ends, key=lambda each: each.at, default=None)
