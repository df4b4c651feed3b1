"""Which clusters an addition of Atoll means: Karmada's ClusterAffinity and more, read strictly.

    clusters:
      clusterNames, exclude, labelSelector, fieldSelector    as in Karmada's placement
      properties: [{key, operator, values}]                  of the cluster's properties; beside the
                                                             operators of labels Gt, Ge, Lt, Le, Eq
                                                             and Ne compare amounts (0.5, 16Gi)
      clusterSets: [...]                                     member of at least one of them
      expressions: [...]                                     CEL that must hold of the cluster
      anyOf: [{...}]                                         one of these must match as well

A selector that could never match is an error here: it was written for Atoll, by someone who can
be told.
"""

from atoll.dialects.karmada import affinity
from atoll.dialects.kubernetes.names import qualified_faults
from atoll.dialects.kubernetes.selectors import LABEL_OPERATORS, expressions, requirement
from atoll.dialects.wire import at, known_only, part, parts, texts
from atoll.errors import Invalid
from atoll.model.affinity import ANYWHERE, Affinity
from atoll.model.quantity import parse
from atoll.model.selector import Operator, Requirement
from atoll.wire import Object

_COMPARISONS = {
    "Gt": Operator.ABOVE,
    "Ge": Operator.AT_LEAST,
    "Lt": Operator.BELOW,
    "Le": Operator.AT_MOST,
    "Eq": Operator.EQUAL,
    "Ne": Operator.NOT_EQUAL,
}
_FIELDS = (
    "clusterNames",
    "exclude",
    "labelSelector",
    "fieldSelector",
    "properties",
    "clusterSets",
    "expressions",
    "anyOf",
)


def meant(wire: Object, path: str, key: str = "clusters") -> Affinity:
    """The clusters meant by a field; without it, all of them."""
    given = part(wire, key, path)
    return ANYWHERE if given is None else _affinity(given, at(path, key))


def _affinity(wire: Object, path: str) -> Affinity:
    known_only(wire, path, *_FIELDS)
    plain = affinity.decode(wire, path)
    _check_selectors(wire, path)
    return Affinity(
        names=_names(wire, "clusterNames", path),
        exclude=_names(wire, "exclude", path),
        labels=plain.labels,
        provider=plain.provider,
        region=plain.region,
        zones=plain.zones,
        properties=_properties(wire, path),
        sets=_names(wire, "clusterSets", path),
        expressions=_names(wire, "expressions", path),
        alternatives=tuple(_affinity(each, here) for here, each in parts(wire, "anyOf", path)),
    )


def _names(wire: Object, key: str, path: str) -> tuple[str, ...]:
    found = texts(wire, key, path)
    for index, each in enumerate(found):
        if not each:
            raise Invalid(f"{at(path, key)}[{index}]", each, "must not be empty")
    return found


def _check_selectors(wire: Object, path: str) -> None:
    labels, here = part(wire, "labelSelector", path) or {}, at(path, "labelSelector")
    known_only(labels, here, "matchLabels", "matchExpressions")
    for key, value in (part(labels, "matchLabels", here) or {}).items():
        if requirement(key, "In", (value,)) is None:
            raise Invalid(f"{here}.matchLabels[{key}]", value, "is no label")
    _check(labels, here, LABEL_OPERATORS)
    fields, here = part(wire, "fieldSelector", path) or {}, at(path, "fieldSelector")
    known_only(fields, here, "matchExpressions")
    _check(fields, here, affinity.ZONE_OPERATORS)
    for index, (key, _, _) in enumerate(expressions(fields, "matchExpressions", here)):
        if key not in (affinity.PROVIDER, affinity.REGION, affinity.ZONE):
            problem = "must be provider, region or zone"
            raise Invalid(f"{here}.matchExpressions[{index}].key", key, problem)


def _check(selector: Object, path: str, known: frozenset[str]) -> None:
    for index, each in enumerate(expressions(selector, "matchExpressions", path)):
        _checked(each, f"{path}.matchExpressions[{index}]", known)


def _checked(
    written: tuple[str, str, tuple[str, ...]], path: str, known: frozenset[str]
) -> Requirement:
    """The requirement, which must be one that Kubernetes takes."""
    key, operator, values = written
    if qualified_faults(key):
        raise Invalid(at(path, "key"), key, "is no name of a label or property")
    if operator not in known:
        raise Invalid(at(path, "operator"), operator, f"must be one of {', '.join(sorted(known))}")
    found = requirement(key, operator, values)
    if found is None:
        problem = f"{operator} cannot be asked of these; In and NotIn take values, Exists and"
        problem += " DoesNotExist none"
        raise Invalid(at(path, "values"), values, problem)
    return found


def _properties(wire: Object, path: str) -> tuple[Requirement, ...]:
    return tuple(
        _property(each, f"{path}.properties[{index}]")
        for index, each in enumerate(expressions(wire, "properties", path))
    )


def _property(written: tuple[str, str, tuple[str, ...]], path: str) -> Requirement:
    key, operator, values = written
    compares = _COMPARISONS.get(operator)
    if compares is None or qualified_faults(key):
        return _checked(written, path, LABEL_OPERATORS | frozenset(_COMPARISONS))
    if len(values) != 1 or parse(values[0]) is None:
        raise Invalid(at(path, "values"), values, f"{operator} takes one amount")
    return Requirement(key, compares, values)
