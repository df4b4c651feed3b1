"""Options by which a server records who asked for what, by kube-apiserver's names."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from atoll.cli.failing import USAGE, CommandFailed
from atoll.config import NO_AUDIT, AuditChoice

_FILE = click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, resolve_path=True, path_type=Path)
_COUNT = click.IntRange(0)

# The field, its flags, its type, and what it is for.
_OPTIONS: tuple[tuple[str, tuple[str, ...], Any, str], ...] = (
    (
        "log",
        ("--audit-log", "--audit-log-path"),
        _NEW_FILE,
        "Record who asked for what in this file, one event per line.",
    ),
    (
        "policy",
        ("--audit-policy-file",),
        _FILE,
        "How much is recorded of which request. [default: who, what and when of each]",
    ),
    (
        "maxsize",
        ("--audit-log-maxsize",),
        _COUNT,
        "Put the file aside when it has so many megabytes. [default: 100]",
    ),
    (
        "maxbackup",
        ("--audit-log-maxbackup",),
        _COUNT,
        "Keep at most so many files put aside. [default: all]",
    ),
    (
        "maxage",
        ("--audit-log-maxage",),
        _COUNT,
        "Keep files put aside for at most so many days. [default: for ever]",
    ),
)


def audit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; it gets `audit`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **given: Any) -> Any:
        found = {name: given.pop(f"audit_{name}") for name, *_ in _OPTIONS}
        chosen = AuditChoice(**{name: each for name, each in found.items() if each is not None})
        if chosen.log is None and chosen != NO_AUDIT:
            raise CommandFailed("there is no --audit-log to which this would apply", code=USAGE)
        if chosen.policy is not None:
            _check(chosen.policy)
        return function(*args, audit=chosen, **given)

    for name, flags, kind, about in reversed(_OPTIONS):
        wrapped = click.option(*flags, f"audit_{name}", type=kind, help=about)(wrapped)
    return wrapped


def _check(policy: Path) -> None:
    """What is wrong with a policy is told before anything is started."""
    from atoll.apiserver.audit.policy import read_policy

    try:
        text = policy.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"the audit policy {policy} cannot be read: {error}") from error
    read_policy(text, str(policy))
