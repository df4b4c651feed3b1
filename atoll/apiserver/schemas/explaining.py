"""Why a value breaks the rules of its CRD schema, sentence by sentence as Kubernetes says it.

Only values that `validating` has refused come here, so this is written to be exact, not fast: the
same checks in the same order as Kubernetes' own validator, down to which of several alternatives
(anyOf, oneOf) it thinks was meant. Where Kubernetes walks a Go map in random order, the order is
that of the schema.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.correlation import Pair
from atoll.apiserver.schemas.json_values import INT_MAX, INT_MIN
from atoll.apiserver.schemas.rules import Rules

_NOWHERE = "<nil>"  # how Kubernetes prints the path of an error that has none
_JSON_INTEGER_MAX = 2.0**53 - 1
FLOAT32_MAX = 3.4028235677973366e38


@dataclass(slots=True)
class Result:
    """What was found wrong, and how much right: that tells which alternative was meant."""

    errors: list[FieldError] = field(default_factory=list)
    matched: int = 0

    def add(self, *errors: FieldError) -> None:
        for error in errors:
            if error not in self.errors:
                self.errors.append(error)

    def merge(self, other: "Result") -> None:
        self.add(*other.errors)
        self.matched += other.matched


def explain(rules: Rules, value: Any, path: str = "", pair: Pair | None = None) -> list[FieldError]:
    """Every rule the value breaks, except those that a part breaks which is as it was."""
    return _check_changed(rules, value, path, pair).errors


def _check_changed(rules: Rules, value: Any, path: str, pair: Pair | None) -> Result:
    result = _check(rules, value, path, pair)
    if pair is None or not result.errors or not pair.unchanged():
        return result
    return Result(matched=result.matched)


def _check(rules: Rules, value: Any, path: str, pair: Pair | None = None) -> Result:
    result = Result()
    typed = _check_type(rules, value, path)
    if value is None:
        result.merge(typed)
        result.merge(_check_enum(rules, value, path))
        return result
    if rules.types or rules.format:
        result.merge(typed)
        result.matched += 1
    for found in _applicable(rules, value, path, pair):
        result.merge(found)
        result.matched += 1
    result.matched += 1
    return result


def _applicable(rules: Rules, value: Any, path: str, pair: Pair | None) -> list[Result]:
    """What the checks for this type of value find, in Kubernetes' order."""
    found = [_check_alternatives(rules, value, path)]
    if isinstance(value, str):
        found.append(_check_string(rules, value, path))
        if rules.string_check is not None:
            found.append(_check_format(rules, value, path))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found.append(_check_number(rules, value, path))
    elif isinstance(value, list):
        found.append(_check_list(rules, value, path, pair))
    found.append(_check_enum(rules, value, path))
    if isinstance(value, dict):
        found.append(_check_object(rules, value, path, pair))
    return found


def _broken(path: str, value: Any, sentence: str) -> Result:
    return Result([fields.invalid(_shown(path), value, f"{path} in body {sentence}")])


def _shown(path: str) -> str:
    return path.removeprefix(".") or _NOWHERE


def _general(sentence: str) -> FieldError:
    """An error that Kubernetes does not tie to a field."""
    return fields.invalid(_NOWHERE, "", sentence)


