"""Spans of time as options: Go's durations, and when clusters are believed or emptied."""

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from atoll.config import USUAL_TIMES, Times
from atoll.model.duration import parse

_HELP = {
    "cluster_status_update_frequency": "How often the state of a cluster is asked for.",
    "cluster_failure_threshold": "How long a cluster must fail before it is not ready.",
    "cluster_success_threshold": "How long it must answer before it is ready again.",
    "cluster_lease_duration": "How long the lease of a cluster that pulls is good for.",
    "cluster_monitor_period": "How often it is looked whether there is news of the clusters.",
    "cluster_monitor_grace_period": "Without news for so long, a cluster is unknown.",
    "cluster_startup_grace_period": "The same, for one that has just been added.",
    "graceful_eviction_timeout": "How long an old copy may wait for the new one to be healthy.",
    "resource_eviction_rate": "How many workloads may be evicted in a second.",
}


class Span(click.ParamType[float]):
    """A span of time, in seconds; `bare` numbers are seconds too, and `lasting` ones are no 0."""

    name = "duration"

    def __init__(self, *, bare: bool = False, lasting: bool = False) -> None:
        self._bare = bare
        self._lasting = lasting

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        found = parse(value)
        if found is None and self._bare:  # only then: 2m and an s would be milliseconds
            found = parse(f"{value}s")
        if found is None:
            self.fail(f'"{value}" is no span of time; write for example 10s or 1m30s', param, ctx)
        if self._lasting and not found:
            self.fail(f'"{value}" must be longer than nothing', param, ctx)
        return found


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def times_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each of the Times, by Karmada's names; it gets `times`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **given: Any) -> Any:
        chosen = {name: given.pop(name) for name in _HELP}
        times = {name: value for name, value in chosen.items() if value is not None}
        return function(*args, times=Times(**times), **given)

    for each in reversed(fields(Times)):
        usual = getattr(USUAL_TIMES, each.name)
        wrapped = click.option(
            flag(each.name),
            type=click.FloatRange(min=0.0) if _is_rate(each.name) else _span(each.name),
            metavar="NUMBER" if _is_rate(each.name) else "DURATION",
            help=f"{_HELP[each.name]} [default: {_written(each.name, usual)}]",
        )(wrapped)
    return wrapped


def _is_rate(name: str) -> bool:
    return name.endswith("_rate")


def _span(name: str) -> Span:
    return Span(lasting=name.endswith(("_frequency", "_period")))


def _written(name: str, value: float) -> str:
    text = repr(value).removesuffix(".0")
    return text if _is_rate(name) else f"{text}s"
