"""Is an instance running, and what does it say of itself: a lock and a note in its directory.

The lock tells: the operating system releases it when its holder ends, however it ends. The note
beside it is believed only while the lock is held, so neither a killed server nor a process that got
its number later can mislead anyone.
"""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from atoll.cli.failing import CommandFailed, command, unusable
from atoll.config import Config


@dataclass(frozen=True, slots=True)
class Note:
    """What a running server writes down for the other commands. `url` is empty while it starts."""

    pid: int
    url: str = ""
    started: str = ""
    version: str = ""


def claim(config: Config) -> int:
    """Become the one server of this directory, until the descriptor is closed or we end."""
    try:
        config.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(config.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise unusable(config, error) from error
    if not _try_lock(descriptor, fcntl.LOCK_EX):
        os.close(descriptor)
        note = running(config)
        who = f"process {note.pid}" if note and note.pid else "another process"
        raise CommandFailed(f"{config.data_dir} is in use by {who}", "", command(config, "status"))
    try:
        write_note(config, Note(os.getpid()))
    except OSError as error:
        os.close(descriptor)
        raise unusable(config, error) from error
    return descriptor


def running(config: Config) -> Note | None:
    """The note of the server that is running; None if there is none."""
    return _read_note(config.state_file) if _is_held(config, config.lock_file) else None


def fleet_process(config: Config) -> int | None:
    """The process that runs the simulated members, 0 if it does not say; None if there is none."""
    if not _is_held(config, config.fleet_lock):
        return None
    return _read_note(config.fleet_note).pid


def write_note(config: Config, note: Note) -> None:
    draft = config.state_file.with_name(f".{config.state_file.name}.{os.getpid()}")
    draft.write_text(json.dumps(asdict(note)) + "\n")
    draft.replace(config.state_file)


def _is_held(config: Config, lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unusable(config, error) from error
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_note(path: Path) -> Note:
    """What the note says; that of a server which has just begun may not be there yet."""
    try:
        read = json.loads(path.read_bytes())
        texts = (str(read.get(key, "")) for key in ("url", "started", "version"))
        return Note(int(read["pid"]), *texts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Note(0)
