"""What the commands by which a cluster leaves have in common: options, the way to it, the end."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from atoll.cli.failing import TIMEOUT, CommandFailed
from atoll.cli.options import Span
from atoll.cli.printing import tell
from atoll.cli.reaching import Plane
from atoll.client.kubeconfig import read_kubeconfigs
from atoll.client.plain import PlainClient
from atoll.members.unjoining import Parting

Command = TypeVar("Command", bound=Callable[..., Any])


def parting_options(who: str) -> Callable[[Command], Command]:
    """How long to wait for `who` has to be done with a cluster, and what then."""

    def with_options(command: Command) -> Command:
        for option in (
            click.option("--dry-run", is_flag=True, help="Only say what would be done."),
            click.option("--yes", is_flag=True, help="Do not ask."),
            click.option(
                "--force", is_flag=True, help="After that, forget it without taking anything back."
            ),
            click.option(
                "--wait",
                "wait_s",
                type=Span(bare=True, lasting=True),
                metavar="TIME",
                default="60s",
                show_default=True,
                help=f"Wait so long for {who} to be done with it.",
            ),
        ):
            command = option(command)
        return command

    return with_options


def confirm(question: str, *, is_sure: bool) -> None:
    """Ask whoever sits there, unless they said so before."""
    if sys.stdin.isatty() and not is_sure:
        click.confirm(question, abort=True, err=True)


@contextmanager
def way_to(files: str | None, context: str | None, name: str = "") -> Iterator[PlainClient | None]:
    """The way to the cluster, if it was said; by the context of its name where none was said."""
    if files is None:
        yield None
        return
    kubeconfig = read_kubeconfigs(files)
    chosen = context or (name if name in kubeconfig.contexts else None)
    member = PlainClient(kubeconfig.endpoint(chosen, os.environ))
    try:
        yield member
    finally:
        member.close()


def tell_parting(parting: Parting, plane: Plane, command: str, name: str) -> None:
    """Say what is left where; CommandFailed if the plane still has the cluster."""
    for note in parting.notes:
        tell(f" ! {note}")
    if not parting.is_gone:
        attempt = plane.command(f"{command} {name} --force")
        raise CommandFailed(f"cluster({name}) is not gone yet", "", attempt, code=TIMEOUT)
