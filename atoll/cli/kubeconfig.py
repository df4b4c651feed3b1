"""`atoll kubeconfig`: how other tools reach the instance."""

from pathlib import Path

import click

from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.failing import CommandFailed, command
from atoll.cli.printing import show
from atoll.config import Config

_cluster_option = click.option(
    "--cluster", metavar="NAME", help="Of this simulated member, instead of the plane."
)


@click.group(help="Show where the kubeconfig is, or what is in it.")
def kubeconfig() -> None:
    """Needs no running server: the file stays, and the port is kept if it is free."""


@kubeconfig.command(help="Print the path: export KUBECONFIG=$(atoll kubeconfig path)")
@data_dir_option
@_cluster_option
def path(data_dir: str | None, cluster: str | None) -> None:
    config = chosen(data_dir)
    found = _file(config, cluster)
    _read(config, found)
    show(str(found))


@kubeconfig.command("print", help="Print the content, credentials included.")
@data_dir_option
@_cluster_option
def print_(data_dir: str | None, cluster: str | None) -> None:
    config = chosen(data_dir)
    show(_read(config, _file(config, cluster)).rstrip("\n"))


def _file(config: Config, cluster: str | None) -> Path:
    if cluster is None:
        return config.kubeconfig
    found = sorted(each.parent.name for each in config.members_dir.glob("*/kubeconfig"))
    if cluster not in found:
        there = f"there are {', '.join(found)}" if found else "there are none"
        attempt = "" if found else command(config, "up --fleet tiny")
        raise CommandFailed(f'there is no simulated member "{cluster}"', there, attempt)
    return config.member(cluster).kubeconfig


def _read(config: Config, path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        why = "the instance has never been started"
    except OSError as error:
        why = error.strerror or str(error)
    raise CommandFailed(f"there is no {path}", why, command(config, "up"))
