"""Atoll's own ways to choose clusters and to divide replicas among them, as a policy writes them.

select:
  order: Best | MostFree | Cheapest | Random       who comes first when not all are taken
  minClusters, maxClusters, seed, sticky           sticky: clusters that have it come first
  spread: [{by: zone | region | provider | label:KEY | property:KEY, minGroups, maxGroups,
            minClustersPerGroup, maxClustersPerGroup, maxSkew}]
  quotas: [{clusters: {...}, count, min}]          so many of these, so many of those
  whenShort: Refuse | Partial
divide: {order, evenly, seed, keepRunning, whenShort}           fill clusters in an order, or
divide: {weights: [{clusters: {...}, weight}], combine: Max | Sum}    by weight
"""

from atoll.dialects.karmada import clusters
from atoll.dialects.wire import INT64, at, choice, count, flag, known_only, name, number, parts
from atoll.errors import Invalid
from atoll.model.intent import (
    Combine,
    Division,
    Field,
    Fill,
    Group,
    Order,
    Pick,
    Quota,
    Selection,
    Shortage,
    Weighted,
)
from atoll.wire import Object

_ORDERS = {
    "Best": Order.BEST,
    "MostFree": Order.FREE,
    "Cheapest": Order.PRICE,
    "Random": Order.CHANCE,
}
_SHORTAGES = {"Refuse": Shortage.REFUSE, "Partial": Shortage.PARTIAL}
_COMBINES = {"Max": Combine.MAX, "Sum": Combine.SUM}
_FIELDS = frozenset({Field.ZONE, Field.REGION, Field.PROVIDER})


def selection(wire: Object | None, path: str) -> Selection | None:
    if wire is None:
        return None
    known = ("order", "minClusters", "maxClusters", "seed", "sticky")
    known_only(wire, path, *known, "spread", "quotas", "whenShort")
    least = number(wire, "minClusters", path)
    least = 1 if least is None else least
    return Pick(
        order=choice(wire, "order", path, _ORDERS, Order.BEST),
        least=least,
        most=most(wire, "maxClusters", path, least=max(least, 1), what="minClusters"),
        seed=number(wire, "seed", path, most=INT64) or 0,
        sticky=flag(wire, "sticky", path, default=True),
        groups=tuple(_group(each, here) for here, each in parts(wire, "spread", path)),
        quotas=tuple(_quota(each, here) for here, each in parts(wire, "quotas", path)),
        shortage=choice(wire, "whenShort", path, _SHORTAGES, Shortage.REFUSE),
    )


def most(wire: Object, key: str, path: str, *, least: int, what: str) -> int | None:
    """An upper bound, which must not lie below the lower one."""
    found = number(wire, key, path)
    if found is not None and found < least:
        raise Invalid(at(path, key), found, f"must not be less than {what} ({least})")
    return found


def _group(wire: Object, path: str) -> Group:
    known = ("by", "minGroups", "maxGroups", "minClustersPerGroup", "maxClustersPerGroup")
    known_only(wire, path, *known, "maxSkew")
    least = number(wire, "minGroups", path, least=1) or 1
    each = number(wire, "minClustersPerGroup", path, least=1) or 1
    return Group(
        key=_key(wire, path),
        least=least,
        most=most(wire, "maxGroups", path, least=least, what="minGroups"),
        each_least=each,
        each_most=most(wire, "maxClustersPerGroup", path, least=each, what="minClustersPerGroup"),
        skew=number(wire, "maxSkew", path, least=1),
    )


def _key(wire: Object, path: str) -> str:
    key = name(wire, "by", path)
    kind, colon, of = key.partition(":")
    if key in _FIELDS or (kind in ("label", "property") and colon and of):
        return key
    problem = "must be zone, region, provider, label:KEY or property:KEY"
    raise Invalid(at(path, "by"), key, problem)


def _quota(wire: Object, path: str) -> Quota:
    known_only(wire, path, "clusters", "count", "min")
    wanted = number(wire, "count", path, least=1)
    if wanted is None:
        raise Invalid(at(path, "count"), None, "must be given: how many of these clusters")
    return Quota(clusters.meant(wire, path), wanted, number(wire, "min", path, most=wanted))


def division(wire: Object | None, path: str) -> Division | None:
    if wire is None:
        return None
    if wire.get("weights") is not None:
        return _weighted(wire, path)
    known_only(wire, path, "order", "evenly", "seed", "keepRunning", "whenShort", "weights")
    return Fill(
        order=choice(wire, "order", path, _ORDERS, Order.BEST),
        even=flag(wire, "evenly", path, default=False),
        seed=number(wire, "seed", path, most=INT64) or 0,
        shortage=choice(wire, "whenShort", path, _SHORTAGES, Shortage.REFUSE),
        keep=flag(wire, "keepRunning", path, default=True),
    )


def _weighted(wire: Object, path: str) -> Weighted:
    known_only(wire, path, "weights", "combine")
    weights = []
    for here, each in parts(wire, "weights", path):
        known_only(each, here, "clusters", "weight")
        weights.append((clusters.meant(each, here), count(each, "weight", here)))
    return Weighted(tuple(weights), choice(wire, "combine", path, _COMBINES, Combine.MAX))
