"""The options by which a user says what a cluster is, the same for every way to become a member."""

from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])


def place_options(function: F) -> F:
    """Give a command `cluster_provider`, `cluster_region` and `cluster_zones`."""
    for option in (
        click.option("--cluster-zones", multiple=True, help="Its zones, with commas between them."),
        click.option("--cluster-region", default="", help="Where it is, for spreading by region."),
        click.option(
            "--cluster-provider", default="", help="Who runs it, for spreading by provider."
        ),
    ):
        function = option(function)
    return function
