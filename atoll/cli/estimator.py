"""`atoll estimator`: say how much fits into one cluster, to Karmada's scheduler or to Atoll's."""

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.options import kubeconfig_options
from atoll.cli.printing import show
from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import read_kubeconfigs, usual_files

if TYPE_CHECKING:
    from atoll.estimator.grpc import Trust

_HELP = """Answer for one cluster how much fits into it, by Karmada's estimator protocol (gRPC).

It follows the nodes and pods of the cluster and runs here until it is stopped. Without
certificates it speaks in the clear and answers anybody.

\b
atoll estimator --kubeconfig ~/.kube/prod --cluster-name prod
"""
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(help=_HELP)
@click.option("--cluster-name", required=True, metavar="NAME", help="Its name in the plane.")
@kubeconfig_options("cluster")
@click.option("--bind-address", default="", metavar="ADDRESS", help="Listen here [default: all].")
@click.option(
    "--server-port",
    type=click.IntRange(0, 65535),
    default=10352,
    show_default=True,
    help="Listen on this port.",
)
@click.option("--grpc-auth-cert-file", type=_FILE, help="The certificate to show; with it, TLS.")
@click.option("--grpc-auth-key-file", type=_FILE, help="The key of that certificate.")
@click.option("--grpc-client-ca-file", type=_FILE, help="Who vouches for those who may ask.")
@click.option(
    "--insecure-skip-grpc-client-verify",
    "skip_verification",
    is_flag=True,
    help="Answer whoever asks, whatever it shows.",
)
def estimator(
    cluster_name: str,
    kubeconfig: str | None,
    context: str | None,
    *,
    bind_address: str,
    server_port: int,
    grpc_auth_cert_file: Path | None,
    grpc_auth_key_file: Path | None,
    grpc_client_ca_file: Path | None,
    skip_verification: bool,
) -> None:
    if (grpc_auth_cert_file is None) != (grpc_auth_key_file is None):
        what = "--grpc-auth-cert-file and --grpc-auth-key-file go together"
        raise CommandFailed(what, code=USAGE)
    if grpc_client_ca_file is not None and grpc_auth_cert_file is None:
        why = "nobody is asked for a certificate without TLS"
        what = "--grpc-client-ca-file needs a --grpc-auth-cert-file"
        raise CommandFailed(what, why, code=USAGE)
    member = read_kubeconfigs(kubeconfig or usual_files(os.environ)).endpoint(context, os.environ)
    from atoll.cli.logs import log_to_terminal
    from atoll.estimator.grpc import Trust

    trust = Trust(grpc_client_ca_file, grpc_auth_cert_file, grpc_auth_key_file, skip_verification)
    log_to_terminal()
    asyncio.run(_serve(cluster_name, member, (bind_address, server_port), trust))


async def _serve(cluster: str, member: Endpoint, address: tuple[str, int], trust: "Trust") -> None:
    """Serve until a signal says stop."""
    from atoll.client.https import Https
    from atoll.effects import system_effects
    from atoll.estimator.estimating import estimating

    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    way = Https(member)
    try:
        async with estimating(cluster, way, system_effects(), address, trust) as port:
            host = address[0] or "all addresses"
            show(f"Answering for {cluster} ({member}) on {host}, port {port} · stop: Ctrl-C")
            await stopped.wait()
    finally:
        await way.close()
