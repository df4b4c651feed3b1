"""`atoll unjoin` and `atoll unregister`: have the plane forget a cluster."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import click

from atoll.cli import options
from atoll.cli.choosing import chosen
from atoll.cli.completing import complete_clusters
from atoll.cli.failing import TIMEOUT, CommandFailed
from atoll.cli.printing import show, tell
from atoll.cli.reaching import Plane, plane_options
from atoll.client.kubeconfig import read_kubeconfigs
from atoll.client.plain import PlainClient
from atoll.effects import system_now
from atoll.members import unjoining, unregistering
from atoll.members.unjoining import Parting, Wish

_UNJOIN_HELP = """Have the plane forget a cluster.

What the plane delivered to the cluster finds another place, or is deleted there, as in Karmada; it
stays where its policy says preserveResourcesOnDeletion, and in a cluster that does not answer. What
the plane did not deliver is never touched. With --cluster-kubeconfig the plane's account in the
cluster is removed as well; without, it is said what is left there.

\b
atoll unjoin prod --cluster-kubeconfig ~/.kube/prod
atoll unjoin prod --wait 2m
atoll unjoin prod --force
"""
_UNREGISTER_HELP = """Have the plane forget a cluster that pulls, and its agent's rights.

What the agent delivered finds another place, or is deleted by it, as its policy says; in a cluster
whose agent does not run any more it stays. The agent ends by itself then. With --cluster-kubeconfig
what registering made in the cluster is removed as well; without, it is said what is left there.

\b
atoll unregister edge --cluster-kubeconfig ~/.kube/edge
atoll unregister edge --wait 2m
atoll unregister edge --force
"""


def _way_options(made: str, usual: str) -> Callable[[options.Command], options.Command]:
    """The name of a cluster, and the way to it for whoever wants what was made there removed."""
    remove, context = f"Remove {made} in the cluster as well.", f"Its context [default: {usual}]."
    return options.together(
        click.argument("name", shell_complete=complete_clusters),
        click.option("--cluster-kubeconfig", metavar="FILE", help=remove),
        click.option("--cluster-context", metavar="CONTEXT", help=context),
    )


def _parting_options(who: str) -> Callable[[options.Command], options.Command]:
    """How long to wait for `who` has to be done with a cluster, and what then."""
    return options.together(
        click.option(
            "--wait",
            "wait_s",
            type=options.Span(bare=True, lasting=True),
            metavar="TIME",
            default="60s",
            show_default=True,
            help=f"Wait so long for {who} to be done with it.",
        ),
        click.option(
            "--force", is_flag=True, help="After that, forget it without taking anything back."
        ),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Only say what would be done."),
        plane_options,
    )


@click.command(help=_UNJOIN_HELP)
@_way_options("what joining made", "the one called NAME, else the current one")
@options.cluster_namespace_option("Where its account and Secrets are.")
@_parting_options("the plane")
def unjoin(name: str, plane: Plane, *, cluster_namespace: str, **said: Any) -> None:
    cluster = unjoining.find(plane.client, name)
    endpoint = (cluster.get("spec") or {}).get("apiEndpoint", "")
    wish = Wish(name, cluster_namespace, said["wait_s"], is_forced=said["force"])
    with _way_to(said["cluster_kubeconfig"], said["cluster_context"], name) as member:
        if not _is_meant(f"unjoin {name} at {endpoint}", said):
            return
        parting = unjoining.unjoin(plane.client, member, wish, time.sleep)
    _tell(parting, plane, "unjoin", name)
    show(f"cluster({name}) is unjoined")


@click.command(help=_UNREGISTER_HELP)
@_way_options("what there is", "the current one")
@options.agent_namespace_option
@options.cluster_namespace_option("Where its Secrets are in the plane.")
@_parting_options("the agent and the plane")
def unregister(
    name: str, plane: Plane, *, namespace: str, cluster_namespace: str, **said: Any
) -> None:
    unregistering.find(plane.client, name)
    wish = Wish(name, cluster_namespace, said["wait_s"], is_forced=said["force"])
    with _way_to(said["cluster_kubeconfig"], said["cluster_context"]) as member:
        if not _is_meant(f"unregister {name}", said):
            return
        parting = unregistering.unregister(
            plane.client, member, wish, namespace, time.sleep, now=system_now
        )
    _tell(parting, plane, "unregister", name)
    (chosen(None).agents_dir / f"{name}.kubeconfig").unlink(missing_ok=True)
    show(f"cluster({name}) is unregistered")


def _is_meant(what: str, said: dict[str, Any]) -> bool:
    """Whether to go on: not if it is only told what would be done, nor if the user objects."""
    if said["dry_run"]:
        show(f"Would {what}")
    elif sys.stdin.isatty() and not said["yes"]:
        click.confirm(f"{what[0].upper()}{what[1:]}?", abort=True, err=True)
    return not said["dry_run"]


@contextmanager
def _way_to(files: str | None, context: str | None, name: str = "") -> Iterator[PlainClient | None]:
    """The way to the cluster, if it was said; by the context of its name where none was said."""
    if files is None:
        yield None
        return
    kubeconfig = read_kubeconfigs(files)
    named = context or (name if name in kubeconfig.contexts else None)
    with closing(PlainClient(kubeconfig.endpoint(named, os.environ))) as member:
        yield member


def _tell(parting: Parting, plane: Plane, command: str, name: str) -> None:
    """Say what is left where; CommandFailed if the plane still has the cluster."""
    for note in parting.notes:
        tell(f" ! {note}")
    if not parting.is_gone:
        attempt = plane.command(f"{command} {name} --force")
        raise CommandFailed(f"cluster({name}) is not gone yet", "", attempt, code=TIMEOUT)
