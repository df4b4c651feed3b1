"""The value of a quantity (`1500m`, `2Gi`, `1e3`), to compare one with another.

How a quantity is written is settled when objects are read, by the API server.
"""

import re
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

_WRITTEN = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LENGTH_MAX, _EXPONENT_MAX = 100, 64  # no amount of anything is larger
_exact = Context(prec=200)


@lru_cache(maxsize=4096)
def _parse(written: str) -> Decimal | None:
    match = _WRITTEN.fullmatch(written)
    if match is None or len(written) > _LENGTH_MAX:
        return None
    digits, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY:
        return _exact.multiply(digits, Decimal(2 ** _BINARY[suffix]))
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    return digits.scaleb(exponent, _exact) if abs(exponent) <= _EXPONENT_MAX else None


def parse(written: Any) -> Decimal | None:
    """The value of a quantity; None if it is none."""
    return _parse(written) if isinstance(written, str) else None
