"""Selections, `a.b` in all its forms, as functions that evaluate them."""

from typing import Any

from atoll.apiserver.cel.faults import NO_OVERLOAD, Failed, OverBudget
from atoll.apiserver.cel.values import NOTHING, Frame, Optional, Run, Selectable


def selection(operand: Run, key: str) -> Run:
    """`a.b`, of a map or of anything else that has fields."""

    def run(frame: Frame) -> Any:
        held = operand(frame)
        frame.left -= 1
        if frame.left < 0:
            raise OverBudget
        if held.__class__ is dict:
            try:
                return held[key]
            except KeyError:
                raise Failed(f"no such key: {key}") from None
        return _selected(held, key)

    return run


def without_null(operand: Run, key: str) -> Run:
    """An object whose field is null, as one that has not got it."""

    def run(frame: Frame) -> Any:
        held = operand(frame)
        if held.__class__ is dict and key in held and held[key] is None:
            return {name: value for name, value in held.items() if name != key}
        return held

    return run


def _selected(held: Any, key: str) -> Any:
    if isinstance(held, Optional):
        return _optionally(held.value, key) if held.is_there else NOTHING
    if isinstance(held, Selectable):
        return held.select(key)
    raise Failed(NO_OVERLOAD)


def _optionally(held: Any, key: str) -> Optional:
    if not isinstance(held, dict):
        raise Failed(NO_OVERLOAD)
    return Optional(True, held[key]) if key in held else NOTHING


def optional_selection(operand: Run, key: str) -> Run:
    """`a.?b`."""

    def run(frame: Frame) -> Any:
        held = operand(frame)
        frame.pay(1)
        if isinstance(held, Optional):
            return _optionally(held.value, key) if held.is_there else NOTHING
        return _optionally(held, key)

    return run


def presence(operand: Run, key: str) -> Run:
    """`has(a.b)`."""

    def run(frame: Frame) -> bool:
        held = operand(frame)
        if isinstance(held, Optional):
            held = held.value if held.is_there else {}
        if isinstance(held, Selectable):
            held.select(key)
            return True
        if not isinstance(held, dict):
            raise Failed(NO_OVERLOAD)
        return key in held

    return run
