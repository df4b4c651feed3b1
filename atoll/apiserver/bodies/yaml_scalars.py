"""What a plain YAML scalar means to Kubernetes: YAML 1.1 as sigs.k8s.io/yaml reads it.

Booleans include yes, no, on, off, y and n; numbers may be octal, hexadecimal, binary and may have
underscores; a date stays a string, and so does anything in base 60.
"""

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "off", "Off", "OFF"], False),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
}
_numeric_start = re.compile(r"[-+.0-9]")
_integer = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_float = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    if not _numeric_start.match(text):
        return text
    return number(text)


def number(text: str) -> int | float | str:
    """The number a scalar says, or the text itself if it says none."""
    digits = text.replace("_", "")
    whole = _integer.fullmatch(digits)
    if whole is not None:
        return _whole(digits, whole)
    if _float.fullmatch(digits) is None:
        return text
    value = float(digits)
    return text if math.isinf(value) else value


def _whole(digits: str, found: re.Match[str]) -> int | float | str:
    sign, hexadecimal, octal, binary, decimal = found.groups()
    if len(digits) > 80:  # no 64 bits, in any base
        return float(digits) if decimal and len(digits) < 300 else digits
    if decimal:
        value = int(decimal)
    else:
        value = int(hexadecimal or octal or binary, 16 if hexadecimal else 8 if octal else 2)
    value = -value if sign == "-" else value
    return value if -(2**63) <= value < 2**63 else float(value)
