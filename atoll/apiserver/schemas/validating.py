"""Whether a custom resource keeps the rules of its schema: compiled once, then a quick yes or no.

In: a CRD's schema. Out: a function from a value to the rules it breaks. Almost every object is
valid, so the compiled checks only answer yes or no; a no is looked into again by `explaining`,
which knows the sentences. Both must agree: a property test holds them to it.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.correlation import Pair
from atoll.apiserver.schemas.explaining import (
    FLOAT32_MAX,
    bound,
    explain,
    fits_type,
    has_twins,
    in_range,
    is_listed,
    is_multiple,
)
from atoll.apiserver.schemas.json_values import INT_MAX, INT_MIN
from atoll.apiserver.schemas.rules import Rules, read_rules
from atoll.wire import Wire

Check = Callable[[Any], bool]


class Validate(Protocol):
    """Gives the rules a value breaks; beside an old value, what is as it was counts as kept."""

    def __call__(self, value: Any, pair: Pair | None = None) -> list[FieldError]: ...


_CLASSES = {"string": str, "boolean": bool, "array": list, "object": dict}


def compile_validation(schema: Wire) -> Validate:
    """A function that gives the rules a value breaks, in Kubernetes' words and order."""
    rules = read_rules(schema)
    is_valid = compile_check(rules)

    def validate(value: Any, pair: Pair | None = None) -> list[FieldError]:
        return [] if is_valid is None or is_valid(value) else explain(rules, value, "", pair)

    return validate


def compile_check(rules: Rules) -> Check | None:
    """A function that says whether a value keeps the rules; None if any value does."""
    checks = [check for check in _by_type(rules) if check is not None]
    nothing_said = not rules.types and not rules.enum
    if nothing_said and not checks:
        return None
    takes_null = (rules.nullable or not rules.types) and not rules.enum
    expected = _CLASSES.get(rules.types[0]) if len(rules.types) == 1 and not rules.format else None
    typed = _type_check(rules)

    def is_valid(value: Any) -> bool:
        if value.__class__ is not expected:
            if value is None:
                return takes_null
            if not typed(value):
                return False
        for check in checks:  # noqa: SIM110 (a generator here would cost a third of the time)
            if not check(value):
                return False
        return True

    return is_valid


def _type_check(rules: Rules) -> Check:
    if not rules.types and not rules.format:
        return lambda _: True
    if "integer" in rules.types or "number" in rules.types:
        return lambda value: value.__class__ is int or fits_type(rules, value)
    return lambda value: fits_type(rules, value)


def _by_type(rules: Rules) -> list[Check | None]:
    return [
        _string_check(rules),
        _number_check(rules),
        _list_check(rules),
        _object_check(rules),
        _enum_check(rules),
        _any_check(rules.any_of),
        _one_check(rules.one_of),
        *map(compile_check, rules.all_of),
        _none_check(rules.none_of),
    ]


def _enum_check(rules: Rules) -> Check | None:
    if not rules.enum:
        return None
    texts = frozenset(item for item in rules.enum if isinstance(item, str))
    return lambda value: value in texts if value.__class__ is str else is_listed(rules.enum, value)


def _string_check(rules: Rules) -> Check | None:
    low, high = rules.length_min, rules.length_max
    matches, fits = rules.matches, rules.string_check
    if low is None and high is None and matches is None and fits is None:
        return None

    def check(value: Any) -> bool:
        if value.__class__ is not str:
            return True
        return not (
            (high is not None and len(value) > high)
            or (low is not None and len(value) < low)
            or (matches is not None and not matches(value))
            or (fits is not None and not fits(value))
        )

    return check


def _number_check(rules: Rules) -> Check | None:
    kind = rules.types[0] if len(rules.types) == 1 else ""
    limits = (rules.minimum, rules.maximum, rules.multiple_of)
    stated = [limit for limit in limits if limit is not None]
    if not stated and kind not in ("integer", "number"):
        return None
    # A limit that its own type cannot hold breaks every number.
    hopeless = any(not in_range(kind, rules.format, limit) for limit in stated)
    low, high = _whole_limits(rules, kind)
    factor = None if rules.multiple_of is None else int(rules.multiple_of)

    def check(value: Any) -> bool:
        if value.__class__ is int:
            fits = low <= value <= high and not hopeless
            return fits and (factor is None or (factor > 0 and value % factor == 0))
        if value.__class__ is not float:
            return True
        return not hopeless and in_range(kind, rules.format, value) and _within(rules, value)

    return check


def _whole_limits(rules: Rules, kind: str) -> tuple[float, float]:
    """Between what integers must be; a decimal limit counts with its whole part."""
    low, high = -math.inf, math.inf
    if kind == "integer":
        low, high = (-(2**31), 2**31 - 1) if rules.format == "int32" else (INT_MIN, INT_MAX)
    elif kind == "number" and rules.format == "float":
        low, high = -FLOAT32_MAX, FLOAT32_MAX
    if rules.minimum is not None:
        low = max(low, math.trunc(rules.minimum) + rules.exclusive_minimum)
    if rules.maximum is not None:
        high = min(high, math.trunc(rules.maximum) - rules.exclusive_maximum)
    return low, high


def _within(rules: Rules, value: float) -> bool:
    if rules.minimum is not None:
        low = bound(rules, rules.minimum, value)
        if value < low or (value == low and rules.exclusive_minimum):
            return False
    if rules.maximum is not None:
        high = bound(rules, rules.maximum, value)
        if value > high or (value == high and rules.exclusive_maximum):
            return False
    return rules.multiple_of is None or is_multiple(value, rules.multiple_of)


def _list_check(rules: Rules) -> Check | None:
    item = None if rules.items is None else compile_check(rules.items)
    low, high = rules.items_min, rules.items_max
    if item is None and low is None and high is None and not rules.unique:
        return None

    def check(value: Any) -> bool:
        if value.__class__ is not list:
            return True
        if (low is not None and len(value) < low) or (high is not None and len(value) > high):
            return False
        if item is not None and not all(map(item, value)):
            return False
        return not (rules.unique and has_twins(value))

    return check


def _object_check(rules: Rules) -> Check | None:
    compiled = {key: compile_check(one) for key, one in rules.properties.items()}
    inner = {key: one for key, one in compiled.items() if one is not None}
    rest = None if rules.additional is None else compile_check(rules.additional)
    required, named = rules.required, rules.properties.keys()
    low, high = rules.properties_min, rules.properties_max
    closed = rules.forbids_additional
    if not (inner or rest or required or closed) and low is None and high is None:
        return None

    def check(value: Any) -> bool:
        if value.__class__ is not dict:
            return True
        for key in required:
            if key not in value:
                return False
        for key, item in value.items():
            check_item = inner.get(key)
            if check_item is not None:
                if not check_item(item):
                    return False
            elif key not in named and (closed or (rest is not None and not rest(item))):
                return False
        return (low is None or len(value) >= low) and (high is None or len(value) <= high)

    return check


def _any_check(alternatives: tuple[Rules, ...]) -> Check | None:
    checks = [check for rules in alternatives if (check := compile_check(rules)) is not None]
    if len(checks) < len(alternatives) or not checks:
        return None  # one of them takes anything
    return lambda value: any(check(value) for check in checks)


def _one_check(alternatives: tuple[Rules, ...]) -> Check | None:
    if not alternatives:
        return None
    checks = [compile_check(rules) for rules in alternatives]
    return lambda value: sum(check is None or check(value) for check in checks) == 1


def _none_check(rules: Rules | None) -> Check | None:
    if rules is None:
        return None
    check = compile_check(rules)
    return lambda value: check is not None and not check(value)
