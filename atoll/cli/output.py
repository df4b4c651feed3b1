"""`-o`: the forms in which commands give their answer, in one place for all of them.

Objects and tables come in; text goes to standard output. JSON is exactly what the server said; YAML
is the same, loaded only when somebody asks for it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import click

from atoll.cli.printing import show, tell
from atoll.cli.tables import Column, fitting
from atoll.wire import Object

F = TypeVar("F", bound=Callable[..., object])

WIDE, NAME, JSON, YAML = "wide", "name", "json", "yaml"
DATA = (JSON, YAML)


def output_option(*forms: str) -> Callable[[F], F]:
    """The option -o with these forms beside the usual table."""
    what = f"As {', '.join(forms[:-1])} or {forms[-1]} instead of the usual text."
    return click.option("-o", "--output", type=click.Choice(forms), default=None, help=what)


def show_data(answer: object, output: str) -> None:
    """Print an answer as JSON or YAML."""
    if output == JSON:
        show(json.dumps(answer, indent=4, ensure_ascii=False))
    else:
        show(as_yaml(answer).rstrip("\n"))


def as_yaml(answer: object) -> str:
    import yaml

    class Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes a value that occurs twice twice: not every reader knows references."""

        def ignore_aliases(self, data: object) -> bool:
            return True

    written: str = yaml.dump(
        answer, Dumper=Plain, sort_keys=False, allow_unicode=True, default_flow_style=False
    )
    return written


def versioned(kind: str, **fields: object) -> Object:
    """An answer of a command's own making, in a form that programs can rely on."""
    return {"apiVersion": "cli.atoll.io/v1alpha1", "kind": kind, **fields}


def listed(objects: Iterable[Object]) -> Object:
    """Objects of any kind as one list, the way kubectl gives them."""
    items = list(objects)
    return {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}}


def terminal_width() -> int | None:
    """How wide the terminal is that we print on; None if it is none."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def show_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], output: str | None = None
) -> None:
    """Print a table; on a narrow terminal without its least important columns, and say so."""
    found, left_out = fitting(columns, rows, None if output == WIDE else terminal_width())
    for line in found:
        show(line)
    if left_out:
        tell(f"(not shown for want of width: {', '.join(left_out)}; all of it: -o wide)")
