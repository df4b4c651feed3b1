"""`atoll join`: make a cluster a member of the plane, or every cluster of a kubeconfig."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import click

from atoll.cli.failing import ERROR, USAGE, CommandFailed
from atoll.cli.options import cluster_namespace_option, kubeconfig_options, place_options
from atoll.cli.output import show_table
from atoll.cli.printing import show, tell
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.tables import Column
from atoll.client.endpoint import Impersonation
from atoll.client.kubeconfig import Kubeconfig, read_kubeconfigs, usual_files
from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused
from atoll.client.transport import Unreachable
from atoll.errors import UsageError
from atoll.members import joining
from atoll.members.joining import Description
from atoll.members.surveying import Prospect, survey

_HELP = """Make a cluster a member of the plane, which speaks to it from then on.

In the cluster an account is made that may do anything, in the plane a Cluster and two Secrets.
Joining the same cluster again by the same name completes or renews what is there.

\b
atoll join prod --cluster-kubeconfig ~/.kube/prod
atoll join prod --cluster-context prod-eu --cluster-region eu --cluster-zones a,b
atoll join --all-contexts --dry-run
"""
_COLUMNS = (Column("CONTEXT"), Column("CLUSTER"), Column("SERVER", 1), Column("WHAT"))


@click.command(help=_HELP)
@click.argument("name", required=False)
@kubeconfig_options("cluster", "cluster-")
@click.option("--all-contexts", is_flag=True, help="Join the clusters of all contexts.")
@place_options
@cluster_namespace_option("For the account in the cluster, and for the Secrets in the plane.")
@click.option("--karmada-as", default="", metavar="USER", help="In the plane, act as this user.")
@click.option(
    "--karmada-as-group", multiple=True, metavar="GROUP", help="And as one of this group."
)
@click.option("--karmada-as-uid", default="", metavar="UID", help="And with this uid.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@plane_options
def join(
    name: str | None,
    plane: Plane,
    cluster_kubeconfig: str | None,
    cluster_context: str | None,
    *,
    cluster_zones: tuple[str, ...],
    karmada_as_group: tuple[str, ...],
    all_contexts: bool,
    dry_run: bool,
    **said: str,
) -> int:
    acting = Impersonation(said["karmada_as"], said["karmada_as_uid"], karmada_as_group)
    if acting != Impersonation(""):
        plane = _acting(plane, acting)
    kubeconfig = read_kubeconfigs(cluster_kubeconfig or usual_files(os.environ))
    description = Description(
        name or "",
        said["cluster_provider"],
        said["cluster_region"],
        cluster_zones,
        namespace=said["cluster_namespace"],
    )
    if all_contexts and (name or cluster_context):
        raise CommandFailed("--all-contexts goes without a name and a context", code=USAGE)
    if not all_contexts and not name:
        raise CommandFailed("which name shall it have?", "", "atoll join NAME", code=USAGE)
    with closing(plane.client):
        if all_contexts:
            return _join_all(plane, kubeconfig, description, is_trial=dry_run)
        _join_one(plane, kubeconfig, cluster_context, description, is_trial=dry_run)
        return 0


def _acting(plane: Plane, acting: Impersonation) -> Plane:
    if not acting.user:
        what = "--karmada-as-group and --karmada-as-uid need a --karmada-as"
        raise CommandFailed(what, code=USAGE)
    return replace(plane, client=PlainClient(replace(plane.client.endpoint, acting_as=acting)))


@contextmanager
def _reached(
    kubeconfig: Kubeconfig, context: str | None, description: Description
) -> Iterator[tuple[PlainClient, Description]]:
    """The way to the cluster of a context, and its description with the plane's way to it."""
    # A proxy in this shell's environment is not the plane's way.
    described = replace(description, proxy=kubeconfig.endpoint(context).proxy or "")
    with closing(PlainClient(kubeconfig.endpoint(context, os.environ))) as member:
        yield member, described


def _join_one(
    plane: Plane,
    kubeconfig: Kubeconfig,
    context: str | None,
    description: Description,
    *,
    is_trial: bool,
) -> None:
    with _reached(kubeconfig, context, description) as (member, described):
        if is_trial:
            _say_plan(plane, member, described)
            return
        for note in joining.join(plane.client, member, described):
            tell(f" ! {note}")
    show(f"cluster({description.name}) is joined successfully")


def _say_plan(plane: Plane, member: PlainClient, description: Description) -> None:
    known = joining.check(plane.client, member, description)
    what = "Would renew what there is of" if known else "Would join"
    show(f"{what} {member.endpoint.server} as {description.name}")
    for where, objects in zip(("member", "plane"), description.objects(), strict=True):
        for each in objects:
            show(f"  in the {where}: {each}")


def _join_all(
    plane: Plane, kubeconfig: Kubeconfig, description: Description, *, is_trial: bool
) -> int:
    prospects = survey(plane.client, kubeconfig, os.environ)
    if not prospects:
        raise CommandFailed(f"{kubeconfig.title} has no contexts")
    rows, failed = [], 0
    for each in prospects:
        what, is_good = _settle(plane, kubeconfig, each, description, is_trial=is_trial)
        rows.append((each.context, each.name or "-", each.server or "-", what))
        failed += not is_good
    show_table(_COLUMNS, rows)
    if is_trial and any(each.is_new for each in prospects):
        tell("Nothing was done. Without --dry-run they are joined.")
    return ERROR if failed else 0


def _settle(
    plane: Plane,
    kubeconfig: Kubeconfig,
    prospect: Prospect,
    description: Description,
    *,
    is_trial: bool,
) -> tuple[str, bool]:
    """What became of a context, and whether that is well."""
    if not prospect.is_new:
        return prospect.problem or prospect.settled, not prospect.problem
    if is_trial:
        return "would join", True
    named = replace(description, name=prospect.name)
    with _reached(kubeconfig, prospect.context, named) as (member, described):
        try:
            notes = joining.join(plane.client, member, described)
        except (Refused, Unreachable, UsageError) as error:
            return str(error), False
    return "; ".join(["joined", *notes]), True
