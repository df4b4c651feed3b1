"""On which nodes a pod may be: affinity, spread, and the taints it puts up with."""

from collections import Counter

from atoll.apiserver.fields.error import FieldError, forbidden, invalid, not_supported, required
from atoll.apiserver.kinds.labels import requirement_errors, selector_errors
from atoll.apiserver.kinds.reading import Object, each, given, items, part, parts, text
from atoll.dialects.kubernetes.names import label_faults, label_value_faults, qualified_faults

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION = ("Honor", "Ignore")


def affinity_errors(affinity: Object, where: str) -> list[FieldError]:
    errors = []
    nodes = given(affinity, "nodeAffinity")
    if nodes is not None:
        errors += _node_errors(nodes, f"{where}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = given(affinity, kind)
        if pods is not None:
            errors += _pod_errors(pods, f"{where}.{kind}")
    return errors


def _node_errors(nodes: Object, where: str) -> list[FieldError]:
    errors = []
    needed = given(nodes, _REQUIRED)
    if needed is not None:
        errors += node_selector_errors(needed, f"{where}.{_REQUIRED}")
    for wish, place in each(parts(nodes, _PREFERRED), f"{where}.{_PREFERRED}"):
        errors += _weight_errors(wish, place)
        errors += _term_errors(part(wish, "preference"), f"{place}.preference")
    return errors


def node_selector_errors(selector: Object, where: str) -> list[FieldError]:
    """Nodes that some term of several selects."""
    terms, place = parts(selector, "nodeSelectorTerms"), f"{where}.nodeSelectorTerms"
    if not terms:
        return [required(place, "must have at least one node selector term")]
    return [error for term, spot in each(terms, place) for error in _term_errors(term, spot)]


def _term_errors(term: Object, where: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("matchExpressions", "matchFields"):
        for expression, place in each(parts(term, kind), f"{where}.{kind}"):
            errors += _expression_errors(expression, place)
    return errors


def _expression_errors(expression: Object, where: str) -> list[FieldError]:
    operator, values = text(expression, "operator"), items(expression, "values")
    place, errors = f"{where}.values", []
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(required(place, why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(place, why))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(place, why))
    else:
        errors.append(invalid(f"{where}.operator", operator, "not a valid selector operator"))
    return errors + requirement_errors(expression, where)


def _weight_errors(wish: Object, where: str) -> list[FieldError]:
    weight = wish.get("weight") or 0
    if 1 <= weight <= 100:
        return []
    return [invalid(f"{where}.weight", weight, "must be in the range 1-100")]


def _pod_errors(pods: Object, where: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for term, place in each(parts(pods, _REQUIRED), f"{where}.{_REQUIRED}"):
        errors += _near_errors(term, place)
    for wish, place in each(parts(pods, _PREFERRED), f"{where}.{_PREFERRED}"):
        errors += _weight_errors(wish, place)
        errors += _near_errors(part(wish, "podAffinityTerm"), f"{place}.podAffinityTerm")
    return errors


def _near_errors(term: Object, where: str) -> list[FieldError]:
    errors = selector_errors(part(term, "labelSelector"), f"{where}.labelSelector")
    errors += selector_errors(part(term, "namespaceSelector"), f"{where}.namespaceSelector")
    for name in items(term, "namespaces"):
        faults = label_faults(str(name))
        errors += [invalid(f"{where}.namespace", name, reason) for reason in faults]
    key, place = text(term, "topologyKey"), f"{where}.topologyKey"
    if not key:
        errors.append(required(place, "can not be empty"))
    return errors + [invalid(place, key, reason) for reason in qualified_faults(key)]


def spread_errors(constraints: list[Object], path: str) -> list[FieldError]:
    """How evenly pods are to be spread, each way at most once."""
    errors: list[FieldError] = []
    ways = [(text(one, "topologyKey"), text(one, "whenUnsatisfiable")) for one in constraints]
    left = Counter(ways)
    for (constraint, where), (key, action) in zip(each(constraints, path), ways, strict=True):
        errors += _constraint_errors(constraint, where)
        left[key, action] -= 1
        if left[key, action]:  # it comes again
            place = f"{where}.{{topologyKey, whenUnsatisfiable}}"
            errors.append(FieldError("FieldValueDuplicate", place, f"{{{key}, {action}}}", ""))
        errors += _refinement_errors(constraint, where)
    return errors


def _constraint_errors(constraint: Object, where: str) -> list[FieldError]:
    skew, action = constraint.get("maxSkew") or 0, text(constraint, "whenUnsatisfiable")
    errors = []
    if skew <= 0:
        errors.append(invalid(f"{where}.maxSkew", skew, "must be greater than zero"))
    if not text(constraint, "topologyKey"):
        errors.append(required(f"{where}.topologyKey", "can not be empty"))
    if action not in _UNSATISFIABLE:
        errors.append(not_supported(f"{where}.whenUnsatisfiable", action, _UNSATISFIABLE))
    return errors


def _refinement_errors(constraint: Object, where: str) -> list[FieldError]:
    domains, action = constraint.get("minDomains"), text(constraint, "whenUnsatisfiable")
    place, errors = f"{where}.minDomains", []
    if isinstance(domains, int):
        if domains <= 0:
            errors.append(invalid(place, domains, "must be greater than zero"))
        if action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            errors.append(invalid(place, domains, why))
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(key)
        if policy is not None and policy not in _INCLUSION:
            errors.append(not_supported(f"{where}.{key}", policy, _INCLUSION))
    return errors + selector_errors(part(constraint, "labelSelector"), f"{where}.labelSelector")


_OPERATORS = ("Equal", "Exists")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_EMPTY_KEY = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)


def toleration_errors(tolerations: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for toleration, where in each(tolerations, path):
        errors += _errors(toleration, where)
    return errors


def _errors(toleration: Object, where: str) -> list[FieldError]:
    key, operator = text(toleration, "key"), text(toleration, "operator")
    value, effect = text(toleration, "value"), text(toleration, "effect")
    faults = qualified_faults(key) if key else []
    errors = [invalid(f"{where}.key", key, reason) for reason in faults]
    place = f"{where}.operator"
    if not key and operator != "Exists":
        errors.append(invalid(place, operator, _EMPTY_KEY))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{where}.effect", effect, why))
    if operator in ("Equal", ""):
        if reasons := label_value_faults(value):
            errors.append(invalid(place, value, ";".join(reasons)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(place, value, "value must be empty when `operator` is 'Exists'"))
    else:
        errors.append(not_supported(place, operator, _OPERATORS))
    if effect and effect not in _EFFECTS:
        errors.append(not_supported(f"{where}.effect", effect, _EFFECTS))
    return errors
