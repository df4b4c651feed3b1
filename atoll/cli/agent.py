"""`atoll agent`: look after a cluster that pulls, from inside or from where it can be reached."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atoll.cli import options
from atoll.cli.choosing import check_gates
from atoll.cli.failing import USAGE, CommandFailed
from atoll.client.endpoint import Endpoint
from atoll.config import LogChoice, Times, TracingChoice
from atoll.dialects.karmada import names

if TYPE_CHECKING:
    from atoll.agent.announcing import Announcement

_HELP = """Look after a cluster that pulls, until stopped.

Registering the cluster prints this command. The agent fetches what the plane has for the cluster,
sees to it that the cluster has it, and reports how it is; nobody needs to reach the cluster for
that. It may be stopped and started at any time, and waits for a plane that does not answer. Its
certificate is renewed in time.

\b
atoll agent --cluster-name edge --karmada-kubeconfig edge.kubeconfig --kubeconfig ~/.kube/config
"""
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@click.command(help=_HELP)
@click.option("--cluster-name", required=True, help="The name of the cluster in the plane.")
@click.option(
    "--karmada-kubeconfig",
    required=True,
    metavar="FILE",
    help="The agent's way to the plane, as registering wrote it.",
)
@click.option("--karmada-context", metavar="NAME", help="Its context [default: the current one].")
@options.way_options(
    "The way to the cluster [default: $KUBECONFIG, else the account of the agent's pod]."
)
@click.option(
    "--cluster-api-endpoint",
    default="",
    metavar="URL",
    help="Where others would reach the cluster [default: where the agent does].",
)
@options.place_options
@options.proxy_option
@click.option(
    "--report-secrets",
    multiple=True,
    callback=options.listed,
    default=["KubeCredentials", "KubeImpersonator"],
    show_default=True,
    help="The Secrets by which others may speak to the cluster through the plane, or None.",
)
@options.cluster_namespace_option("Where these Secrets are in the plane.")
@options.namespace_option(
    "--karmada-kubeconfig-namespace",
    usual=names.SYSTEM_NAMESPACE,
    about="Where the cluster keeps the agent's kubeconfig too.",
)
@options.duration_option(
    "--cert-rotation-checking-interval",
    "5m",
    "How often it is looked whether the certificate is to be renewed.",
    lasting=True,
)
@click.option(
    "--cert-rotation-remaining-time-threshold",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="It is renewed when this part of its time is left.",
)
@click.option(
    "--metrics-bind-address",
    metavar="HOST:PORT",
    default="0",
    help="Where /metrics, /healthz, /livez and /readyz are to be had by HTTP, such as :8080, which"
    " is at every address of this machine; 0: nowhere [default: 0].",
)
@options.gates_option("As those of the plane.")
@options.times_options
@options.log_options
@options.tracing_options("atoll-agent")
def agent(
    karmada_kubeconfig: str,
    karmada_context: str | None,
    kubeconfig: str | None,
    context: str | None,
    *,
    times: Times,
    logs: LogChoice,
    tracing: TracingChoice,
    feature_gates: str,
    **said: Any,
) -> None:
    check_gates(feature_gates)
    show_at = _address(said["metrics_bind_address"])
    announcement = _announcement(said)
    member = named_or_own("cluster", kubeconfig, context)
    from atoll.agent.process import Errand, run
    from atoll.agent.renewing import Kept
    from atoll.cli.logs import log_to_terminal
    from atoll.effects import system_effects
    from atoll.scheduling.features import PLANE_USUAL, Features

    log_to_terminal(logs)
    file = Path(karmada_kubeconfig).expanduser().absolute()
    errand = Errand(
        announcement=announcement,
        kept=Kept(file, karmada_context, said["karmada_kubeconfig_namespace"]),
        member=member,
        features=Features.of(feature_gates, PLANE_USUAL),
        times=times,
        check_s=said["cert_rotation_checking_interval"],
        left=said["cert_rotation_remaining_time_threshold"],
        show_at=show_at,
        tracing=tracing,
    )
    run(errand, system_effects(), time.sleep)


def _address(written: str) -> tuple[str, int] | None:
    """Where to listen: a host, which may be left out, and a port; nowhere at port 0."""
    host, _, port = written.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        what = f'"{written}" is no address to listen at'
        raise CommandFailed(what, "", "--metrics-bind-address 127.0.0.1:8080", code=USAGE)
    return (host.strip("[]") or "0.0.0.0", int(port)) if int(port) else None


def _announcement(said: dict[str, Any]) -> "Announcement":
    from atoll.agent.announcing import REPORTED, Announcement

    reported = said["report_secrets"]
    for each in reported:
        if each not in (*REPORTED, "None"):
            what = f'there is no Secret "{each}" to report'
            raise CommandFailed(what, "", f"{', '.join(REPORTED)} or None", code=USAGE)
    return Announcement(
        said["cluster_name"],
        said["cluster_api_endpoint"],
        said["cluster_provider"],
        said["cluster_region"],
        said["cluster_zones"],
        said["proxy_server_address"],
        frozenset(reported) - {"None"},
        said["cluster_namespace"],
    )


def named_or_own(what: str, kubeconfig: str | None, context: str | None) -> Endpoint:
    """The way to a cluster: as said, else as the environment says, else that of a pod in it."""
    named = kubeconfig or os.environ.get("KUBECONFIG")
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{each}") for each in ("HOST", "PORT"))
    if not named and host and port:
        return own_cluster(host, port)
    if not named:
        why = "this is no pod of a cluster"
        raise CommandFailed(f"which {what} is it?", why, "--kubeconfig FILE", code=USAGE)
    from atoll.client.kubeconfig import read_kubeconfigs

    return read_kubeconfigs(named).endpoint(context, os.environ)


def own_cluster(host: str, port: str) -> Endpoint:
    """The way from a pod to the API server of its cluster, as the pod's service account."""
    try:
        authority = (_ACCOUNT / "ca.crt").read_bytes()
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
        raise CommandFailed("the pod has no service account", why) from error
    where = f"[{host}]" if ":" in host else host
    return Endpoint(
        f"https://{where}:{port}",
        ca=authority,
        token_file=_ACCOUNT / "token",
        origin="the account of this pod",
    )
