"""How a process ends that a user has started: what goes wrong on purpose is told in one line."""

import os
import sys
from collections.abc import Callable

from atoll.cli.failing import ERROR, CommandFailed
from atoll.cli.printing import CannotWrite, tell_error
from atoll.errors import AtollError


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
