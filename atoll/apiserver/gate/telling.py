"""What is logged in a gate, as it goes over the line to the core, whose log it belongs into.

A record comes in at one end and is written at the other, with its values by their names. Where a
log goes, and in which form it is written, is not known here.
"""

import logging
from collections.abc import Mapping

from atoll.apiserver.gate.frames import Message

_STACK = "stack"


def told(record: logging.LogRecord) -> Message:
    """A record as plain values: how bad, by whom, the sentence, and what belongs into it."""
    text, values = record.msg, {}
    if isinstance(record.args, Mapping):
        values = {name: _plain(value) for name, value in record.args.items()}
    else:
        text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and record.exc_info:
        text = text if values else text.replace("%", "%%")
        values.setdefault("err", f"{type(error).__name__}: {error}")
        values[_STACK] = logging.Formatter().formatException(record.exc_info)
    return record.levelno, record.name, text, values


def write(message: Message) -> None:
    """Write what was told into the log of this process."""
    level, name, text, values = message
    logger = logging.getLogger(name)
    if logger.isEnabledFor(level):
        record = logger.makeRecord(name, level, "", 0, text, (values,) if values else (), None)
        record.exc_text = values.get(_STACK)
        logger.handle(record)


def _plain(value: object) -> object:
    """A value that can be sent, and still be formatted as a number if it is one."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    return str(value)
