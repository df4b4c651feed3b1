"""Amounts of a resource (500m, 1Gi, 1e3) as a Kubernetes server writes them.

A client may write the same amount in many ways. An amount that has no shorter form is left as it
was written; any other gets the largest suffix that leaves no fraction. Precision ends at a
billionth (in a list of resources, at a thousandth), rounded away from zero.
"""

from dataclasses import dataclass
from functools import lru_cache

import re2

_form = re2.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*(?:[-+]?[0-9]*))")
_exponent = re2.compile(r"[eE]([-+]?[0-9]+)")
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}
_NANO = -9
_POWER_MAX = 1000  # beyond any use, and before numbers get slow
_BINARY_MAX = 2**63 - 1

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_SUFFIX = "unable to parse quantity's suffix"


class NotAQuantity(Exception):
    """The text is no amount; the message is Go's."""


@dataclass(frozen=True, slots=True)
class _Written:
    """An amount as it was written: digits times ten to the power, times 1024 to the binary one."""

    sign: int
    digits: str
    places: int  # of the digits, those after the point
    power: int
    binary: int
    exponential: bool

    def is_kept(self, power_min: int) -> bool:
        """Whether this is as good as any other form; Go's reasons, in Go's order."""
        if self.binary:
            room = 15 - len(self.digits) - self.binary * 3 - 1
            return room >= 0 and not self.places and int(self.digits) & 7 != 0
        scale = self.power - self.places
        fits = len(self.digits) <= 18 and scale >= max(power_min, _NANO)
        tight = scale % 3 == 0 and not self.digits.endswith("000") and self.digits[0] != "0"
        return fits and tight


def canonical_quantity(text: str, power_min: int = _NANO) -> str:
    """The amount as a Kubernetes server writes it, with no digit below ten to `power_min`."""
    text = text.strip()
    return _remembered(text, power_min) if len(text) <= 32 else _canonical(text, power_min)


def _canonical(text: str, power_min: int) -> str:
    written = _read(text)
    if written.is_kept(power_min):
        return text
    if written.binary:
        return _binary(written, power_min)
    amount = _scaled(int(written.digits), written.power - written.places, power_min)
    return _decimal(written.sign, amount, power_min, exponential=written.exponential)


# The same few amounts are written again and again.
_remembered = lru_cache(maxsize=4096)(_canonical)


def _read(text: str) -> _Written:
    found = _form.fullmatch(text) if text else None
    if found is None:
        raise NotAQuantity(WRONG_FORMAT)
    sign = -1 if found[1] == "-" else 1
    digits, places, suffix = (found[2] or "0") + (found[3] or ""), len(found[3] or ""), found[4]
    exponent = _exponent.fullmatch(suffix)
    if suffix in _DECIMAL:
        return _Written(sign, digits, places, _DECIMAL[suffix], 0, exponential=False)
    if suffix in _BINARY:
        return _Written(sign, digits, places, 0, _BINARY[suffix], exponential=False)
    if exponent is None or len(exponent[1]) > 9:
        raise NotAQuantity(WRONG_SUFFIX)
    power = max(-_POWER_MAX, min(_POWER_MAX, int(exponent[1])))
    return _Written(sign, digits, places, power, 0, exponential=True)


def _scaled(amount: int, power: int, power_min: int) -> int:
    """The amount in units of ten to `power_min`, rounded up."""
    unit: int = 10 ** abs(power - power_min)
    return amount * unit if power >= power_min else -(-amount // unit)


def _decimal(sign: int, amount: int, power: int, *, exponential: bool = False) -> str:
    if amount == 0:
        return "0"
    while amount % 1000 == 0 and (exponential or power < 18):
        amount //= 1000
        power += 3
    if exponential:
        return f"{sign * amount}e{power}" if power else f"{sign * amount}"
    return f"{sign * amount}{_DECIMAL_SUFFIX[power]}"


def _binary(written: _Written, power_min: int) -> str:
    """An amount given with a binary suffix; small and broken ones are shown in decimal."""
    unit: int = 10**written.places
    scaled = min(int(written.digits) * 1024**written.binary, _BINARY_MAX * unit)
    if scaled < 1024 * unit or scaled % unit:
        amount = _scaled(scaled, -written.places, power_min)
        return _decimal(written.sign, amount, power_min)
    amount, power = scaled // unit, 0
    while amount % 1024 == 0 and power < 6:
        amount //= 1024
        power += 1
    return f"{written.sign * amount}{_BINARY_SUFFIX.get(power, '')}"
