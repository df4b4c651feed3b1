"""Where a server's log goes, and in which form: the lines that Kubernetes' own parts write.

I1116 10:00:00.123456    4711 atoll.http] Dropped a client that does not read what it asked for
"""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_BYTES_MAX = 10 * 1024 * 1024
OLD_FILES = 2

_LETTERS = {"DEBUG": "D", "INFO": "I", "WARNING": "W", "ERROR": "E", "CRITICAL": "F"}


class _Lines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__(
            "%(letter)s%(asctime)s.%(micros)06d %(process)7d %(name)s] %(message)s",
            "%m%d %H:%M:%S",
        )

    def format(self, record: logging.LogRecord) -> str:
        record.letter = _LETTERS.get(record.levelname, "I")
        record.micros = int(record.created % 1 * 1_000_000)
        return super().format(record)


def log_to_terminal() -> None:
    _use(logging.StreamHandler())


def log_to_file(path: Path) -> None:
    """Write to this file; when it is full, it is put aside, and the oldest goes."""
    _use(RotatingFileHandler(path, maxBytes=FILE_BYTES_MAX, backupCount=OLD_FILES, delay=True))


def _use(handler: logging.Handler) -> None:
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
