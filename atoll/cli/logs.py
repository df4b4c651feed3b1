"""Where a process's log goes, and in which form: one line for each event, whatever it says.

I1116 10:00:00.123456    4711 atoll.members] Cluster east does not answer: no answer within 30 s
{"ts":"2026-11-16T10:00:00.123456Z","level":"warning","logger":"atoll.members","msg":...}
ts=2026-11-16T10:00:00.123456Z level=warning logger=atoll.members msg="Cluster east ..." cluster=...

What an event is about are values with names (`log.info("Cluster %(cluster)s ...", {...})`), which
the last two forms have one by one, next to the sentence.
"""

import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from atoll.config import USUAL_LOGGING, LogChoice
from atoll.model.action import Ref

FILE_BYTES_MAX = 10 * 1024 * 1024
OLD_FILES = 2
DEBUG_FROM = 4  # the level at which Kubernetes' parts tell what helps to find a mistake

_LETTERS = {"DEBUG": "D", "INFO": "I", "WARNING": "W", "ERROR": "E", "CRITICAL": "F"}
_BARE = re.compile(r"[^\s\"=\\]+")
_OWN = ("ts", "level", "logger", "msg")


class _Text(logging.Formatter):
    """The lines that Kubernetes' own parts write."""

    def __init__(self) -> None:
        super().__init__(
            "%(letter)s%(asctime)s.%(micros)06d %(process)7d %(name)s] %(message)s", "%m%d %H:%M:%S"
        )

    def format(self, record: logging.LogRecord) -> str:
        record.letter = _LETTERS.get(record.levelname, "I")
        record.micros = int(record.created % 1 * 1_000_000)
        return super().format(record).replace("\n", "\\n")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields_of(record), ensure_ascii=False, separators=(",", ":"))


class _Logfmt(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{name}={_shown(value)}" for name, value in fields_of(record).items())


FORMS: Mapping[str, type[logging.Formatter]] = {"text": _Text, "json": _Json, "logfmt": _Logfmt}


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """All that an event says, by name: when, how bad, by whom, the sentence, and its values."""
    at = datetime.fromtimestamp(record.created, UTC)
    found: dict[str, object] = {
        "ts": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "msg": record.getMessage(),
    }
    values = record.args if isinstance(record.args, Mapping) else {}
    for name, value in values.items():
        found[f"{name}_" if name in _OWN else name] = _plain(value)
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        found.setdefault("err", f"{type(error).__name__}: {error}")
        found["stack"] = logging.Formatter().formatException(record.exc_info)
    return found


def _plain(value: object) -> object:
    """A value as JSON has it; an object is named by its namespace and name."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Ref):
        return f"{value.namespace}/{value.name}" if value.namespace else value.name
    return str(value)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def log_to_terminal(choice: LogChoice = USUAL_LOGGING) -> None:
    _use(logging.StreamHandler(), choice)


def log_to_file(path: Path, choice: LogChoice = USUAL_LOGGING) -> None:
    """Write to this file; when it is full, it is put aside, and the oldest goes."""
    handler = RotatingFileHandler(path, maxBytes=FILE_BYTES_MAX, backupCount=OLD_FILES, delay=True)
    _use(handler, choice)


def _use(handler: logging.Handler, choice: LogChoice) -> None:
    handler.setFormatter(FORMS[choice.format]())
    level = logging.DEBUG if choice.verbosity >= DEBUG_FROM else logging.INFO
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("atoll").setLevel(level)  # what others tell in detail helps nobody here
