"""The options that say which instance a command is about."""

import os

import click

from atoll.config import ALL_PLUGINS, Config, read_config
from atoll.errors import Invalid, UsageError
from atoll.scheduling.features import Features

data_dir_option = click.option(
    "--data-dir",
    metavar="DIR",
    help="Where the instance keeps its data [default: $ATOLL_DATA_DIR, "
    "else $XDG_STATE_HOME/atoll/default, else ~/.local/state/atoll/default].",
)


def chosen(
    data_dir: str | None,
    *,
    host: str | None = None,
    port: int | None = None,
    fleet: str | None = None,
    feature_gates: str = "",
) -> Config:
    check_gates(feature_gates)
    try:
        return read_config(
            os.environ,
            data_dir=data_dir,
            host=host,
            port=port,
            fleet=fleet,
            feature_gates=feature_gates,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def check_gates(written: str) -> None:
    """UsageError if there are no such feature gates."""
    try:
        Features.of(written)
    except (ValueError, Invalid) as error:
        raise UsageError(str(error)) from error


def check_plugins(listed: str) -> None:
    """UsageError if the scheduler's plug-ins cannot be these, or one of them cannot be used."""
    from importlib.metadata import entry_points

    if listed == ALL_PLUGINS and not any(
        each.startswith("atoll.") for each in entry_points().groups
    ):
        return  # Atoll's own are in order; they are loaded by whoever needs them
    from atoll.extensions import plugins

    plugins(listed)
