"""What the deciders of a run were told and what they answered, line by line, to be replayed.

Handlers of deciders come in, and go out as handlers of which every call is told to a `write`. Where
an event brings means to ask with, what these answer is recorded. Recording never gets in the way:
what cannot be recorded ends it, with a word in the log. Where lines go is not known here.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from atoll import __version__
from atoll.control.delivery.decide import events as delivery
from atoll.control.delivery.decide.reflecting import Questions
from atoll.control.notation import Shelf, Writing
from atoll.effects import Effects, new_secret
from atoll.errors import AtollError, UsageError
from atoll.runtime.children import report_failure
from atoll.runtime.log_file import LogFile, Rotation
from atoll.scheduling.setting import Setting

log = logging.getLogger("atoll.recording")

FORMAT = 1
_BEGINS = b'{"atoll":'
BYTES_MOST = 256 * 1024 * 1024
_WAITING_MAX = 1_000_000

Event = TypeVar("Event")
Gave = TypeVar("Gave")


class Told(Exception):
    """An error that was recorded, in its words."""


def in_words(error: Exception) -> str:
    return str(error) if isinstance(error, Told) else f"{type(error).__name__}: {error}"


@contextmanager
def recorded(file: Path, effects: Effects) -> "Iterator[Recording]":
    """A recording at the end of a file; UsageError if that cannot be, or is something else."""
    open_file = partial(LogFile, what="recording", waiting_max=_WAITING_MAX)
    try:
        if file.exists():
            with file.open("rb") as there:
                begins = there.read(len(_BEGINS))
            if not _BEGINS.startswith(begins):
                raise UsageError(f"{file} is no recording, and is left as it is; name another file")
        lines = open_file(file, Rotation(), effects.now)
    except OSError as error:
        raise UsageError(f"the recording {file} cannot be written: {error}") from error
    if size := file.stat().st_size:
        lines.write(b"\n")  # whoever wrote here before may have been killed within a line
    try:
        yield Recording(lines.write, BYTES_MOST - size)
    finally:
        lines.close()


class Recording:
    """Tells `write` of what happens, in lines, so many bytes at most."""

    def __init__(self, write: Callable[[bytes], None], bytes_most: int = BYTES_MOST) -> None:
        key = new_secret().encode()
        self._write = write
        self._left = bytes_most
        self._count, self._is_over = 0, False
        self._shelf, self._whole = Shelf(key), Writing(key)
        self._put({"atoll": __version__, "recording": FORMAT})

    def tap(
        self, decider: str, handle: Callable[[Event, float], Gave], **made_with: object
    ) -> Callable[[Event, float], Gave]:
        """The handler of a decider that is made now, with this; whoever calls it is recorded."""
        known = {key: _setting(each) for key, each in made_with.items()}
        self._put({"begins": decider, "with": known})

        def tapped(event: Event, now: float) -> Gave:
            answers: list[Any] = []
            note = partial(self._note, decider, now, event, answers)
            try:
                gave = handle(_overheard(event, answers), now)
            except Exception as error:
                note(raised=in_words(error))
                raise
            note(gave=gave)
            return gave

        return tapped

    def _note(
        self, decider: str, now: float, event: object, answers: list[Any], **came: object
    ) -> None:
        if self._is_over:
            return
        try:
            self._count += 1
            told = {"event": self._shelf.of(event), "answers": [*map(self._shelf.put, answers)]}
            fresh, self._shelf.fresh = self._shelf.fresh, {}
            line = {"n": self._count, "to": decider, "now": now, **told, "shelved": fresh}
            self._put({**line, **{key: self._whole.of(each) for key, each in came.items()}})
        except Exception as error:  # noqa: BLE001 - the run itself goes on
            self._is_over = True
            report_failure("recording", error)

    def _put(self, line: dict[str, Any]) -> None:
        written = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        if not self._is_over and len(written) > self._left:
            self._is_over = True
            log.warning("The recording ends at %(most)d MiB", {"most": BYTES_MOST >> 20})
        if not self._is_over:
            self._left -= len(written)
            self._write(written)


def _setting(made_with: object) -> object:
    """How a scheduler is set up, in words by which it can be set up so again."""
    if not isinstance(made_with, Setting):
        return made_with
    return {"features": asdict(made_with.features), "plugins": made_with.plugins.names}


def means_by(way: Callable[[str], Callable[..., Any]]) -> delivery.Means:
    """Means of which each is had by its name."""
    return delivery.Means(way("retain"), Questions(way("reflect"), way("health")), way("owners"))


def _overheard(event: Any, answers: list[Any]) -> Any:
    """An event whose means note what they answer."""
    if not isinstance(event, delivery.Looked):
        return event
    means = event.means
    questions = means.questions

    def ask(name: str, *about: Any) -> Any:
        asked: Any = questions if hasattr(questions, name) else means
        try:
            answer = getattr(asked, name)(*about)
        except Exception as error:
            is_meant = isinstance(error, AtollError)
            words = str(error) if is_meant else in_words(error)
            answers.append({"to": name, "raised": words, "meant": is_meant})
            raise
        answers.append({"to": name, "is": answer})
        return answer

    return replace(event, means=means_by(lambda name: partial(ask, name)))