def json_type(value: Any) -> str:
    """The type of a value in JSON schema's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    kinds = {str: "string", float: "number", list: "array", dict: "object"}
    return kinds[type(value)]


def fits_type(rules: Rules, value: Any) -> bool:
    """Whether a value that is not null has one of the types asked for."""
    found = json_type(value)
    if found in rules.types or (found == "integer" and "number" in rules.types):
        return True
    if found == "number" and "integer" in rules.types:
        return bool(value.is_integer()) and abs(value) <= _JSON_INTEGER_MAX
    # With a format, Kubernetes leaves lists to the checks of lists.
    numeric = "number" in rules.types or "integer" in rules.types
    return bool(rules.format) and not numeric and isinstance(value, str | list)


def _check_type(rules: Rules, value: Any, path: str) -> Result:
    if value is None:
        fits = not rules.types or rules.nullable
    else:
        fits = not (rules.types or rules.format) or fits_type(rules, value)
    if fits:
        return Result(matched=1)
    wanted, found = ",".join(rules.types), json_type(value)
    if rules.format and value is not None and not isinstance(value, str | list):
        wanted, found = rules.format, {"integer": "int64", "number": "float64"}.get(found, "")
    return _mistyped(path, wanted, found)


def _mistyped(path: str, wanted: str, found: str) -> Result:
    sentence = f"{path} in body must be of type {wanted}: {json.dumps(found, ensure_ascii=False)}"
    return Result([fields.wrong_type(_shown(path), found, sentence)])


def _check_enum(rules: Rules, value: Any, path: str) -> Result:
    if not rules.enum or is_listed(rules.enum, value):
        return Result()
    allowed = [item if isinstance(item, str) else fields.shown(item) for item in rules.enum]
    return Result([fields.not_supported(_shown(path), value, allowed)])


def is_listed(enum: tuple[Any, ...], value: Any) -> bool:
    """Whether an enum lists the value; null is never listed, and True is not 1."""
    if value is None:
        return False
    return any(item == value and isinstance(item, bool) == isinstance(value, bool) for item in enum)


def _check_string(rules: Rules, value: str, path: str) -> Result:
    """The first of the rules on strings that is broken."""
    if rules.length_max is not None and len(value) > rules.length_max:
        sentence = f"may not be more than {rules.length_max} bytes"
        return Result([fields.too_long(_shown(path), sentence)])
    if rules.length_min is not None and len(value) < rules.length_min:
        return _broken(path, value, f"should be at least {rules.length_min} chars long")
    if rules.matches is not None and not rules.matches(value):
        return _broken(path, value, f"should match '{rules.pattern}'")
    return Result()


def _check_format(rules: Rules, value: str, path: str) -> Result:
    assert rules.string_check is not None
    return Result() if rules.string_check(value) else _mistyped(path, rules.format, value)


def _check_number(rules: Rules, value: int | float, path: str) -> Result:
    result = Result(matched=1)
    kind = rules.types[0] if len(rules.types) == 1 else ""

    def out_of_range(number: int | float, what: str) -> list[FieldError]:
        if in_range(kind, rules.format, number):
            return []
        form = f"with format {rules.format}" if rules.format else "(default format)"
        return [_general(f"{what} value must be of type {kind} {form} in {path}")]

    result.add(*out_of_range(value, "Checked"))
    if rules.multiple_of is not None:
        result.add(*out_of_range(rules.multiple_of, "MultipleOf"))
        result.merge(_check_multiple(rules.multiple_of, value, path))
    if rules.minimum is not None:
        result.add(*out_of_range(rules.minimum, "Minimum boundary"))
        result.merge(_check_minimum(rules, value, path))
    if rules.maximum is not None:
        result.add(*out_of_range(rules.maximum, "Maximum boundary"))
        result.merge(_check_maximum(rules, value, path))
    return result


def in_range(kind: str, format_name: str, number: int | float) -> bool:
    """Whether a number is one that its type and format can hold."""
    if kind == "integer":
        low, high = (-(2**31), 2**31 - 1) if format_name == "int32" else (INT_MIN, INT_MAX)
        return float(number).is_integer() and low <= number <= high
    return kind != "number" or format_name != "float" or abs(number) <= FLOAT32_MAX


def is_multiple(value: int | float, factor: int | float) -> bool:
    """Whether a value is a multiple; Kubernetes compares integers with the factor's whole part."""
    if isinstance(value, int):
        return int(factor) > 0 and value % int(factor) == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    return factor > 0 and _is_nearly_whole(quotient)


def _is_nearly_whole(number: float) -> bool:
    if abs(number) > _JSON_INTEGER_MAX:
        return False
    whole = float(round(number))
    return number == whole or abs(number - whole) < 1e-9 * max(abs(number), abs(whole))


def _check_multiple(factor: int | float, value: int | float, path: str) -> Result:
    if is_multiple(value, factor):
        return Result()
    used = int(factor) if isinstance(value, int) else factor
    if used <= 0:
        sentence = (
            f"factor MultipleOf declared for {path} must be positive: {fields.shown_number(used)}"
        )
        return Result([fields.invalid(_shown(path), used, sentence)])
    return _broken(path, value, f"should be a multiple of {fields.shown_number(used)}")


def bound(rules: Rules, limit: int | float, value: int | float) -> int | float:
    """The limit as Kubernetes compares it: integers with its whole part, if that makes sense."""
    kind = rules.types[0] if len(rules.types) == 1 else ""
    whole = isinstance(value, int) and in_range(kind, rules.format, limit)
    return math.trunc(limit) if whole else float(limit)


def _check_minimum(rules: Rules, value: int | float, path: str) -> Result:
    assert rules.minimum is not None
    limit = bound(rules, rules.minimum, value)
    if value > limit or (value == limit and not rules.exclusive_minimum):
        return Result()
    words = "greater than" if rules.exclusive_minimum else "greater than or equal to"
    return _broken(path, value, f"should be {words} {fields.shown_number(limit)}")


