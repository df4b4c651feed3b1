"""Options that several commands have, each said once.

A group of options comes to a command as one value: the choice that they make together. Names are
those of Karmada, Kubernetes and OpenTelemetry where these have them.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from atoll import config
from atoll.cli.failing import USAGE, CommandFailed
from atoll.dialects.karmada import names
from atoll.model.duration import parse

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[str], Callable[[Any], Any]]
"""An option, once the name of its value is known."""

LOG_FORMATS = ("text", "json", "logfmt")
FILE = click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path)


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


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """All of these options, in this order."""

    def with_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


def grouped(
    into: str, make: Callable[..., Any], **options: Option
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """These options; the command gets what is made of them, as `into`."""

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:
            said = {name: given.pop(f"{into}_{name}") for name in options}
            return command(*args, **{into: make(**said)}, **given)

        listed = (each(f"{into}_{name}") for name, each in options.items())
        return together(*listed)(wrapped)

    return with_options


def option(*flags: str, **how: Any) -> Option:
    """An option of a group."""
    return lambda name: click.option(*flags, name, **how)


def listed(_: object, __: object, values: tuple[str, ...]) -> tuple[str, ...]:
    """The callback of an option whose values are separated by commas, given once or often."""
    return tuple(each.strip() for each in ",".join(values).split(",") if each.strip())


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


# Single ones.


def way_options(about: str, of: str = "") -> Callable[[Command], Command]:
    """The way to a server, by a file and a context; `of` goes before the names of both."""
    context = "Its context [default: the current one]."
    return together(
        click.option(f"--{of}kubeconfig", metavar="FILE", help=about),
        click.option(f"--{of}context", metavar="NAME", help=context),
    )


def kubeconfig_options(what: str, of: str = "") -> Callable[[Command], Command]:
    """Which cluster it is: as kubectl would take it, unless it is said."""
    usual = "[default: $KUBECONFIG, else ~/.kube/config]"
    return way_options(f"Where the {what} is described {usual}.", of)


def duration_option(
    name: str, usual: str, about: str, **kind: bool
) -> Callable[[Command], Command]:
    """A span of time, which is this long unless it is said; see `Span` for its kinds."""
    shown: dict[str, Any] = {"default": usual, "show_default": True, "metavar": "DURATION"}
    return click.option(name, type=Span(**kind), help=about, **shown)


def namespace_option(*flags: str, usual: str, about: str) -> Callable[[Command], Command]:
    return click.option(*flags, default=usual, show_default=True, help=about)


def cluster_namespace_option(about: str) -> Callable[[Command], Command]:
    """Where Secrets of a cluster are in the plane."""
    return namespace_option("--cluster-namespace", usual=names.CLUSTER_NAMESPACE, about=about)


def gates_option(about: str) -> Callable[[Command], Command]:
    return click.option("--feature-gates", metavar="NAME=true,...", default="", help=about)


plugins_option = click.option(
    "--plugins",
    metavar="*,-NAME,...",
    default=config.ALL_PLUGINS,
    show_default=True,
    help="The scheduler's plug-ins, Atoll's and those installed beside it, listed as for Karmada's:"
    " * is all, NAME is on, -NAME is off.",
)
record_option = click.option(
    "--record",
    type=click.Path(dir_okay=False, resolve_path=True, path_type=Path),
    help="Record in this file what the scheduler and delivery decide, and what from, until it has"
    " 256 MiB; see: atoll replay",
)
agent_namespace_option = namespace_option(
    "-n", "--namespace", usual=names.SYSTEM_NAMESPACE, about="Where the agent lives in the cluster."
)
proxy_option = click.option(
    "--proxy-server-address", default="", metavar="URL", help="Through which others reach it."
)
place_options = together(
    click.option("--cluster-provider", default="", help="Who runs it, for spreading by provider."),
    click.option("--cluster-region", default="", help="Where it is, for spreading by region."),
    click.option(
        "--cluster-zones",
        multiple=True,
        callback=listed,
        help="Its zones, with commas between them.",
    ),
)

# Groups.

log_options = grouped(
    "logs",
    config.LogChoice,
    format=option(
        "--logging-format",
        type=click.Choice(LOG_FORMATS),
        default=config.USUAL_LOGGING.format,
        help="The form of the log's lines [default: text]",
    ),
    verbosity=option(
        *("-v", "--v"),
        type=click.IntRange(0, 10),
        metavar="NUMBER",
        default=config.USUAL_LOGGING.verbosity,
        help="How much the log tells: from 4 on also what helps to find a mistake [default: 0]",
    ),
)


def tracing_options(service: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Where traces go; what OpenTelemetry's own names in the environment say is usual.

    `service` is what its process is called in traces unless the environment says otherwise.
    """

    def chosen(endpoint: str | None, ratio: float) -> config.TracingChoice:
        try:
            return config.read_tracing(os.environ, endpoint, ratio, service)
        except ValueError as error:
            raise CommandFailed(str(error), "", "http://127.0.0.1:4318", code=USAGE) from error

    return grouped(
        "tracing",
        chosen,
        endpoint=option(
            "--tracing-endpoint",
            metavar="URL",
            help="A collector of OpenTelemetry to which is told, by OTLP over HTTP, how changes"
            " get to members [default: $OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere].",
        ),
        ratio=option(
            "--tracing-sampling-ratio",
            type=click.FloatRange(0, 1),
            metavar="PART",
            default=1.0,
            help="The part of the changes that is traced, from 0 to 1 [default: 1].",
        ),
    )


