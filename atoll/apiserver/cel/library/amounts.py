"""Amounts of resources (1Gi, 500m) and versions of software (1.2.3-rc.1)."""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import Failed, can
from atoll.apiserver.cel.values import INT_MAX, INT_MIN, Frame, named
from atoll.apiserver.schemas.scalars import NotAQuantity, canonical_quantity

_amount = re.compile(r"([+-]?[0-9]*\.?[0-9]*)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][-+]?[0-9]+)?")
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_part = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_version = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    rf"(?:-({_part}(?:\.{_part})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LENGTH_MAX = 256


@named("kubernetes.Quantity")
@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount; how it was written does not matter."""

    amount: Fraction
    scaled: bool = field(default=False, compare=False)
    """Whether it counts in parts of one; then Kubernetes never takes it for a whole number."""


def read_quantity(text: str) -> Quantity:
    """The amount a text says."""
    try:
        if len(text) > _LENGTH_MAX:
            raise NotAQuantity("quantities must match the regular expression")
        canonical = canonical_quantity(text)
    except NotAQuantity as error:
        raise Failed(str(error)) from None
    found = _amount.fullmatch(canonical)
    assert found is not None, f"{canonical} is canonical"
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix in _BINARY:
        return Quantity(number * 1024 ** _BINARY[suffix])
    power = _DECIMAL.get(suffix, int(suffix[1:]) if suffix[:1] in ("e", "E") and suffix[1:] else 0)
    return Quantity(number * Fraction(10) ** power, power < 0 or "." in found[1])


def _is_whole(quantity: Quantity) -> bool:
    amount = quantity.amount
    return not quantity.scaled and amount.denominator == 1 and INT_MIN <= amount <= INT_MAX


def _sum(one: Quantity, other: Quantity, sign: int) -> Quantity:
    return Quantity(one.amount + sign * other.amount, one.scaled or other.scaled)


def _as_integer(_: Frame, quantity: Quantity) -> int:
    if not _is_whole(quantity):
        raise Failed("cannot convert value to integer")
    return int(quantity.amount)


def _compared(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


@named("kubernetes.Semver")
@dataclass(frozen=True, slots=True)
class Semver:
    """A version: three numbers, and what comes before a release."""

    numbers: tuple[int, int, int]
    before: tuple[str, ...]

    def rank(self) -> tuple[Any, ...]:
        """Something in the order of versions."""
        parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.before]
        return (self.numbers, not self.before, tuple(parts))


def read_semver(text: str, *, normalize: bool = False) -> Semver:
    """The version a text says; normalized, v1.02 is a version too."""
    found = _version.fullmatch(_normalized(text) if normalize else text)
    if found is None or len(text) > _LENGTH_MAX:
        raise Failed(_semver_fault(text))
    numbers = (int(found[1]), int(found[2]), int(found[3]))
    return Semver(numbers, tuple(found[4].split(".")) if found[4] else ())


def _normalized(text: str) -> str:
    text = text.removeprefix("v")
    core = re.split(r"[-+]", text, maxsplit=1)[0]
    parts = [part.lstrip("0") or "0" if part else part for part in core.split(".")]
    if len(parts) < 3 and core == text:
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts) + text[len(core) :]


def _semver_fault(text: str) -> str:
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    for name, part in zip(("major", "minor", "patch"), parts, strict=True):
        digits = re.split(r"[-+]", part, maxsplit=1)[0]
        if not (digits.isascii() and digits.isdigit()):
            return f'Invalid character(s) found in {name} number "{digits}"'
        if len(digits) > 1 and digits[0] == "0":
            sort = name.capitalize()
            return f'{sort} number must not contain leading zeroes "{digits}"'
    return f'Invalid character(s) found in prerelease "{text}"'


TABLE: Table = {
    "quantity(string) -> Quantity": lambda _, text: read_quantity(text),
    "isQuantity(string) -> bool": lambda _, text: can(read_quantity, text),
    "sign(Quantity) -> int": lambda _, q: _compared(q.amount, 0),
    "Quantity.isInteger() -> bool": lambda _, q: _is_whole(q),
    "Quantity.asInteger() -> int": _as_integer,
    "Quantity.asApproximateFloat() -> double": lambda _, q: float(q.amount),
    "Quantity.add(Quantity) -> Quantity": lambda _, a, b: _sum(a, b, 1),
    "Quantity.add(int) -> Quantity": lambda _, a, b: Quantity(a.amount + b, a.scaled),
    "Quantity.sub(Quantity) -> Quantity": lambda _, a, b: _sum(a, b, -1),
    "Quantity.sub(int) -> Quantity": lambda _, a, b: Quantity(a.amount - b, a.scaled),
    "Quantity.isGreaterThan(Quantity) -> bool": lambda _, a, b: a.amount > b.amount,
    "Quantity.isLessThan(Quantity) -> bool": lambda _, a, b: a.amount < b.amount,
    "Quantity.compareTo(Quantity) -> int": lambda _, a, b: _compared(a.amount, b.amount),
    "semver(string) -> Semver": lambda _, text: read_semver(text),
    "semver(string, bool) -> Semver": lambda _, text, norm: read_semver(text, normalize=norm),
    "isSemver(string) -> bool": lambda _, text: can(read_semver, text),
    "isSemver(string, bool) -> bool": lambda _, text, norm: can(
        partial(read_semver, normalize=norm), text
    ),
    "Semver.major() -> int": lambda _, version: version.numbers[0],
    "Semver.minor() -> int": lambda _, version: version.numbers[1],
    "Semver.patch() -> int": lambda _, version: version.numbers[2],
    "Semver.isGreaterThan(Semver) -> bool": lambda _, a, b: a.rank() > b.rank(),
    "Semver.isLessThan(Semver) -> bool": lambda _, a, b: a.rank() < b.rank(),
    "Semver.compareTo(Semver) -> int": lambda _, a, b: _compared(a.rank(), b.rank()),
}
