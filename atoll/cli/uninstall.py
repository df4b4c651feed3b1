"""`atoll uninstall`: take the control plane off its host; what users have stays, or is purged."""

import os
import time
from contextlib import ExitStack
from typing import Any

import click

from atoll.cli.amounts import count_of
from atoll.cli.failing import CommandFailed, need_terminal
from atoll.cli.install import ON_PLANE, plane_reached, reached
from atoll.cli.options import Span, kubeconfig_options, namespace_option, way_options
from atoll.cli.printing import show, tell
from atoll.client.kubeconfig import usual_files
from atoll.client.plain import PlainClient
from atoll.hosting import removing
from atoll.hosting.elsewhere import check
from atoll.hosting.installation import NAMESPACE
from atoll.members.objects import speaking_to
from atoll.members.unjoining import deliveries

_HELP = """Take the control plane off its host.

First the host stops asking it about anything, so that nobody is locked out; then it is removed.
Policies, Clusters and all other objects stay in the host, and what was delivered stays in the
clusters; installing again goes on where it ended. With --purge the kinds and all their objects are
deleted from the host. The clusters keep what was delivered to them even then: to have it removed
there, unjoin them first. Where the plane is another API server than the host's, name it, too.

\b
atoll uninstall --kubeconfig ~/.kube/host
atoll uninstall --kubeconfig ~/.kube/host --plane-kubeconfig ~/.kube/plane
atoll uninstall --kubeconfig ~/.kube/host --purge --yes
"""


@click.command(help=_HELP)
@kubeconfig_options("host")
@namespace_option("-n", "--namespace", usual=NAMESPACE, about="Where it runs.")
@way_options("Where the plane is described, if that is another API server.", "plane-")
@click.option("--purge", is_flag=True, help="Delete the kinds and all their objects as well.")
@click.option(
    "--wait",
    "wait_s",
    type=Span(bare=True),
    metavar="TIME",
    default="60s",
    show_default=True,
    help="Wait so long for what ends slowly.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(
    kubeconfig: str | None,
    context: str | None,
    wait_s: float,
    *,
    purge: bool,
    yes: bool,
    **said: Any,
) -> None:
    with ExitStack() as opened:
        another = plane_reached(said, opened)
        host = reached(kubeconfig or usual_files(os.environ), context, opened)
        check(host, another, said["namespace"])
        plane = another or host
        with speaking_to(plane):
            _confirm(removing.inventory(plane), is_purge=purge, is_sure=yes)
        _uninstall(host, plane, removing.Wish(said["namespace"], wait_s), is_purge=purge)


def _confirm(found: removing.Inventory, *, is_purge: bool, is_sure: bool) -> None:
    """Say what this means for what users have; go on only if they agree."""
    if is_purge and found.with_agents:
        which = ", ".join(found.with_agents)
        what = (
            f"nothing was removed: {which} pulls, and its agent would take back what it delivered"
        )
        raise CommandFailed(what, "", f"atoll unregister {found.with_agents[0]}")
    if not found.clusters and not found.works:
        return
    counted = f"{count_of(found.clusters, 'cluster')} and {deliveries(found.works)}"
    if is_purge:
        tell(f"The plane has {counted}. They are deleted from it, with every policy, for good.")
        tell("The clusters keep what was delivered, and nobody looks after it any more.")
        tell("To have it removed there, unjoin or unregister the clusters first.")
    else:
        tell(f"The plane has {counted}. They stay, and so does what was delivered,")
        tell("but nobody looks after it until it is installed again.")
    if is_sure:
        return
    need_terminal("nothing was removed", "--yes")
    click.confirm("Go on?", abort=True, err=True)


def _uninstall(
    host: PlainClient, plane: PlainClient, wish: removing.Wish, *, is_purge: bool
) -> None:
    changes = 0
    for server, step in removing.steps(host, plane, wish, time.sleep, is_purge=is_purge):
        with speaking_to(server):
            for change in step:
                show(str(change) if server is host else f"{change}{ON_PLANE}")
                changes += 1
    if not changes:
        tell(f"There is nothing of atoll in {wish.namespace} of {host.endpoint}")
