"""`atoll uninstall`: take the control plane off its host; what users have stays, or is purged."""

import os
import sys
import time
from itertools import chain

import click

from atoll.cli.amounts import count_of
from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.printing import show, tell
from atoll.cli.timing import Span
from atoll.client.kubeconfig import read_kubeconfigs, usual_files
from atoll.client.plain import PlainClient
from atoll.hosting import removing
from atoll.hosting.deploying import check_host
from atoll.hosting.installation import NAMESPACE
from atoll.members.objects import speaking_to

_HELP = """Take the control plane off its host.

First the host stops asking it about anything, so that nobody is locked out; then it is removed.
Policies, Clusters and all other objects stay in the host, and what was delivered stays in the
clusters; installing again goes on where it ended. With --purge the kinds and all their objects are
deleted from the host. The clusters keep what was delivered to them even then: to have it removed
there, unjoin them first.

\b
atoll uninstall --kubeconfig ~/.kube/host
atoll uninstall --kubeconfig ~/.kube/host --purge --yes
"""


@click.command(help=_HELP)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help="Where the host is described [default: $KUBECONFIG, else ~/.kube/config].",
)
@click.option("--context", metavar="NAME", help="Its context [default: the current one].")
@click.option("-n", "--namespace", default=NAMESPACE, show_default=True, help="Where it runs.")
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
    namespace: str,
    wait_s: float,
    *,
    purge: bool,
    yes: bool,
) -> None:
    files = read_kubeconfigs(kubeconfig or usual_files(os.environ))
    host = PlainClient(files.endpoint(context, os.environ))
    try:
        with speaking_to(host):
            check_host(host, namespace)
            _confirm(removing.inventory(host), is_purge=purge, is_sure=yes)
            _uninstall(host, removing.Wish(namespace, wait_s), is_purge=purge)
    finally:
        host.close()


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
    counted = f"{count_of(found.clusters, 'cluster')} and {_deliveries(found.works)}"
    if is_purge:
        tell(f"The host has {counted}. They are deleted from it, with every policy, for good.")
        tell("The clusters keep what was delivered, and nobody looks after it any more.")
        tell("To have it removed there, unjoin or unregister the clusters first.")
    else:
        tell(f"The host has {counted}. They stay, and so does what was delivered,")
        tell("but nobody looks after it until it is installed again.")
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise CommandFailed(
            "nothing was removed", "there is no terminal to ask on", "--yes", code=USAGE
        )
    click.confirm("Go on?", abort=True, err=True)


def _deliveries(count: int) -> str:
    return "1 delivery" if count == 1 else f"{count} deliveries"


def _uninstall(host: PlainClient, wish: removing.Wish, *, is_purge: bool) -> None:
    steps = [removing.remove(host, wish, time.sleep)]
    steps += [removing.purge(host, wish, time.sleep)] if is_purge else []
    steps += [removing.remove_home(host, wish.namespace)]
    changes = 0
    for change in chain.from_iterable(steps):
        show(str(change))
        changes += 1
    if not changes:
        tell(f"There is nothing of atoll in {wish.namespace} of {host.endpoint}")
