"""`atoll unregister`: have the plane forget a cluster that pulls."""

import time

import click

from atoll.cli.choosing import chosen
from atoll.cli.completing import complete_clusters
from atoll.cli.options import agent_namespace_option, cluster_namespace_option
from atoll.cli.parting import confirm, parting_options, tell_parting, way_to
from atoll.cli.printing import show
from atoll.cli.reaching import Plane, plane_options
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
@agent_namespace_option
@cluster_namespace_option("Where its Secrets are in the plane.")
@parting_options("the agent and the plane")
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
    wish = Wish(name, cluster_namespace, wait_s, is_forced=force)
    with way_to(cluster_kubeconfig, cluster_context) as member:
        if dry_run:
            show(f"Would unregister {name}")
            return
        confirm(f"Unregister {name}?", is_sure=yes)
        parting = unregistering.unregister(
            plane.client, member, wish, namespace, time.sleep, now=system_now
        )
    tell_parting(parting, plane, "unregister", name)
    (chosen(None).agents_dir / f"{name}.kubeconfig").unlink(missing_ok=True)
    show(f"cluster({name}) is unregistered")
