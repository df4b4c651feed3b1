"""`atoll unregister`: have the plane forget a cluster that pulls."""

import os
import sys
import time

import click

from atoll.cli.choosing import chosen
from atoll.cli.completing import complete_clusters
from atoll.cli.failing import TIMEOUT, CommandFailed
from atoll.cli.printing import show, tell
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.timing import Span
from atoll.client.kubeconfig import read_kubeconfigs
from atoll.client.plain import PlainClient
from atoll.dialects.karmada import names
from atoll.effects import system_now
from atoll.members import unregistering
from atoll.members.unjoining import Wish

_HELP = """Have the plane forget a cluster that pulls, and its agent's rights.

What the agent delivered finds another place, or is deleted by it, as its policy says; in a cluster
whose agent does not run any more it stays. The agent ends by itself then. With --cluster-kubeconfig
what registering made in the cluster is removed as well; without, it is said what is left there.

\b
atoll unregister edge --cluster-kubeconfig ~/.kube/edge
atoll unregister edge --wait 2m
atoll unregister edge --force
"""


@click.command(help=_HELP)
@click.argument("name", shell_complete=complete_clusters)
@click.option(
    "--cluster-kubeconfig", metavar="FILE", help="Remove what there is in the cluster as well."
)
@click.option(
    "--cluster-context", metavar="CONTEXT", help="Its context [default: the current one]."
)
@click.option(
    "-n",
    "--namespace",
    default=names.SYSTEM_NAMESPACE,
    show_default=True,
    help="Where the agent lives in the cluster.",
)
@click.option(
    "--cluster-namespace",
    default=names.CLUSTER_NAMESPACE,
    show_default=True,
    help="Where its Secrets are in the plane.",
)
@click.option(
    "--wait",
    "wait_s",
    type=Span(bare=True, lasting=True),
    metavar="TIME",
    default="60s",
    show_default=True,
    help="Wait so long for the agent and the plane to be done with it.",
)
@click.option("--force", is_flag=True, help="After that, forget it without taking anything back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@plane_options
def unregister(
    name: str,
    plane: Plane,
    cluster_kubeconfig: str | None,
    cluster_context: str | None,
    *,
    namespace: str,
    cluster_namespace: str,
    wait_s: float,
    force: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    unregistering.find(plane.client, name)
    if dry_run:
        show(f"Would unregister {name}")
        return
    if sys.stdin.isatty() and not yes:
        click.confirm(f"Unregister {name}?", abort=True, err=True)
    member = _member(cluster_kubeconfig, cluster_context)
    wish = Wish(name, cluster_namespace, wait_s, is_forced=force)
    try:
        parting = unregistering.unregister(
            plane.client, member, wish, namespace, time.sleep, now=system_now
        )
    finally:
        if member is not None:
            member.close()
    for note in parting.notes:
        tell(f" ! {note}")
    if not parting.is_gone:
        attempt = plane.command(f"unregister {name} --force")
        raise CommandFailed(f"cluster({name}) is not gone yet", "", attempt, code=TIMEOUT)
    (chosen(None).agents_dir / f"{name}.kubeconfig").unlink(missing_ok=True)
    show(f"cluster({name}) is unregistered")


def _member(files: str | None, context: str | None) -> PlainClient | None:
    if files is None:
        return None
    return PlainClient(read_kubeconfigs(files).endpoint(context, os.environ))
