"""Options of a log's form and of how much it tells, by the names that Kubernetes has for them."""

import functools
from collections.abc import Callable
from typing import Any

import click

from atoll.config import USUAL_LOGGING, LogChoice

FORMS = ("text", "json", "logfmt")


def log_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--logging-format` and `-v`; it gets `logs`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **given: Any) -> Any:
        logs = LogChoice(format=given.pop("logging_format"), verbosity=given.pop("verbosity"))
        return function(*args, logs=logs, **given)

    for option in (
        click.option(
            *("-v", "--v", "verbosity"),
            type=click.IntRange(0, 10),
            metavar="NUMBER",
            default=USUAL_LOGGING.verbosity,
            help="How much the log tells: from 4 on also what helps to find a mistake [default: 0]",
        ),
        click.option(
            "--logging-format",
            type=click.Choice(FORMS),
            default=USUAL_LOGGING.format,
            help="The form of the log's lines [default: text]",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped
