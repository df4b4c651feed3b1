"""Sees to it that a server's credentials are good, and says who makes what is missing.

What makes certificates is large, and a server needs it once a year: it can be left to a process of
its own, which ends when it is done.
"""

import json
import subprocess
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from atoll.apiserver.credentials import Credentials, is_known_good
from atoll.errors import Damaged
from atoll.runtime.programs import own_environment, own_program

Make = Callable[[Path, datetime, Sequence[str]], None]


def kept_credentials(
    directory: Path, now: datetime, more_names: Sequence[str], make: Make
) -> Credentials:
    """Credentials that are good for a while and for these names; what is not is made anew."""
    credentials = Credentials(directory)
    if not is_known_good(credentials, now, more_names):
        make(directory, now, more_names)
    return credentials


def make_here(directory: Path, now: datetime, more_names: Sequence[str]) -> None:
    """Make what is missing, in this process: it has more of it to do."""
    from atoll.apiserver.certificates import ensure_credentials

    ensure_credentials(directory, now, more_names=more_names)


def make_elsewhere(directory: Path, now: datetime, more_names: Sequence[str]) -> None:
    """Make what is missing in a process of its own: this one will not do it again for months."""
    ended = subprocess.run(
        own_program("atoll.apiserver.certifying", str(directory), now.isoformat(), *more_names),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=own_environment(),
        start_new_session=True,  # a Ctrl-C is for the server, which ends in order
        check=False,
    )
    told = json.loads(ended.stdout or b"{}")
    if "system" in told:
        raise OSError(*told["system"])
    if ended.returncode != 0:
        raise Damaged(told.get("damaged", f"no credentials could be made in {directory}"))
