"""Twice as much in one request is twice the work: nothing that a body can hold grows faster.

Work is counted, never timed: in calls, or in comparisons where all is done within one call.
"""

import sys
from collections.abc import Callable
from typing import Any

from atoll.apiserver.applying.ownership import Managers, Owner, cap_updates
from atoll.apiserver.cel.kinds import DYN
from atoll.apiserver.conditions.declared import Scope
from atoll.apiserver.kinds.affinity import spread_errors

FEW = 120
FASTER = 2.6  # what grows with the square would grow four times


def calls(work: Callable[[], object]) -> int:
    """How many calls a piece of work takes."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    work()  # what is remembered between two calls is not counted
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def constraints(many: int) -> Callable[[], object]:
    asked = [
        {"maxSkew": 1, "topologyKey": f"zone-{n}", "whenUnsatisfiable": "DoNotSchedule"}
        for n in range(many)
    ]
    return lambda: spread_errors(asked, "spec.topologySpreadConstraints")


def test_rules_look_at_everything_once() -> None:
    assert calls(constraints(2 * FEW)) < FASTER * calls(constraints(FEW))


def expression(many: int) -> Callable[[], object]:
    """An expression of a policy that has so many variables before it."""
    scope = Scope().with_variables()
    for n in range(many):
        scope.add_variable(f"v{n}", DYN)
    return lambda: scope.compiled("variables.v0 == 1")


def test_an_expression_takes_as_long_however_many_variables_there_are() -> None:
    assert calls(expression(2 * FEW)) == calls(expression(FEW))


class Counted(str):
    """A key that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __lt__(self, other: str) -> bool:
        Counted.compared += 1
        return str.__lt__(self, other)


def merged(many: int) -> tuple[dict[str, Any], int]:
    """What the oldest owners own together in the end, and how many comparisons that took."""
    managers = Managers()
    for n in range(many):
        fields = {"f:data": {Counted(f"f:k{n:04}"): {}}}
        owner = Owner(f"m{n:04}", "Update", "v1", "")
        managers.put(owner, "v1", fields, "2026-11-16T10:00:00Z")
    Counted.compared = 0
    cap_updates(managers)
    assert len(managers.entries) == 10
    return managers.fields(Owner("ancient-changes", "Update", "v1", "")), Counted.compared


def test_owners_are_merged_without_moving_every_field_for_each_of_them() -> None:
    few, work = merged(FEW)
    assert few == {"f:data": {f"f:k{n:04}": {} for n in range(FEW - 9)}}
    assert list(few["f:data"]) == sorted(few["f:data"])
    _, more_work = merged(2 * FEW)
    assert more_work < FASTER * work
