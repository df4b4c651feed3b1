"""JSON values beyond what Python's own types say: how numbers settle, and what was said twice."""

from typing import Any

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)


class Literal(float):
    """A number that remembers how it was written, for messages that quote it."""

    text: str

    def __str__(self) -> str:
        return self.text


class Repeating(dict[str, Any]):
    """A JSON object that says a key more than once; as a dict it holds what was said last."""

    pairs: list[tuple[str, Any]]


def settle_numbers(value: Any) -> Any:
    """The value with every number as it comes back from a Go server: 1.0 is 1, 2**64 is a float.

    Copies only what changes.
    """
    if value.__class__ is dict:
        changed = {k: new for k, v in value.items() if (new := settle_numbers(v)) is not v}
        return {**value, **changed} if changed else value
    if value.__class__ is list:
        settled = [settle_numbers(item) for item in value]
        same = all(new is old for new, old in zip(settled, value, strict=True))
        return value if same else settled
    if isinstance(value, float):
        # 2**63 itself is a float that no 64-bit integer equals.
        return int(value) if value.is_integer() and INT_MIN <= value < 2.0**63 else float(value)
    if value.__class__ is int and not INT_MIN <= value <= INT_MAX:
        return float(value)
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON text: unlike in Python, 1, 1.0 and true all differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one.__class__ is other.__class__ and bool(one == other)
