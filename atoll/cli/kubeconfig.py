"""`atoll kubeconfig`: how other tools reach the instance."""

import click

from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.failing import CommandFailed, command
from atoll.cli.printing import show
from atoll.config import Config


@click.group(help="Show where the kubeconfig is, or what is in it.")
def kubeconfig() -> None:
    """Needs no running server: the file stays, and the port is kept if it is free."""


@kubeconfig.command(help="Print the path: export KUBECONFIG=$(atoll kubeconfig path)")
@data_dir_option
def path(data_dir: str | None) -> None:
    config = chosen(data_dir)
    _read(config)
    show(str(config.kubeconfig))


@kubeconfig.command("print", help="Print the content, credentials included.")
@data_dir_option
def print_(data_dir: str | None) -> None:
    show(_read(chosen(data_dir)).rstrip("\n"))


def _read(config: Config) -> str:
    try:
        return config.kubeconfig.read_text()
    except FileNotFoundError:
        why = "the instance has never been started"
    except OSError as error:
        why = error.strerror or str(error)
    raise CommandFailed(f"there is no {config.kubeconfig}", why, command(config, "up"))
