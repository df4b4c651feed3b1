"""A recorded run once more: fresh deciders are told what was told then, and answer anew.

Lines of a recording come in; steps go out, each with what was answered then and what is answered
now. How a scheduler is set up as one was is for others to know.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from atoll.control.delivery.decide import events as delivery
from atoll.control.delivery.decide.deliveries import Deliveries
from atoll.control.notation import Reading, Writing
from atoll.control.recording import FORMAT, Told, in_words, means_by
from atoll.control.scheduler.decide import events as scheduler
from atoll.control.scheduler.decide.scheduler import Scheduler
from atoll.errors import AtollError, Malformed
from atoll.scheduling.setting import Setting
from atoll.wire import Object

WHOLE = Writing()
_DECIDERS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "scheduler": (scheduler.Event, Scheduler),
    "delivery": (delivery.Event, Deliveries),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One event, and what was answered to it: instructions, or an error in words."""

    number: int
    to: str
    now: float
    event: Any
    recorded: Any
    found: Any

    @property
    def differs(self) -> bool:
        return bool(self.recorded != self.found)


@dataclass(slots=True)
class Replay:
    """Steps of a recording, and what else is to be said of it."""

    set_up: Callable[[Mapping[str, Any]], Setting]
    version: str = ""
    torn: int = 0
    """Lines that nobody finished writing."""
    _count: int = 0
    _last: int = 0
    _handlers: dict[str, Callable[[Any, float], Any]] = field(default_factory=dict)
    _reading: Reading = field(default_factory=Reading)

    def steps(self, lines: Iterable[bytes]) -> Iterator[Step]:
        """All steps in their order; Malformed if they cannot be taken."""
        torn_at = 0
        for number, written in enumerate(lines, 1):
            if not written.strip():
                continue
            line = _parsed(written)
            begins = "recording" in line
            if not (begins or self.version):
                break
            if torn_at and not begins:  # only whoever is killed leaves a line so
                raise Malformed(f"line {torn_at} cannot be read")
            torn_at = 0 if line else number
            self.torn += not line
            try:
                step = self._take(line) if line else None
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                why = f"({in_words(error)}); it was recorded by atoll {self.version}"
                raise Malformed(f"line {number} cannot be read {why}") from error
            if step is not None:
                yield step
        if not self.version:
            raise Malformed("it is not a recording of `atoll up --record`")

    def _take(self, line: dict[str, Any]) -> Step | None:
        if "recording" in line:
            if line["recording"] != FORMAT:
                raise Malformed(f"it is in form {line['recording']}; known is {FORMAT}")
            self.version, self._last, self._reading = line["atoll"], 0, Reading()
        elif "begins" in line:
            made_with = line["with"]
            if "setting" in made_with:
                made_with["setting"] = self.set_up(made_with["setting"])
            self._handlers[line["begins"]] = _DECIDERS[line["begins"]][1](**made_with).handle
        else:
            self._count, self._last = self._count + 1, self._last + 1
            if line["n"] != self._last:
                raise Malformed(f"events {self._last} to {line['n'] - 1} were lost on their way")
            return self._step(line)
        return None

    def _step(self, line: dict[str, Any]) -> Step:
        to, now, reading = line["to"], line["now"], self._reading
        reading.parts |= {int(key): part for key, part in line["shelved"].items()}
        reading.means = _answering(reading.of(Object, each) for each in line["answers"])
        event = reading.of(_DECIDERS[to][0], line["event"])
        try:
            found = WHOLE.of(self._handlers[to](event, now))
        except Exception as error:  # noqa: BLE001 - what it raises is what it answers
            found = in_words(error)
        recorded = line["raised"] if "raised" in line else line["gave"]
        return Step(self._count, to, now, event, recorded, orjson.loads(orjson.dumps(found)))


def _parsed(line: bytes) -> dict[str, Any]:
    """What a line says; nothing if it is torn."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _answering(answers: Iterator[Object]) -> delivery.Means:
    """Means that answer what was answered then, in that order."""

    def answer(name: str, *_: object) -> Any:
        known = next(answers, {"to": "nothing"})
        if known["to"] != name:
            raise Told(f"{name} is asked for where {known['to']} was")
        if "is" in known:
            return known["is"]
        raise AtollError(known["raised"]) if known["meant"] else Told(known["raised"])

    return means_by(lambda name: partial(answer, name))