def _check_maximum(rules: Rules, value: int | float, path: str) -> Result:
    assert rules.maximum is not None
    limit = bound(rules, rules.maximum, value)
    if value < limit or (value == limit and not rules.exclusive_maximum):
        return Result()
    words = "less than" if rules.exclusive_maximum else "less than or equal to"
    return _broken(path, value, f"should be {words} {fields.shown_number(limit)}")


def _check_list(rules: Rules, value: list[Any], path: str, pair: Pair | None) -> Result:
    result = Result()
    if rules.items is not None:
        for index, item in enumerate(value):
            kept = None if pair is None else pair.index(index)
            result.merge(_check_changed(rules.items, item, f"{path}[{index}]", kept))
    if rules.items_min is not None and len(value) < rules.items_min:
        sentence = f"should have at least {rules.items_min} items"
        result.merge(_broken(path, len(value), sentence))
    if rules.items_max is not None and len(value) > rules.items_max:
        result.add(fields.too_many(_shown(path), len(value), rules.items_max))
    if rules.unique and has_twins(value):
        result.merge(_broken(path, "", "shouldn't contain duplicates"))
    result.matched += 1
    return result


def has_twins(items: list[Any]) -> bool:
    """Whether two items are equal; True is not 1."""
    texts = [json.dumps(item, sort_keys=True) for item in items]
    return len(set(texts)) < len(texts)


def _check_object(rules: Rules, value: dict[str, Any], path: str, pair: Pair | None) -> Result:
    result = Result()

    def kept(key: str) -> Pair | None:
        # What an object is called cannot be left wrong.
        called = not path and key in ("apiVersion", "kind")
        return None if pair is None or called else pair.key(key)

    if rules.properties_min is not None and len(value) < rules.properties_min:
        sentence = f"should have at least {rules.properties_min} properties"
        result.merge(_broken(path, len(value), sentence))
    if rules.properties_max is not None and len(value) > rules.properties_max:
        result.add(fields.too_many(_shown(path), len(value), rules.properties_max))
    for key in value:
        if key in rules.properties:
            continue
        if rules.forbids_additional:
            sentence = f"{path}.{key} in body is a forbidden property"
            result.add(fields.invalid(_shown(path), key, sentence))
        elif rules.additional is not None:
            at = f"{path}.{key}"
            result.merge(_check_changed(rules.additional, value[key], at, kept(key)))
    for key, inner in rules.properties.items():
        if key in value:
            at = f"{path}.{key}" if path else key
            result.merge(_check_changed(inner, value[key], at, kept(key)))
    result.add(*(fields.required(_shown(f"{path}.{k}")) for k in rules.required if k not in value))
    return result


def _check_alternatives(rules: Rules, value: Any, path: str) -> Result:
    result = Result()
    if rules.any_of:
        result.merge(_check_any(rules.any_of, value, path))
    if rules.one_of:
        result.merge(_check_one(rules.one_of, value, path))
    if rules.all_of:
        result.merge(_check_all(rules.all_of, value, path))
    if rules.none_of is not None and not _check(rules.none_of, value, path).errors:
        result.add(_general(f"{_quoted(path)} must not validate the schema (not)"))
    result.matched += 1
    return result


def _quoted(path: str) -> str:
    return json.dumps(path, ensure_ascii=False)


def _best(failures: list[Result]) -> Result:
    """The alternative that came closest; the first of several."""
    return max(failures, key=lambda failure: failure.matched)


def _check_any(alternatives: tuple[Rules, ...], value: Any, path: str) -> Result:
    failures = []
    for rules in alternatives:
        found = _check(rules, value, path)
        if not found.errors:
            return found
        failures.append(found)
    result = Result([_general(f"{_quoted(path)} must validate at least one schema (anyOf)")])
    result.merge(_best(failures))
    return result


def _check_one(alternatives: tuple[Rules, ...], value: Any, path: str) -> Result:
    found = [_check(rules, value, path) for rules in alternatives]
    valid = [result for result in found if not result.errors]
    if len(valid) == 1:
        return valid[0]
    count = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    sentence = f"{_quoted(path)} must validate one and only one schema (oneOf). {count}"
    result = Result([_general(sentence)])
    # Kubernetes also tells what failed after the last alternative that did not.
    if not valid:
        result.merge(_best(found))
    return result


def _check_all(alternatives: tuple[Rules, ...], value: Any, path: str) -> Result:
    result = Result()
    failed = 0
    for rules in alternatives:
        found = _check(rules, value, path)
        failed += bool(found.errors)
        result.merge(found)
    if failed:
        none = ". None validated" if failed == len(alternatives) else ""
        result.add(_general(f"{_quoted(path)} must validate all the schemas (allOf){none}"))
    return result
