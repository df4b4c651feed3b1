"""`atoll backup` and `atoll restore`: copies of all objects, and how they come back.

A running server makes the copy itself and sends it over; a stopped one's store is copied here. A
restore needs the server stopped, and puts what was there aside first.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from atoll.cli.asking import asking
from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.failing import CommandFailed, command, unusable
from atoll.cli.instance import Note, claim, running
from atoll.cli.printing import show, size, tell
from atoll.config import Config
from atoll.effects import system_now

BACKUP_TIMEOUT_S = 300.0
PIECE_BYTES = 1024 * 1024


@click.command(help="Copy all objects to FILE, while the server runs or not.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_dir_option
def backup(file: Path, data_dir: str | None) -> None:
    config = chosen(data_dir)
    if file.exists():
        raise CommandFailed(f"{file} exists", "a backup overwrites nothing", "another name")
    note = running(config)
    with _writing_to(file):
        if note is None:
            _copy_stopped(config, file.absolute())
        else:
            _copy_running(config, note, file)
    show(f"Backed up {config.data_dir} to {file} ({size(file.stat().st_size)})")


@contextmanager
def _writing_to(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandFailed(f"cannot write {file}", error.strerror or str(error)) from error


def _copy_stopped(config: Config, file: Path) -> None:
    from atoll.store.backup import back_up_stopped

    if not config.store_file.exists():
        raise CommandFailed(
            f"there is nothing to back up in {config.data_dir}", "", command(config, "up")
        )
    back_up_stopped(config.store_file, file)


def _copy_running(config: Config, note: Note, file: Path) -> None:
    if not note.url:
        raise CommandFailed("the server is still starting", "", command(config, "status"))
    part = file.with_name(f"{file.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with (
            open(descriptor, "wb") as target,
            asking(config, note.url, "/atoll/backup", BACKUP_TIMEOUT_S) as source,
        ):
            shutil.copyfileobj(source, target, PIECE_BYTES)
            target.flush()
            os.fsync(target.fileno())
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)


@click.command(help="Put the backup FILE in the place of the instance's objects.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_dir_option
@click.option("--force", is_flag=True, help="Replace what is there; a copy of it is kept.")
def restore(file: Path, data_dir: str | None, *, force: bool) -> None:
    config = chosen(data_dir)
    if running(config) is not None:
        raise CommandFailed("the server is running", "", command(config, "down"))
    if config.store_file.exists() and not force:
        raise CommandFailed(
            f"{config.data_dir} already has objects in it",
            "restoring would replace them",
            command(config, f"restore {file} --force"),
        )
    descriptor = claim(config)
    try:
        _put_aside(config)
        _restore(config, file)
    finally:
        config.state_file.unlink(missing_ok=True)
        os.close(descriptor)


def _restore(config: Config, file: Path) -> None:
    from atoll.store import backup as copies

    revision = copies.restore(file, config.store_file, overwrite=True)
    show(f"Restored {file} to {config.data_dir}; it goes on at revision {revision}")
    show(f"Next: {command(config, 'up')}")


def _put_aside(config: Config) -> None:
    """Keep the store as it is, sound or not, under another name."""
    stamp = system_now().strftime("%Y%m%dT%H%M%SZ")
    for suffix in ("", "-wal"):
        source = config.store_file.with_name(config.store_file.name + suffix)
        if not source.exists():
            continue
        target = config.data_dir / f"{config.store_file.name}.before-{stamp}{suffix}"
        try:
            shutil.copy2(source, target)
        except OSError as error:
            raise unusable(config, error) from error
        if not suffix:
            tell(f"What was there is kept as {target}")
