"""Options of where traces go; what OpenTelemetry's own names in the environment say is usual."""

import functools
import os
from collections.abc import Callable
from typing import Any

import click

from atoll.cli.failing import USAGE, CommandFailed
from atoll.config import read_tracing


def tracing_options(service: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `--tracing-endpoint` and `--tracing-sampling-ratio`; it gets `tracing`.

    `service` is what its process is called in traces unless the environment says otherwise.
    """

    def options(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **given: Any) -> Any:
            endpoint, ratio = given.pop("tracing_endpoint"), given.pop("tracing_sampling_ratio")
            try:
                choice = read_tracing(os.environ, endpoint, ratio, service)
            except ValueError as error:
                attempt = "http://127.0.0.1:4318"
                raise CommandFailed(str(error), "", attempt, code=USAGE) from error
            return function(*args, tracing=choice, **given)

        for option in (
            click.option(
                "--tracing-sampling-ratio",
                type=click.FloatRange(0, 1),
                metavar="PART",
                default=1.0,
                help="The part of the changes that is traced, from 0 to 1 [default: 1].",
            ),
            click.option(
                "--tracing-endpoint",
                metavar="URL",
                help="A collector of OpenTelemetry to which is told, by OTLP over HTTP, how changes"
                " get to members [default: $OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere].",
            ),
        ):
            wrapped = option(wrapped)
        return wrapped

    return options
