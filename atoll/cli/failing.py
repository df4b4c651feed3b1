"""How a command ends badly: one line that says what, why, and what to try; and an exit code.

0 done   1 error   2 wrong usage   124 out of time   130 interrupted
"""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from atoll.cli.printing import CannotWrite, tell_error
from atoll.config import Config
from atoll.errors import AtollError

ERROR = 1
USAGE = 2
TIMEOUT = 124
INTERRUPTED = 130


class CommandFailed(AtollError):
    """The command could not do what it was asked; the user is told in one line."""

    def __init__(self, what: str, why: str = "", attempt: str = "", *, code: int = ERROR) -> None:
        parts = [what, why, f"try: {attempt}" if attempt else ""]
        # A question ends with its own mark.
        super().__init__("; ".join(part for part in parts if part).replace("?; ", "? "))
        self.code = code


def command(config: Config, words: str) -> str:
    """A command on this instance, as the user would type it."""
    if config.is_default:
        return f"atoll {words}"
    return f"atoll {words} --data-dir {shlex.quote(str(config.data_dir))}"


def unusable(config: Config, error: OSError) -> CommandFailed:
    """The data directory, or something in it, cannot be used."""
    reason = (error.strerror or str(error)).lower()
    where = error.filename or config.data_dir
    return CommandFailed(
        f"cannot use {config.data_dir}",
        f"{where}: {reason}" if Path(where) != config.data_dir else reason,
        "atoll up --data-dir DIR, with a directory that you may write to",
    )


def need_terminal(nothing_done: str, attempt: str) -> None:
    """CommandFailed if there is nobody to ask."""
    if not sys.stdin.isatty():
        raise CommandFailed(nothing_done, "there is no terminal to ask on", attempt, code=USAGE)


def exit_code(work: Callable[[], int]) -> int:
    """Do it, tell the user why it could not be done, and give the code to end with."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called us, who so wants to hear nothing
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
    try:
        return work()
    except CommandFailed as error:
        tell_error(str(error))
        return error.code
    except BrokenPipeError:
        # Whoever read our output has enough. Python must not try to flush it at exit.
        sys.stdout = None
        return ERROR
    except AtollError as error:
        if isinstance(error, CannotWrite):
            sys.stdout = None  # as above
        tell_error(str(error))
        return ERROR
