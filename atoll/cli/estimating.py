"""Options by which the scheduler asks the estimators of clusters, by Karmada's names."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.timing import Span
from atoll.config import NO_ESTIMATORS, EstimatorChoice

_FILE = click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path)
_PORT = click.IntRange(1, 65535)
_SPAN = Span(lasting=True)
_USUAL = NO_ESTIMATORS

# The field, its flag, its type (None: it is said or not), and what it is for.
_OPTIONS: tuple[tuple[str, str, Any, str], ...] = (
    (
        "enabled",
        "--enable-scheduler-estimator",
        None,
        "Ask clusters' estimators how much fits; `atoll estimator` is one.",
    ),
    (
        "timeout",
        "--scheduler-estimator-timeout",
        _SPAN,
        "How long one may take to answer. [default: 3s]",
    ),
    (
        "namespace",
        "--scheduler-estimator-service-namespace",
        str,
        f"Where the Services are that say where they are. [default: {_USUAL.namespace}]",
    ),
    (
        "service_prefix",
        "--scheduler-estimator-service-prefix",
        str,
        f"Their names begin so, then -CLUSTER. [default: {_USUAL.service_prefix}]",
    ),
    (
        "port",
        "--scheduler-estimator-port",
        _PORT,
        f"The port in those Services. [default: {_USUAL.port}]",
    ),
    ("ca", "--scheduler-estimator-ca-file", _FILE, "Who vouches for estimators."),
    ("certificate", "--scheduler-estimator-cert-file", _FILE, "The certificate to show them."),
    ("key", "--scheduler-estimator-key-file", _FILE, "The key of that certificate."),
    (
        "skip_verification",
        "--insecure-skip-estimator-verify",
        None,
        "Use TLS, and believe any certificate.",
    ),
    (
        "disabled_in_pull_mode",
        "--disable-scheduler-estimator-in-pull-mode",
        None,
        "Do not ask those of clusters that pull.",
    ),
)


def estimator_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; it gets `estimators`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **given: Any) -> Any:
        found = {name: given.pop(name) for name in _destinations()}
        said = {name.removeprefix("estimators_"): each for name, each in found.items()}
        chosen = EstimatorChoice(**{name: each for name, each in said.items() if each})
        if (chosen.certificate is None) != (chosen.key is None):
            what = "--scheduler-estimator-cert-file and --scheduler-estimator-key-file go together"
            raise CommandFailed(what, code=USAGE)
        return function(*args, estimators=chosen, **given)

    for name, flag, kind, about in reversed(_OPTIONS):
        how = {"is_flag": True} if kind is None else {"type": kind}
        wrapped = click.option(flag, f"estimators_{name}", help=about, **how)(wrapped)
    return wrapped


def _destinations() -> list[str]:
    return [f"estimators_{name}" for name, *_ in _OPTIONS]
