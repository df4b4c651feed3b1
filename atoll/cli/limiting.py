"""Options of how much the API server does at once, by kube-apiserver's names where it has them."""

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from atoll.cli.timing import flag
from atoll.config import RequestLimits

_HELP = {
    "max_requests_inflight": "How many requests that read are served at once.",
    "max_mutating_requests_inflight": "How many requests that write are served at once.",
    "max_watches_per_user": "How many watches one user may have open.",
}


def request_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each of the RequestLimits; it gets `requests`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **given: Any) -> Any:
        limits = RequestLimits(**{name: given.pop(name) for name in _HELP})
        return function(*args, requests=limits, **given)

    for each in reversed(fields(RequestLimits)):
        wrapped = click.option(
            flag(each.name),
            type=click.IntRange(min=1),
            metavar="NUMBER",
            default=each.default,
            help=f"{_HELP[each.name]} [default: {each.default}]",
        )(wrapped)
    return wrapped
