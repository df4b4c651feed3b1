"""`atoll unjoin`: have the plane forget a cluster."""

import os
import sys
import time

import click

from atoll.cli.completing import complete_clusters
from atoll.cli.failing import TIMEOUT, CommandFailed
from atoll.cli.printing import show, tell
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.timing import Span
from atoll.client.kubeconfig import read_kubeconfigs
from atoll.client.plain import PlainClient
from atoll.dialects.karmada import names
from atoll.members import unjoining
from atoll.members.unjoining import Wish

_HELP = """Have the plane forget a cluster.

What the plane delivered to the cluster finds another place, or is deleted there, as in Karmada; it
stays where its policy says preserveResourcesOnDeletion, and in a cluster that does not answer. What
the plane did not deliver is never touched. With --cluster-kubeconfig the plane's account in the
cluster is removed as well; without, it is said what is left there.

\b
atoll unjoin prod --cluster-kubeconfig ~/.kube/prod
atoll unjoin prod --wait 2m
atoll unjoin prod --force
"""


@click.command(help=_HELP)
@click.argument("name", shell_complete=complete_clusters)
@click.option(
    "--cluster-kubeconfig", metavar="FILE", help="Remove what joining made in the cluster as well."
)
@click.option(
    "--cluster-context",
    metavar="CONTEXT",
    help="Its context [default: the one called NAME, else the current one].",
)
@click.option(
    "--cluster-namespace",
    default=names.CLUSTER_NAMESPACE,
    show_default=True,
    help="Where its account and Secrets are.",
)
@click.option(
    "--wait",
    "wait_s",
    type=Span(bare=True, lasting=True),
    metavar="TIME",
    default="60s",
    show_default=True,
    help="Wait so long for the plane to be done with it.",
)
@click.option("--force", is_flag=True, help="After that, forget it without taking anything back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@plane_options
def unjoin(
    name: str,
    plane: Plane,
    cluster_kubeconfig: str | None,
    cluster_context: str | None,
    *,
    cluster_namespace: str,
    wait_s: float,
    force: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    cluster = unjoining.find(plane.client, name)
    member = _member(name, cluster_kubeconfig, cluster_context)
    endpoint = (cluster.get("spec") or {}).get("apiEndpoint", "")
    if dry_run:
        show(f"Would unjoin {name} at {endpoint}")
        return
    if sys.stdin.isatty() and not yes:
        click.confirm(f"Unjoin {name} at {endpoint}?", abort=True, err=True)
    wish = Wish(name, cluster_namespace, wait_s, is_forced=force)
    try:
        parting = unjoining.unjoin(plane.client, member, wish, time.sleep)
    finally:
        if member is not None:
            member.close()
    for note in parting.notes:
        tell(f" ! {note}")
    if not parting.is_gone:
        attempt = plane.command(f"unjoin {name} --force")
        raise CommandFailed(f"cluster({name}) is not gone yet", "", attempt, code=TIMEOUT)
    show(f"cluster({name}) is unjoined")


def _member(name: str, files: str | None, context: str | None) -> PlainClient | None:
    if files is None:
        return None
    kubeconfig = read_kubeconfigs(files)
    chosen = context or (name if name in kubeconfig.contexts else None)
    return PlainClient(kubeconfig.endpoint(chosen, os.environ))
