"""On which nodes a pod may be: affinity, spread, and the taints it puts up with."""

from collections import Counter

from atoll.apiserver.fields.error import (
    Errors,
    FieldError,
    faulty,
    forbidden,
    invalid,
    not_supported,
    optional,
    required,
)
from atoll.apiserver.kinds.labels import requirement_errors, selector_errors
from atoll.apiserver.kinds.reading import each, items, part, parts, text
from atoll.apiserver.kinds.rules import if_given, in_each, one_of
from atoll.dialects.kubernetes.names import label_faults, label_value_faults, qualified_faults
from atoll.wire import Wire

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION = ("Honor", "Ignore")


def affinity_errors(affinity: Wire, where: str) -> Errors:
    yield from if_given(affinity, where, "nodeAffinity", _node_errors)
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from if_given(affinity, where, kind, _pod_errors)


def _node_errors(nodes: Wire, where: str) -> Errors:
    yield from if_given(nodes, where, _REQUIRED, node_selector_errors)
    for wish, place in each(parts(nodes, _PREFERRED), f"{where}.{_PREFERRED}"):
        yield from _weight_errors(wish, place)
        yield from _term_errors(part(wish, "preference"), f"{place}.preference")


def node_selector_errors(selector: Wire, where: str) -> Errors:
    """Nodes that some term of several selects."""
    if not parts(selector, "nodeSelectorTerms"):
        why = "must have at least one node selector term"
        return [required(f"{where}.nodeSelectorTerms", why)]
    return in_each(selector, where, "nodeSelectorTerms", _term_errors)


def _term_errors(term: Wire, where: str) -> Errors:
    for kind in ("matchExpressions", "matchFields"):
        yield from in_each(term, where, kind, _expression_errors)


def _expression_errors(expression: Wire, where: str) -> Errors:
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


def _weight_errors(wish: Wire, where: str) -> Errors:
    weight = wish.get("weight") or 0
    if 1 <= weight <= 100:
        return []
    return [invalid(f"{where}.weight", weight, "must be in the range 1-100")]


def _pod_errors(pods: Wire, where: str) -> Errors:
    yield from in_each(pods, where, _REQUIRED, _near_errors)
    for wish, place in each(parts(pods, _PREFERRED), f"{where}.{_PREFERRED}"):
        yield from _weight_errors(wish, place)
        yield from _near_errors(part(wish, "podAffinityTerm"), f"{place}.podAffinityTerm")


def _near_errors(term: Wire, where: str) -> Errors:
    yield from selector_errors(part(term, "labelSelector"), f"{where}.labelSelector")
    yield from selector_errors(part(term, "namespaceSelector"), f"{where}.namespaceSelector")
    for name in items(term, "namespaces"):
        yield from faulty(f"{where}.namespace", name, label_faults(str(name)))
    key, place = text(term, "topologyKey"), f"{where}.topologyKey"
    if not key:
        yield required(place, "can not be empty")
    yield from faulty(place, key, qualified_faults(key))


def spread_errors(constraints: list[Wire], path: str) -> Errors:
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


def _constraint_errors(constraint: Wire, where: str) -> Errors:
    skew, action = constraint.get("maxSkew") or 0, text(constraint, "whenUnsatisfiable")
    if skew <= 0:
        yield invalid(f"{where}.maxSkew", skew, "must be greater than zero")
    if not text(constraint, "topologyKey"):
        yield required(f"{where}.topologyKey", "can not be empty")
    if action not in _UNSATISFIABLE:
        yield not_supported(f"{where}.whenUnsatisfiable", action, _UNSATISFIABLE)


def _refinement_errors(constraint: Wire, where: str) -> Errors:
    domains, action = constraint.get("minDomains"), text(constraint, "whenUnsatisfiable")
    place = f"{where}.minDomains"
    if isinstance(domains, int):
        if domains <= 0:
            yield invalid(place, domains, "must be greater than zero")
        if action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(place, domains, why)
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from one_of(constraint, where, key, _INCLUSION)
    yield from selector_errors(part(constraint, "labelSelector"), f"{where}.labelSelector")


_OPERATORS = ("Equal", "Exists")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_EMPTY_KEY = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)


def toleration_errors(tolerations: list[Wire], path: str) -> Errors:
    for toleration, where in each(tolerations, path):
        yield from _toleration_errors(toleration, where)


def _toleration_errors(toleration: Wire, where: str) -> Errors:
    key, operator = text(toleration, "key"), text(toleration, "operator")
    value, effect = text(toleration, "value"), text(toleration, "effect")
    yield from optional(f"{where}.key", key, qualified_faults)
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
