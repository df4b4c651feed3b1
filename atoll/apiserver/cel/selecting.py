"""Selections (`a.b` in all its forms) and the macros that go over items, as functions of values."""

from collections.abc import Callable, Iterator
from typing import Any

from atoll.apiserver.cel.faults import NO_OVERLOAD, Failed, OverBudget
from atoll.apiserver.cel.library.lists import sorted_by
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


Steps = Iterator[tuple[Any, Any]]


def _holds(frame: Frame, test: Run | None) -> bool:
    if test is None:
        return True
    value = test(frame)
    if value.__class__ is not bool:
        raise Failed(NO_OVERLOAD)
    return bool(value)


def _quantified(*, until: bool) -> Callable[..., bool]:
    def fold(frame: Frame, steps: Steps, test: Run, _: Run | None) -> bool:
        fault: Failed | None = None
        for _step in steps:
            try:
                if _holds(frame, test) is until:
                    return until
            except Failed as failed:
                fault = fault or failed
        if fault is not None:
            raise fault
        return not until

    return fold


def _one(frame: Frame, steps: Steps, test: Run, _: Run | None) -> bool:
    return sum(_holds(frame, test) for _step in steps) == 1


def _filtered(frame: Frame, steps: Steps, test: Run, _: Run | None) -> list[Any]:
    return [item for item, _value in steps if _holds(frame, test)]


def _mapped(frame: Frame, steps: Steps, test: Run | None, result: Run) -> list[Any]:
    return [result(frame) for _step in steps if _holds(frame, test)]


def _sorted(frame: Frame, steps: Steps, _: Run | None, result: Run) -> list[Any]:
    pairs = [(item, result(frame)) for item, _value in steps]
    return sorted_by(frame, [item for item, _key in pairs], [key for _item, key in pairs])


def _map_of(frame: Frame, steps: Steps, test: Run | None, result: Run) -> dict[Any, Any]:
    return {key: result(frame) for key, _value in steps if _holds(frame, test)}


def _map_of_entries(frame: Frame, steps: Steps, test: Run | None, result: Run) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for _step in steps:
        if not _holds(frame, test):
            continue
        entry = result(frame)
        if not isinstance(entry, dict):
            raise Failed(NO_OVERLOAD)
        for key, value in entry.items():
            if key in made:
                raise Failed(f"insert failed: key {key} already exists")
            made[key] = value
    return made


FOLDS: dict[str, Callable[..., Any]] = {
    "all": _quantified(until=False),
    "exists": _quantified(until=True),
    "exists_one": _one,
    "existsOne": _one,
    "filter": _filtered,
    "map": _mapped,
    "sortBy": _sorted,
    "transformList": _mapped,
    "transformMap": _map_of,
    "transformMapEntry": _map_of_entries,
}
