"""Selectors as Kubernetes writes them, with its rules for what a selector may say.

A requirement that breaks those rules is None here: Kubernetes calls the selector invalid, and
whoever uses it decides what that means (mostly: it matches nothing).
"""

from atoll.dialects.kubernetes.names import label_value_faults, qualified_faults
from atoll.dialects.wire import INT64, parts, text, text_by_name, texts
from atoll.model.selector import NOTHING, Operator, Requirement, Selector, as_integer
from atoll.wire import Object

OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.NOT_EXISTS,
    "Gt": Operator.GREATER,
    "Lt": Operator.LESS,
}
LABEL_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement | None:
    """The requirement, or None if Kubernetes would call it invalid."""
    found = OPERATORS.get(operator)
    if found is None or qualified_faults(key) or not _may_have(found, values):
        return None
    return None if any(map(label_value_faults, values)) else Requirement(key, found, values)


def _may_have(operator: Operator, values: tuple[str, ...]) -> bool:
    match operator:
        case Operator.IN | Operator.NOT_IN:
            return bool(values)
        case Operator.EXISTS | Operator.NOT_EXISTS:
            return not values
        case _:
            bound = as_integer(values[0]) if len(values) == 1 else None
            return bound is not None and bound <= INT64


def label_selector(wire: Object, path: str) -> Selector:
    """A label selector; one that is invalid matches nothing."""
    found = [
        requirement(key, "In", (value,))
        for key, value in text_by_name(wire, "matchLabels", path).items()
    ]
    for key, operator, values in expressions(wire, "matchExpressions", path):
        labelled = operator in LABEL_OPERATORS
        found.append(requirement(key, operator, values) if labelled else None)
    valid = tuple(each for each in found if each is not None)
    return Selector(valid) if len(valid) == len(found) else NOTHING


def expressions(wire: Object, key: str, path: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Key, operator and values of each expression in a list, as written."""
    return [
        (text(each, "key", here), text(each, "operator", here), texts(each, "values", here))
        for here, each in parts(wire, key, path)
    ]
