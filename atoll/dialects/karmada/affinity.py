"""Karmada's ClusterAffinity: names, labels and fields that a cluster must have.

As Karmada's scheduler reads it, an invalid selector matches nothing. A field other than provider,
region and zone is absent from every cluster, so only what asks for its absence matches.
"""

from collections import defaultdict

from atoll.dialects.kubernetes.selectors import OPERATORS, expressions, label_selector, requirement
from atoll.dialects.wire import at, part, texts
from atoll.model.affinity import Affinity
from atoll.model.selector import NOTHING, Operator, Requirement
from atoll.wire import Object

PROVIDER, REGION, ZONE = "provider", "region", "zone"
ZONE_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def decode(wire: Object, path: str) -> Affinity:
    """The clusters meant."""
    selector = part(wire, "labelSelector", path)
    fields = part(wire, "fieldSelector", path)
    required = _required(fields, at(path, "fieldSelector")) if fields else {}
    never = None in required
    labels = None if selector is None else label_selector(selector, at(path, "labelSelector"))
    return Affinity(
        names=texts(wire, "clusterNames", path),
        exclude=texts(wire, "exclude", path),
        labels=NOTHING if never else labels,
        provider=tuple(required.get(PROVIDER, ())),
        region=tuple(required.get(REGION, ())),
        zones=tuple(required.get(ZONE, ())),
    )


def _required(selector: Object, path: str) -> dict[str | None, list[Requirement]]:
    """Requirements by field; under None those that no cluster can meet."""
    found: dict[str | None, list[Requirement]] = defaultdict(list)
    for key, operator, values in expressions(selector, "matchExpressions", path):
        if key == ZONE:
            wanted = _of_zones(operator, values)
        else:
            wanted = requirement(key, operator, values)
        if wanted is None:
            found[None] = []
        elif key in (PROVIDER, REGION, ZONE):
            found[key].append(wanted)
        elif not wanted.matches({}):
            found[None] = []
    return found


def _of_zones(operator: str, values: tuple[str, ...]) -> Requirement | None:
    """Zones are compared as they are written: no rule for labels applies."""
    if operator not in ZONE_OPERATORS:
        return None
    wanted = OPERATORS[operator]
    compares = wanted in (Operator.IN, Operator.NOT_IN)
    return Requirement(ZONE, wanted, values if compares else ())
