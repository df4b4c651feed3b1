"""Label selectors as objects carry them (matchLabels, matchExpressions): checked and printed."""

from typing import Any

from atoll.apiserver.fields.error import Errors, faulty, forbidden, invalid, required
from atoll.apiserver.kinds.reading import each, items, part, parts, text
from atoll.dialects.kubernetes.names import are_labels, label_value_faults, qualified_faults
from atoll.model.selector import Operator, Requirement, Selector
from atoll.wire import Wire

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.NOT_EXISTS,
}


def selector_of(written: Wire) -> Selector:
    """The selector; expressions with unknown operators are left to `selector_errors`."""
    labels = (
        Requirement(key, Operator.IN, (str(value),))
        for key, value in sorted(part(written, "matchLabels").items())
    )
    expressions = (
        Requirement(
            text(expression, "key"),
            _OPERATORS[text(expression, "operator")],
            tuple(sorted(map(str, items(expression, "values")))),
        )
        for expression in parts(written, "matchExpressions")
        if text(expression, "operator") in _OPERATORS
    )
    return Selector((*labels, *expressions))


def printed(written: Wire) -> str:
    """The selector as `kubectl get -o wide` shows it."""
    plain = [f"{key}={value}" for key, value in sorted(part(written, "matchLabels").items())]
    expressions = sorted(parts(written, "matchExpressions"), key=lambda e: text(e, "key"))
    return ",".join([*plain, *map(_printed, expressions)]) or "<none>"


def _printed(expression: Wire) -> str:
    key = text(expression, "key")
    values = ",".join(sorted(map(str, items(expression, "values"))))
    match expression.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return key


def printed_labels(labels: Any) -> str:
    """A plain map of labels as `kubectl get` shows it."""
    if not isinstance(labels, dict) or not labels:
        return "<none>"
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def label_errors(labels: Wire, path: str) -> Errors:
    if are_labels(labels):
        return
    for key, value in sorted(labels.items()):
        yield from faulty(path, key, qualified_faults(key))
        yield from faulty(path, value, label_value_faults(str(value)))


def selector_errors(written: Wire, path: str) -> Errors:
    yield from label_errors(part(written, "matchLabels"), f"{path}.matchLabels")
    for expression, where in each(parts(written, "matchExpressions"), f"{path}.matchExpressions"):
        yield from _expression_errors(expression, where)


def _expression_errors(expression: Wire, where: str) -> Errors:
    operator, values = text(expression, "operator"), items(expression, "values")
    if operator in ("In", "NotIn") and not values:
        yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield forbidden(f"{where}.values", why)
    elif operator not in _OPERATORS:
        yield invalid(f"{where}.operator", operator, "not a valid selector operator")
    yield from requirement_errors(expression, where)


def requirement_errors(expression: Wire, where: str) -> Errors:
    """What is wrong with the key and the values of one requirement, as those of labels."""
    key = text(expression, "key")
    yield from faulty(f"{where}.key", key, qualified_faults(key))
    for index, value in enumerate(items(expression, "values")):
        yield from faulty(f"{where}.values[{index}]", value, label_value_faults(str(value)))
