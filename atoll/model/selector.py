"""Selectors: which labels (or fields) are meant, as data with one question, `matches`.

Every dialect's selector forms decode to these few operators. How a selector is written (a query
string, matchExpressions) is the business of whoever decodes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from atoll.model.quantity import parse


class Operator(StrEnum):
    """What a requirement asks of one key."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    NOT_EXISTS = "!"
    GREATER = "gt"
    LESS = "lt"
    # Of amounts (`0.5`, `16Gi`), as other dialects ask them of a cluster's properties.
    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="
    EQUAL = "=="
    NOT_EQUAL = "!="


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one key; `values` is what the operator compares with."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.NOT_EXISTS:
                return value is None
            case Operator.GREATER | Operator.LESS:
                return self._compares(value)
            case amounts:
                return _compare(parse(value), amounts, parse(self.values[0]))

    def _compares(self, value: str | None) -> bool:
        """Numeric comparison; a value that is no integer compares with nothing."""
        number = as_integer(value)
        bound = as_integer(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GREATER else number < bound


def _compare(amount: Decimal | None, operator: Operator, bound: Decimal | None) -> bool:
    """Compare two amounts; what is none compares with nothing."""
    if amount is None or bound is None:
        return False
    match operator:
        case Operator.ABOVE:
            return amount > bound
        case Operator.AT_LEAST:
            return amount >= bound
        case Operator.BELOW:
            return amount < bound
        case Operator.AT_MOST:
            return amount <= bound
        case Operator.EQUAL:
            return amount == bound
        case _:
            return amount != bound


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that must all hold; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)


EVERYTHING = Selector()
NEVER = Requirement("", Operator.IN)
"""One of no values: no label ever is."""
NOTHING = Selector((NEVER,))


def as_integer(text: str | None) -> int | None:
    """The integer this text spells in plain decimal digits, if it does."""
    if text is None:
        return None
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() else None
