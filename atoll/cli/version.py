"""`atoll version`: what this is."""

import json
import platform

import click

from atoll import __version__
from atoll.cli.printing import show


@click.command(help="Show the version.")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text")
def version(output: str) -> None:
    if output == "json":
        show(json.dumps({"version": __version__, "python": platform.python_version()}))
    else:
        show(f"atoll {__version__} (Python {platform.python_version()})")
