"""A decision about a binding costs two writes at most: where it goes, and that it was decided.

Writes of bindings come in as they are sent and as they are committed, and that the controllers
heard of a change of the fleet. What is asked for anew, by the binding or by the fleet, may be
decided anew; nothing else may. A write counts for what was known when it was sent.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from atoll.client.transport import Transport
from atoll.dialects.karmada import names
from atoll.dialects.karmada.standing import LAST, MARK, OBSERVED_GENERATION
from atoll.exchange import Request, Response
from atoll.wire import Wire

_CLAIMS = (names.POLICY_ID, names.CLUSTER_POLICY_ID)


@dataclass
class _Spent:
    """The writes since something new was asked for, by the changes of the fleet until then.

    What is told is told of a decision, the how manieth it was, and may be so later than that.
    """

    decided: set[int] = field(default_factory=set)
    told: set[tuple[int, int]] = field(default_factory=set)


class Thrift:
    """Counts what the scheduler writes on each binding."""

    def __init__(self) -> None:
        self._changes = 0
        self._sent: dict[tuple[str, str, bool], int] = {}
        """Changes known when a binding was last written, by its version; True: its status."""
        self._spent: dict[str, _Spent] = defaultdict(_Spent)

    def fleet_changed(self) -> None:
        """All may be decided anew."""
        self._changes += 1

    def sent(self, request: Request) -> None:
        """A write is on its way: what was decided in it was decided by now."""
        if request.method == "PUT" and "/resourcebindings/" in request.path:
            metadata = orjson.loads(request.body)["metadata"]
            of_status = request.path.endswith("/status")
            self._sent[metadata["uid"], metadata["resourceVersion"], of_status] = self._changes

    def binding_changed(self, before: Wire | None, after: Wire) -> None:
        """A binding was written: not more often than there was something to write."""
        uid, name = after["metadata"]["uid"], after["metadata"]["name"]
        if before is None or _asked(before) != _asked(after):
            self._spent[uid] = _Spent()
            return
        spent = self._spent[uid]
        version = before["metadata"]["resourceVersion"]
        if _decided(before) != _decided(after):
            known = self._sent.get((uid, version, False), self._changes)
            assert known not in spent.decided, f"{name} is decided again and again for one reason"
            spent.decided.add(known)
        if _told(before) != _told(after):
            known = self._sent.get((uid, version, True), self._changes)
            of_decision = len(spent.decided), known
            assert of_decision not in spent.told, f"{name} is told again and again: {_told(after)}"
            spent.told.add(of_decision)


class Noticed:
    """A transport that tells of every request before it is on its way."""

    def __init__(self, inner: Transport, notice: Callable[[Request], None]) -> None:
        self._inner = inner
        self._notice = notice

    async def send(self, request: Request) -> Response:
        self._notice(request)
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


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