_LIMITS = {
    "max_requests_inflight": "How many requests that read are served at once.",
    "max_mutating_requests_inflight": "How many requests that write are served at once.",
    "max_watches_per_user": "How many watches one user may have open.",
}


def _limit(name: str, about: str) -> Option:
    usual = getattr(config.USUAL_REQUESTS, name)
    how = {"type": click.IntRange(min=1), "metavar": "NUMBER", "default": usual}
    return option(flag(name), help=f"{about} [default: {usual}]", **how)


request_options = grouped(
    "requests",
    config.RequestLimits,
    **{name: _limit(name, about) for name, about in _LIMITS.items()},
)

_TIMES = {
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


def _time(name: str) -> Option:
    usual, about = getattr(config.USUAL_TIMES, name), _TIMES[name]
    kind: click.ParamType[float] = Span(lasting=name.endswith(("_frequency", "_period")))
    metavar, unit = "DURATION", "s"
    if name.endswith("_rate"):
        kind, metavar, unit = click.FloatRange(min=0.0), "NUMBER", ""
    told = f"{about} [default: {repr(usual).removesuffix('.0')}{unit}]"
    return option(flag(name), type=kind, metavar=metavar, default=usual, help=told)


times_options = grouped(
    "times", config.Times, **{each.name: _time(each.name) for each in fields(config.Times)}
)


def _estimators(**said: Any) -> config.EstimatorChoice:
    chosen = config.EstimatorChoice(**{name: each for name, each in said.items() if each})
    if (chosen.certificate is None) != (chosen.key is None):
        what = "--scheduler-estimator-cert-file and --scheduler-estimator-key-file go together"
        raise CommandFailed(what, code=USAGE)
    return chosen


estimator_options = grouped(
    "estimators",
    _estimators,
    enabled=option(
        "--enable-scheduler-estimator",
        is_flag=True,
        help="Ask clusters' estimators how much fits; `atoll estimator` is one.",
    ),
    timeout=option(
        "--scheduler-estimator-timeout",
        type=Span(lasting=True),
        help="How long one may take to answer. [default: 3s]",
    ),
    namespace=option(
        "--scheduler-estimator-service-namespace",
        help="Where the Services are that say where they are."
        f" [default: {config.NO_ESTIMATORS.namespace}]",
    ),
    service_prefix=option(
        "--scheduler-estimator-service-prefix",
        help="Their names begin so, then -CLUSTER."
        f" [default: {config.NO_ESTIMATORS.service_prefix}]",
    ),
    port=option(
        "--scheduler-estimator-port",
        type=click.IntRange(1, 65535),
        help=f"The port in those Services. [default: {config.NO_ESTIMATORS.port}]",
    ),
    ca=option("--scheduler-estimator-ca-file", type=FILE, help="Who vouches for estimators."),
    certificate=option(
        "--scheduler-estimator-cert-file", type=FILE, help="The certificate to show them."
    ),
    key=option("--scheduler-estimator-key-file", type=FILE, help="The key of that certificate."),
    skip_verification=option(
        "--insecure-skip-estimator-verify",
        is_flag=True,
        help="Use TLS, and believe any certificate.",
    ),
    disabled_in_pull_mode=option(
        "--disable-scheduler-estimator-in-pull-mode",
        is_flag=True,
        help="Do not ask those of clusters that pull.",
    ),
)


def _audit(**said: Any) -> config.AuditChoice:
    chosen = config.AuditChoice(**{name: each for name, each in said.items() if each is not None})
    if chosen.log is None and chosen != config.AuditChoice():
        raise CommandFailed("there is no --audit-log to which this would apply", code=USAGE)
    if chosen.policy is not None:
        _check_policy(chosen.policy)
    return chosen


def _check_policy(policy: Path) -> None:
    """What is wrong with a policy is told before anything is started."""
    from atoll.apiserver.audit.policy import read_policy

    try:
        text = policy.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"the audit policy {policy} cannot be read: {error}") from error
    read_policy(text, str(policy))


audit_options = grouped(
    "audit",
    _audit,
    log=option(
        *("--audit-log", "--audit-log-path"),
        type=click.Path(dir_okay=False, resolve_path=True, path_type=Path),
        help="Record who asked for what in this file, one event per line.",
    ),
    policy=option(
        "--audit-policy-file",
        type=FILE,
        help="How much is recorded of which request. [default: who, what and when of each]",
    ),
    maxsize=option(
        "--audit-log-maxsize",
        type=click.IntRange(0),
        help="Put the file aside when it has so many megabytes. [default: 100]",
    ),
    maxbackup=option(
        "--audit-log-maxbackup",
        type=click.IntRange(0),
        help="Keep at most so many files put aside. [default: all]",
    ),
    maxage=option(
        "--audit-log-maxage",
        type=click.IntRange(0),
        help="Keep files put aside for at most so many days. [default: for ever]",
    ),
)
