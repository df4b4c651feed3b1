"""`atoll taint`, `atoll cordon` and `atoll uncordon`: who may be placed on a cluster."""

from collections.abc import Callable, Sequence

import click

from atoll.cli.completing import complete_clusters
from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.printing import show
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.taints import Taint, read_changes
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Stale
from atoll.members.objects import CLUSTERS

# The plane itself sets taints too, so a change may have to be made again.
_ATTEMPTS = 10
_UNSCHEDULABLE = {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}
_TAINT_HELP = """Set or remove taints of clusters.

A taint is KEY=VALUE:EFFECT or KEY:EFFECT, and the effect is NoSchedule, PreferNoSchedule or
NoExecute. A - at the end removes it; KEY- removes all with this key.

\b
atoll taint clusters prod dedicated=gpu:NoSchedule
atoll taint clusters prod test dedicated:NoSchedule-
atoll taint clusters prod dedicated-
"""


def _complete(context: click.Context, one: click.Parameter, incomplete: str) -> list[str]:
    if not context.params.get("words"):
        return ["clusters"] if "clusters".startswith(incomplete) else []
    return complete_clusters(context, one, incomplete)


@click.command(help=_TAINT_HELP)
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="clusters NAME... TAINT...",
    shell_complete=_complete,
)
@click.option("--overwrite", is_flag=True, help="Replace a taint of the same key and effect.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@plane_options
def taint(words: tuple[str, ...], plane: Plane, *, overwrite: bool, dry_run: bool) -> None:
    clusters, written = _split(words)
    changes = read_changes(written)
    for name in clusters:

        def change(taints: Sequence[Taint], name: str = name) -> list[Taint]:
            return changes.apply(name, taints, overwrites=overwrite)

        _change(plane.client, name, change, is_trial=dry_run)
        show(f"cluster/{name} {changes.called(overwrites=overwrite)}")


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of clusters, and the taints, which come after them."""
    kind, *rest = words
    if kind.lower() not in ("cluster", "clusters"):
        raise _misused(f'only clusters have taints here, and "{kind}" is something else')
    is_taint = [any(sign in word for sign in "=:") or word.endswith("-") for word in rest]
    first = is_taint.index(True) if True in is_taint else len(rest)
    if not all(is_taint[first:]):
        raise _misused("all clusters come before the taints")
    if not rest[:first] or not rest[first:]:
        raise _misused("name at least one cluster and one taint")
    return rest[:first], rest[first:]


def _misused(what: str) -> CommandFailed:
    attempt = "atoll taint clusters NAME KEY=VALUE:EFFECT"
    return CommandFailed(what, "", attempt, code=USAGE)


@click.command(help="Let nothing new be placed on clusters; what is there stays.")
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_clusters
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@plane_options
def cordon(names: tuple[str, ...], plane: Plane, *, dry_run: bool) -> None:
    for name in names:
        has_changed = _change(
            plane.client,
            name,
            lambda taints: [*taints, *([] if any(map(_is_cordon, taints)) else [_UNSCHEDULABLE])],
            is_trial=dry_run,
        )
        show(f"{name} cluster {'' if has_changed else 'already '}cordoned")


@click.command(help="Let clusters be used again that were cordoned.")
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_clusters
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@plane_options
def uncordon(names: tuple[str, ...], plane: Plane, *, dry_run: bool) -> None:
    for name in names:
        has_changed = _change(
            plane.client,
            name,
            lambda taints: [each for each in taints if not _is_cordon(each)],
            is_trial=dry_run,
        )
        show(f"{name} cluster {'' if has_changed else 'already '}uncordoned")


def _is_cordon(taint: Taint) -> bool:
    return all(taint.get(key) == value for key, value in _UNSCHEDULABLE.items())


def _change(
    plane: PlainClient,
    name: str,
    change: Callable[[Sequence[Taint]], list[Taint]],
    *,
    is_trial: bool,
) -> bool:
    """Change the taints of a cluster, whoever else does; gives whether there was a change."""
    path = CLUSTERS.path(name=name)
    for _ in range(_ATTEMPTS):
        try:
            cluster = plane.get(path)
        except Missing as error:
            why = "atoll get clusters shows those that are there"
            raise CommandFailed(f'there is no cluster "{name}"', why) from error
        before = (cluster.get("spec") or {}).get("taints") or []
        after = change(before)
        if after == before or is_trial:
            return after != before
        version = cluster["metadata"]["resourceVersion"]
        try:
            patch = {"metadata": {"resourceVersion": version}, "spec": {"taints": after or None}}
            plane.patch(path, patch)
            return True
        except Stale:
            continue
    raise CommandFailed(f"cluster {name} changes all the time", "nothing was done to it")
