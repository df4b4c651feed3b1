"""A decision about a binding costs two writes at most: where it goes, and that it was decided.

Commits of bindings come in, and that the controllers heard of a change of the fleet. What is asked
for anew, by the binding or by the fleet, may be decided anew; nothing else may. A decision that was
on its way when the news came may still arrive, and count for it.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from atoll.dialects.karmada import names
from atoll.planning.placing.standing import LAST, MARK, OBSERVED_GENERATION

Wire = dict[str, Any]
_CLAIMS = (names.POLICY_ID, names.CLUSTER_POLICY_ID)
_MOST = 2


@dataclass
class _Spent:
    """The writes since something new was asked for."""

    decided: int = 0
    told: int = 0


class Thrift:
    """Counts what the scheduler writes on each binding."""

    def __init__(self) -> None:
        self._spent: dict[str, _Spent] = defaultdict(_Spent)

    def fleet_changed(self) -> None:
        """All may be decided anew."""
        self._spent.clear()

    def binding_changed(self, before: Wire | None, after: Wire) -> None:
        """A binding was written: not more often than there was something to write."""
        uid, name = after["metadata"]["uid"], after["metadata"]["name"]
        if before is None or _asked(before) != _asked(after):
            self._spent[uid] = _Spent()
            return
        spent = self._spent[uid]
        if _decided(before) != _decided(after):
            spent.decided += 1
            spent.told = 0
            assert spent.decided <= _MOST, f"{name} is decided again and again for one reason"
        if _told(before) != _told(after):
            spent.told += 1
            assert spent.told <= _MOST, f"{name} is told again and again: {_told(after)}"


def _asked(binding: Wire) -> Any:
    labels = binding["metadata"].get("labels") or {}
    claims = [labels.get(each) for each in _CLAIMS]
    return {**binding["spec"], "clusters": None}, claims


def _decided(binding: Wire) -> Any:
    annotations = binding["metadata"].get("annotations") or {}
    return binding["spec"].get("clusters"), annotations.get(MARK)


def _told(binding: Wire) -> Any:
    status = binding.get("status") or {}
    conditions = [each for each in status.get("conditions") or () if each["type"] == "Scheduled"]
    return status.get(LAST), status.get(OBSERVED_GENERATION), conditions
