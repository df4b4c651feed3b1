"""`atoll down`: stop the server in good order, and, if asked, remove what it kept."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import click

from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.failing import TIMEOUT, CommandFailed, command, need_terminal, unusable
from atoll.cli.instance import Note, fleet_process, running
from atoll.cli.printing import show, tell
from atoll.config import Config

LOOK_EVERY_S = 0.02
FORCE_AFTER_S = 5.0


@click.command(help="Stop the server. Data is kept, unless --purge is given.")
@data_dir_option
@click.option("--timeout", default=30.0, show_default=True, help="Seconds to wait for the end.")
@click.option("--force", is_flag=True, help="Kill it if it does not stop; no stored data is lost.")
@click.option("--purge", is_flag=True, help="Remove all data of the instance afterwards.")
@click.option("--yes", is_flag=True, help="Do not ask before removing data.")
def down(data_dir: str | None, timeout: float, *, force: bool, purge: bool, yes: bool) -> None:
    config = chosen(data_dir)
    doomed = _confirm_purge(config, yes=yes) if purge else []
    note = running(config)
    if note is None:
        tell(f"atoll is not running · data in {config.data_dir}")
    else:
        _stop(config, note, timeout, force=force)
    _see_fleet_end(config, timeout, force=force)
    for path in doomed:
        _remove(config, path)
    if purge:
        show(f"Removed the data in {config.data_dir}")
    elif note is not None:
        show(f"atoll is stopped · data kept in {config.data_dir}")


def _stop(config: Config, note: Note, timeout_s: float, *, force: bool) -> None:
    if not note.pid:
        raise CommandFailed(
            "cannot tell which process is running", f"{config.state_file} cannot be read"
        )
    started = time.monotonic()
    _signal(note.pid, signal.SIGTERM)

    def server() -> int | None:
        return None if running(config) is None else note.pid

    if not _ends(server, "", timeout_s, force=force):
        what = f"process {note.pid} has not stopped within {timeout_s:g} s"
        attempt = command(config, "down --force")
        raise CommandFailed(what, "it may still be writing", attempt, code=TIMEOUT)
    tell(f"Stopped in {time.monotonic() - started:.1f} s")


def _see_fleet_end(config: Config, timeout_s: float, *, force: bool) -> None:
    """Wait for the process of the simulated members: it ends by itself when the server has."""
    members = " of the simulated members"
    if not _ends(lambda: fleet_process(config), members, timeout_s, force=force):
        what = f"the simulated members have not stopped within {timeout_s:g} s"
        attempt = command(config, "down --force")
        raise CommandFailed(what, "they may still be writing", attempt, code=TIMEOUT)


def _ends(look: Callable[[], int | None], of: str, timeout_s: float, *, force: bool) -> bool:
    """Whether a process ends in time; one that does not is killed, if that is wished."""
    if _ends_within(look, min(timeout_s, FORCE_AFTER_S) if force else timeout_s):
        return True
    pid = look()
    if not (pid and force):
        return False
    tell(f"Process {pid}{of} does not stop; killing it")
    _signal(pid, signal.SIGKILL)
    return _ends_within(look, FORCE_AFTER_S)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise CommandFailed(f"cannot stop process {pid}", "it belongs to another user") from error


def _ends_within(look: Callable[[], object | None], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while look() is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def _confirm_purge(config: Config, *, yes: bool) -> list[Path]:
    """What would be removed, after the user has seen it and agreed. Only what is ours."""
    ours = [config.pki_dir, config.kubeconfig, config.port_file, config.passing_dir]
    ours += [config.fleet_file, config.members_dir, config.faults.data_dir]
    patterns = ("store.db*", "atoll.log*", "server.*", ".server.*", "fleet.*", ".fleet.*")
    found = [path for path in ours if path.exists()]
    for pattern in patterns:
        found += sorted(config.data_dir.glob(pattern))
    if not found:
        return []
    tell(f"This removes, in {config.data_dir}: {', '.join(path.name for path in found)}")
    if not yes:
        need_terminal("nothing was removed", command(config, "down --purge --yes"))
        click.confirm("Remove them for good?", abort=True, err=True)
    return found


def _remove(config: Config, path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if not any(config.data_dir.iterdir()):
            config.data_dir.rmdir()
    except OSError as error:
        raise unusable(config, error) from error
