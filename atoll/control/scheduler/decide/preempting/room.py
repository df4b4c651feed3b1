"""Arithmetic of free room: what replicas need, what is left without it, what there is with it.

Amounts come in and go out; of nothing there is less than none. It knows no bindings.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from atoll.model.amount import PODS, Amount, Resources
from atoll.model.cluster import Free
from atoll.model.demand import Demand


@dataclass(frozen=True, slots=True)
class Amounts:
    """What so many pods need together."""

    resources: Resources
    pods: int


def needed(demand: Demand | None, replicas: int) -> Amounts:
    """What so many replicas need."""
    requests = dict(demand.requests) if demand else {}
    return Amounts({name: _times(each, replicas) for name, each in requests.items()}, replicas)


def less(free: Free, taken: Iterable[Amounts]) -> Free:
    """What is left when these have taken theirs."""
    left, pods = {name: each.milli for name, each in free.resources.items()}, free.pods
    for amounts in taken:
        pods -= amounts.pods
        for name, amount in amounts.resources.items():
            left[name] = left.get(name, 0) - amount.milli
    return Free({name: Amount(max(0, milli)) for name, milli in left.items()}, max(0, pods))


def more(free: Free, given: Amounts) -> Free:
    """What there is when these have given back theirs."""
    resources = dict(free.resources)
    for name, amount in given.resources.items():
        known = resources.get(name, Amount(0))
        resources[name] = Amount(known.milli + amount.milli, known.binary)
    return Free(resources, free.pods + given.pods)


def reported(free: Free, demand: Demand | None, most: int) -> Free:
    """What is free, no more than so many replicas can use: others may know more than the sums."""
    whole = needed(demand, 1)
    wanted = {name: each for name, each in whole.resources.items() if each.milli and name != PODS}
    fits = [free.pods]
    for name, amount in wanted.items():
        known = free.resources.get(name, Amount(0))
        fits.append(known.in_its_unit(name) // amount.in_its_unit(name))
    if min(fits) <= most:
        return free
    used = {name: _times(each, max(0, most)) for name, each in wanted.items()}
    return Free({**free.resources, **used}, min(free.pods, max(0, most)))


def _times(amount: Amount, count: int) -> Amount:
    return Amount(amount.milli * count, amount.binary)
