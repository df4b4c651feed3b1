"""On which nodes a pod may be: affinity, spread, and the taints it puts up with."""

from collections import Counter

from atoll.apiserver.fields.error import (
    Errors,
    FieldError,
    faulty,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.labels import requirement_errors, selector_errors
from atoll.apiserver.kinds.reading import Object, each, given, items, part, parts, text
from atoll.dialects.kubernetes.names import label_faults, label_value_faults, qualified_faults

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION = ("Honor", "Ignore")


def affinity_errors(affinity: Object, where: str) -> Errors:
    nodes = given(affinity, "nodeAffinity")
    if nodes is not None:
        yield from _node_errors(nodes, f"{where}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = given(affinity, kind)
        if pods is not None:
            yield from _pod_errors(pods, f"{where}.{kind}")


def _node_errors(nodes: Object, where: str) -> Errors:
    needed = given(nodes, _REQUIRED)
    if needed is not None:
        yield from node_selector_errors(needed, f"{where}.{_REQUIRED}")
    for wish, place in each(parts(nodes, _PREFERRED), f"{where}.{_PREFERRED}"):
        yield from _weight_errors(wish, place)
        yield from _term_errors(part(wish, "preference"), f"{place}.preference")


def node_selector_errors(selector: Object, where: str) -> Errors:
    """Nodes that some term of several selects."""
    terms, place = parts(selector, "nodeSelectorTerms"), f"{where}.nodeSelectorTerms"
    if not terms:
        return [required(place, "must have at least one node selector term")]
    return [error for term, spot in each(terms, place) for error in _term_errors(term, spot)]


def _term_errors(term: Object, where: str) -> Errors:
    for kind in ("matchExpressions", "matchFields"):
        for expression, place in each(parts(term, kind), f"{where}.{kind}"):
            yield from _expression_errors(expression, place)


def _expression_errors(expression: Object, where: str) -> Errors:
    operator, values = text(expression, "operator"), items(expression, "values")
    place = f"{where}.values"
    if operator in ("In", "NotIn"):
        if not values:
            yield required(place, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(place, why)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{where}.operator", operator, "not a valid selector operator")
    yield from requirement_errors(expression, where)


def _weight_errors(wish: Object, where: str) -> Errors:
    weight = wish.get("weight") or 0
    if 1 <= weight <= 100:
        return []
    return [invalid(f"{where}.weight", weight, "must be in the range 1-100")]


def _pod_errors(pods: Object, where: str) -> Errors:
    for term, place in each(parts(pods, _REQUIRED), f"{where}.{_REQUIRED}"):
        yield from _near_errors(term, place)
    for wish, place in each(parts(pods, _PREFERRED), f"{where}.{_PREFERRED}"):
        yield from _weight_errors(wish, place)
        yield from _near_errors(part(wish, "podAffinityTerm"), f"{place}.podAffinityTerm")


def _near_errors(term: Object, where: str) -> Errors:
    yield from selector_errors(part(term, "labelSelector"), f"{where}.labelSelector")
    yield from selector_errors(part(term, "namespaceSelector"), f"{where}.namespaceSelector")
    for name in items(term, "namespaces"):
        faults = label_faults(str(name))
        yield from faulty(f"{where}.namespace", name, faults)
    key, place = text(term, "topologyKey"), f"{where}.topologyKey"
    if not key:
        yield required(place, "can not be empty")
    yield from faulty(place, key, qualified_faults(key))


def spread_errors(constraints: list[Object], path: str) -> Errors:
    """How evenly pods are to be spread, each way at most once."""
    ways = [(text(one, "topologyKey"), text(one, "whenUnsatisfiable")) for one in constraints]
    left = Counter(ways)
    for (constraint, where), (key, action) in zip(each(constraints, path), ways, strict=True):
        yield from _constraint_errors(constraint, where)
        left[key, action] -= 1
        if left[key, action]:  # it comes again
            place = f"{where}.{{topologyKey, whenUnsatisfiable}}"
            yield FieldError("FieldValueDuplicate", place, f"{{{key}, {action}}}", "")
        yield from _refinement_errors(constraint, where)


def _constraint_errors(constraint: Object, where: str) -> Errors:
    skew, action = constraint.get("maxSkew") or 0, text(constraint, "whenUnsatisfiable")
    if skew <= 0:
        yield invalid(f"{where}.maxSkew", skew, "must be greater than zero")
    if not text(constraint, "topologyKey"):
        yield required(f"{where}.topologyKey", "can not be empty")
    if action not in _UNSATISFIABLE:
        yield not_supported(f"{where}.whenUnsatisfiable", action, _UNSATISFIABLE)


def _refinement_errors(constraint: Object, where: str) -> Errors:
    domains, action = constraint.get("minDomains"), text(constraint, "whenUnsatisfiable")
    place = f"{where}.minDomains"
    if isinstance(domains, int):
        if domains <= 0:
            yield invalid(place, domains, "must be greater than zero")
        if action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(place, domains, why)
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(key)
        if policy is not None and policy not in _INCLUSION:
            yield not_supported(f"{where}.{key}", policy, _INCLUSION)
    yield from selector_errors(part(constraint, "labelSelector"), f"{where}.labelSelector")


_OPERATORS = ("Equal", "Exists")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_EMPTY_KEY = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)


def toleration_errors(tolerations: list[Object], path: str) -> Errors:
    for toleration, where in each(tolerations, path):
        yield from _errors(toleration, where)


def _errors(toleration: Object, where: str) -> Errors:
    key, operator = text(toleration, "key"), text(toleration, "operator")
    value, effect = text(toleration, "value"), text(toleration, "effect")
    faults = qualified_faults(key) if key else []
    yield from faulty(f"{where}.key", key, faults)
    place = f"{where}.operator"
    if not key and operator != "Exists":
        yield invalid(place, operator, _EMPTY_KEY)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{where}.effect", effect, why)
    if operator in ("Equal", ""):
        if reasons := label_value_faults(value):
            yield invalid(place, value, ";".join(reasons))
    elif operator == "Exists":
        if value:
            yield invalid(place, value, "value must be empty when `operator` is 'Exists'")
    else:
        yield not_supported(place, operator, _OPERATORS)
    if effect and effect not in _EFFECTS:
        yield not_supported(f"{where}.effect", effect, _EFFECTS)
