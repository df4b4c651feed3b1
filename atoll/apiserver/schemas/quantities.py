"""Amounts of a resource (500m, 1Gi, 1e3) in their canonical form.

A client may write the same amount in many ways; a Kubernetes server answers with the one that has
the largest suffix and no fraction. Precision ends at a billionth, rounded away from zero.
"""

import re2

_form = re2.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*)([-+]?[0-9]*)")
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_BY_POWER = {power: suffix for suffix, power in _BINARY.items()}
_NANO = 10**9
_EXPONENT_MAX = 10_000

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_SUFFIX = "unable to parse quantity's suffix"


class NotAQuantity(Exception):
    """The text is no amount; the message is Go's."""


def canonical_quantity(text: str) -> str:
    """The amount as a Kubernetes server writes it."""
    found = _form.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        raise NotAQuantity(WRONG_FORMAT)
    sign = -1 if found[1] == "-" else 1
    suffix, exponent = found[4], found[5]
    digits, places = (found[2] or "") + (found[3] or ""), len(found[3] or "")
    if exponent:
        if suffix not in ("e", "E") or not exponent.strip("+-"):
            raise NotAQuantity(WRONG_FORMAT if not suffix else WRONG_SUFFIX)
        power = max(-_EXPONENT_MAX, min(_EXPONENT_MAX, int(exponent)))
        return _decimal(sign, _nanos(digits, power - places), exponential=True)
    if suffix in _BINARY:
        return _binary(sign, int(digits) * 1024 ** _BINARY[suffix], places)
    if suffix not in _DECIMAL:
        raise NotAQuantity(WRONG_SUFFIX if set(suffix) <= set("eEinumkKMGTP") else WRONG_FORMAT)
    return _decimal(sign, _nanos(digits, _DECIMAL[suffix] - places))


def _nanos(digits: str, power: int) -> int:
    """The amount in billionths, rounded up."""
    power += 9
    amount = int(digits)
    unit: int = 10 ** abs(power)
    return amount * unit if power >= 0 else -(-amount // unit)


def _decimal(sign: int, nanos: int, *, exponential: bool = False) -> str:
    if nanos == 0:
        return "0"
    exponent, amount = -9, nanos
    while amount % 1000 == 0 and (exponential or exponent < 18):
        amount //= 1000
        exponent += 3
    shown = f"{sign * amount}"
    if exponential:
        return f"{shown}e{exponent}" if exponent else shown
    return shown + _SUFFIX_BY_EXPONENT[exponent]


def _binary(sign: int, scaled: int, places: int) -> str:
    """An amount given with a binary suffix; small and broken ones are shown in decimal."""
    unit = 10**places
    if scaled < 1024 * unit or scaled % unit:
        return _decimal(sign, -(-scaled * _NANO // unit))
    amount, power = scaled // unit, 0
    while amount % 1024 == 0 and power < 6:
        amount //= 1024
        power += 1
    return f"{sign * amount}" + _BINARY_BY_POWER.get(power, "")
