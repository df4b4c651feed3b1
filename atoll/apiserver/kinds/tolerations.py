"""Tolerations: which taints of a node a pod puts up with."""

from atoll.apiserver.fields.error import FieldError, invalid, not_supported
from atoll.apiserver.kinds.reading import Object, each, text
from atoll.dialects.kubernetes.names import label_value_faults, qualified_faults

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
