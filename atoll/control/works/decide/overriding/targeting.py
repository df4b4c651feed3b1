"""Whether one cluster is meant by an affinity.

The same answer as `scheduling.matching` gives for all clusters at once; here for one, without
columns.
"""

from collections.abc import Iterable, Mapping

from atoll.model.affinity import Affinity
from atoll.model.cluster import Cluster
from atoll.model.selector import Operator, Requirement


def matches(affinity: Affinity, cluster: Cluster) -> bool:
    """Does the cluster meet every condition?"""
    if cluster.name in affinity.exclude:
        return False
    if affinity.names and cluster.name not in affinity.names:
        return False
    if affinity.labels is not None and not affinity.labels.matches(cluster.labels):
        return False
    return (
        _all(affinity.provider, cluster.provider)
        and _all(affinity.region, cluster.region)
        and all(_by_zone(each, cluster.zones) for each in affinity.zones)
        and _hold(affinity.properties, cluster.properties)
        and (not affinity.sets or not cluster.sets.isdisjoint(affinity.sets))
        and cluster.holds.issuperset(affinity.expressions)
        and _any(affinity.alternatives, cluster)
    )


def _any(alternatives: tuple[Affinity, ...], cluster: Cluster) -> bool:
    return not alternatives or any(matches(each, cluster) for each in alternatives)


def _all(requirements: Iterable[Requirement], field: str) -> bool:
    """Of one field; an empty one is an absent one."""
    return all(each.matches({each.key: field} if field else {}) for each in requirements)


def _hold(requirements: Iterable[Requirement], values: Mapping[str, str]) -> bool:
    return all(each.matches(values) for each in requirements)


def _by_zone(requirement: Requirement, zones: tuple[str, ...]) -> bool:
    """Of a cluster's several zones, `in` wants any among the values, `notin` wants none."""
    match requirement.operator:
        case Operator.IN:
            return any(zone in requirement.values for zone in zones)
        case Operator.NOT_IN:
            return not any(zone in requirement.values for zone in zones)
        case Operator.EXISTS:
            return bool(zones)
        case _:
            return not zones
