"""One process per store: a lock beside the data file, and the name of who holds it.

The operating system lets go of the lock when its holder ends, however it ends, so there is nothing
to clean up after a crash. The file stays: removing it would let two processes hold two files.
"""

import fcntl
import os
from pathlib import Path

from atoll.errors import UsageError


def take_lock(data_file: Path) -> int:
    """Take the lock of a data file and give its descriptor; raises UsageError if it is held."""
    path = data_file.with_name(data_file.name + ".lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"cannot use {data_file}: {error.strerror} ({path})") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        by = f"process {holder}" if holder else "another process"
        raise UsageError(f"{data_file} is in use by {by}; stop it first") from error
    _sign(descriptor)
    return descriptor


def let_go(descriptor: int) -> None:
    os.close(descriptor)


def _sign(descriptor: int) -> None:
    """Say who holds the lock. A disk too full for that does not make the lock weaker."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        return
