"""Which plane a command is about, and a client for it.

What is named by a flag counts; else the embedded instance, if it runs; else what $KUBECONFIG names.
A cluster that the user merely happens to have in $KUBECONFIG never wins over a running instance. A
context without a kubeconfig is one of the files that kubectl would read.
"""

import functools
import os
import shlex
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import click

from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.failing import CommandFailed, command
from atoll.cli.instance import running
from atoll.cli.options import together
from atoll.client.endpoint import Endpoint
from atoll.client.plain import PlainClient
from atoll.config import Config


@dataclass(frozen=True, slots=True)
class Plane:
    """The plane a command speaks to, and what the user has to say to mean it again."""

    client: PlainClient
    options: str = ""

    def command(self, words: str) -> str:
        """A command on this plane, as the user would type it."""
        return f"atoll {words}{self.options}"


def plane_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that name a plane; it gets the Plane they mean as `plane`."""

    @functools.wraps(function)
    def wrapped(
        *args: Any,
        kubeconfig: str | None,
        karmada_context: str | None,
        data_dir: str | None,
        **rest: Any,
    ) -> Any:
        plane = find_plane(kubeconfig, karmada_context, data_dir)
        with closing(plane.client):
            return function(*args, plane=plane, **rest)

    return _plane_options(wrapped)


_plane_options = together(
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Speak to the plane of this kubeconfig "
        "[default: the running instance, else $KUBECONFIG].",
    ),
    click.option(
        *("--karmada-context", "--context", "karmada_context"),
        metavar="NAME",
        help="Of the kubeconfig, this context [default: its current one].",
    ),
    data_dir_option,
)


def find_plane(kubeconfig: str | None, context: str | None, data_dir: str | None) -> Plane:
    """The plane that these options mean; CommandFailed if they mean none."""
    if data_dir is not None and (kubeconfig or context):
        raise CommandFailed("--data-dir names a plane of its own", "give either it or a kubeconfig")
    named = os.environ.get("KUBECONFIG", "")
    if kubeconfig or context:
        return _of_kubeconfig(kubeconfig or named or "~/.kube/config", kubeconfig, context)
    config = chosen(data_dir)
    note = running(config)
    if note is not None and note.url:
        options = "" if config.is_default else command(config, "").removeprefix("atoll ")
        return Plane(PlainClient(administrator(config, note.url)), options)
    if note is not None:
        raise CommandFailed("the server is still starting", "", command(config, "status"))
    if data_dir is None and named:
        return _of_kubeconfig(named, None, None)
    attempt = f"{command(config, 'up')}, or --kubeconfig FILE"
    raise CommandFailed("no server is running", "", attempt)


def administrator(config: Config, url: str) -> Endpoint:
    """A server of the running instance, as its administrator."""
    try:
        return Endpoint(
            url,
            ca=(config.pki_dir / "ca.crt").read_bytes(),
            certificate=(config.pki_dir / "admin.crt").read_bytes(),
            key=(config.pki_dir / "admin.key").read_bytes(),
        )
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
        raise CommandFailed(f"cannot speak to {url} as its administrator", why) from error


def _of_kubeconfig(files: str, named: str | None, context: str | None) -> Plane:
    # Only now: it reads YAML, which the running instance needs none of.
    from atoll.client.kubeconfig import read_kubeconfigs

    endpoint = read_kubeconfigs(files).endpoint(context, os.environ)
    options = f" --kubeconfig {shlex.quote(named)}" if named else ""
    options += f" --karmada-context {shlex.quote(context)}" if context else ""
    return Plane(PlainClient(endpoint), options)
