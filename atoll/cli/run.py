"""`atoll run`: be a plane on a Kubernetes cluster, its host, or one of several replicas of it."""

import socket
from typing import Any
from urllib.parse import urlsplit

import click

from atoll.cli import options
from atoll.cli.agent import named_or_own
from atoll.cli.choosing import check_gates, check_plugins
from atoll.cli.failing import USAGE, CommandFailed
from atoll.client.endpoint import Endpoint
from atoll.config import LogChoice
from atoll.hosting.leading import USUAL_LEASE_TIMES, LeaseTimes

_HELP = """Be a plane on a Kubernetes cluster, its host, until stopped.

Clusters, policies and all else are kept by the host; this program gives it the definitions of
these kinds, serves Clusters and the way to them behind it, checks what is written, and does the
rest. Several may run at once: one of them leads. In a pod of the host neither --kubeconfig nor
--serve-at is needed.

\b
atoll run --kubeconfig ~/.kube/config --serve-at https://192.168.1.5:8443
"""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PORT = 8443


@click.command(help=_HELP)
@options.way_options("The way to the host [default: the account of its pod].")
@click.option(
    "--serve-at",
    metavar="URL",
    help="Where the host reaches this program, such as https://192.168.1.5:8443 [default: by the"
    " Service atoll; on a host on this machine, https://127.0.0.1 and the port].",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help=f"Listen here [default: that of --serve-at, else {_PORT}].",
)
@options.namespace_option(
    "--namespace",
    usual="atoll-system",
    about="Where it keeps what is its own: certificates, and who leads.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    help="Whether others may run too, of whom one leads [default: they may].",
)
@options.duration_option(
    "--lease-duration",
    f"{USUAL_LEASE_TIMES.duration_s:g}s",
    "How long one who leads and is not heard of any more is waited for.",
    lasting=True,
)
@options.duration_option(
    "--renew-deadline",
    f"{USUAL_LEASE_TIMES.renew_deadline_s:g}s",
    "How long one who leads tries to say so again before it gives up.",
    lasting=True,
)
@options.duration_option(
    "--retry-period", f"{USUAL_LEASE_TIMES.retry_s:g}s", "How often.", lasting=True
)
@options.duration_option(
    "--shutdown-delay",
    "5s",
    "How long one that is told to end, and is no longer ready, still serves: others learn of it"
    " meanwhile.",
)
@options.gates_option("Open or close feature gates, by Karmada's names.")
@options.plugins_option
@options.times_options
@options.log_options
@options.tracing_options("atoll")
@options.estimator_options
@options.record_option
def run(
    kubeconfig: str | None,
    context: str | None,
    serve_at: str | None,
    port: int | None,
    namespace: str,
    *,
    feature_gates: str,
    plugins: str,
    logs: LogChoice,
    leader_elect: bool,
    lease_duration: float,
    renew_deadline: float,
    retry_period: float,
    shutdown_delay: float,
    **choices: Any,
) -> None:
    check_gates(feature_gates)
    check_plugins(plugins)
    host = named_or_own("host", kubeconfig, context)
    lease = LeaseTimes(
        duration_s=lease_duration, renew_deadline_s=renew_deadline, retry_s=retry_period
    )
    if lease.fault():
        raise CommandFailed(lease.fault(), code=USAGE)
    from atoll.cli.logs import log_to_terminal
    from atoll.effects import system_effects
    from atoll.hosting.place import Place
    from atoll.hosting.process import Hosting
    from atoll.hosting.process import run as be_replica

    place = Place(namespace, _url(serve_at, host, port))
    log_to_terminal(logs)
    effects = system_effects()
    hosting = Hosting(
        host=host,
        # Where a pod finds it, nobody else does.
        host_for_others=host if host.token_file is None else None,
        place=place,
        address="127.0.0.1" if place.host in LOOPBACK else "0.0.0.0",
        port=port or (place.port if place.url else _PORT),
        me=f"{socket.gethostname()}_{effects.chance.uuid('replica')}",
        lease=lease if leader_elect else None,
        farewell_s=shutdown_delay,
        feature_gates=feature_gates,
        plugins=plugins,
        **choices,
    )
    be_replica(hosting, effects)


def _url(serve_at: str | None, host: Endpoint, port: int | None) -> str:
    if serve_at is not None:
        return serve_at.rstrip("/")
    if urlsplit(host.server).hostname in LOOPBACK:
        return f"https://127.0.0.1:{port or _PORT}"
    return ""
