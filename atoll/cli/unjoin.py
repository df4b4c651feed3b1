"""`atoll unjoin`: have the plane forget a cluster."""

import time

import click

from atoll.cli.completing import complete_clusters
from atoll.cli.options import cluster_namespace_option
from atoll.cli.parting import confirm, parting_options, tell_parting, way_to
from atoll.cli.printing import show
from atoll.cli.reaching import Plane, plane_options
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
@cluster_namespace_option("Where its account and Secrets are.")
@parting_options("the plane")
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
    endpoint = (cluster.get("spec") or {}).get("apiEndpoint", "")
    wish = Wish(name, cluster_namespace, wait_s, is_forced=force)
    with way_to(cluster_kubeconfig, cluster_context, name) as member:
        if dry_run:
            show(f"Would unjoin {name} at {endpoint}")
            return
        confirm(f"Unjoin {name} at {endpoint}?", is_sure=yes)
        parting = unjoining.unjoin(plane.client, member, wish, time.sleep)
    tell_parting(parting, plane, "unjoin", name)
    show(f"cluster({name}) is unjoined")
