"""`atoll taint`, `atoll cordon` and `atoll uncordon`: who may be placed on a cluster.

Taints are written, and what is printed is worded, as in kubectl and karmadactl.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from atoll.cli.completing import complete_clusters
from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.options import together
from atoll.cli.printing import show
from atoll.cli.reaching import Plane, plane_options
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Stale
from atoll.errors import UsageError
from atoll.members.objects import CLUSTERS

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
Taint = dict[str, Any]

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
    "words", nargs=-1, required=True, metavar="clusters NAME... TAINT...", shell_complete=_complete
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
    return CommandFailed(what, "", "atoll taint clusters NAME KEY=VALUE:EFFECT", code=USAGE)


_names = together(
    click.argument(
        "names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_clusters
    ),
    click.option("--dry-run", is_flag=True, help="Only say what would be done."),
    plane_options,
)


@click.command(help="Let nothing new be placed on clusters; what is there stays.")
@_names
def cordon(names: tuple[str, ...], plane: Plane, *, dry_run: bool) -> None:
    _cordon(names, plane, is_trial=dry_run)


@click.command(help="Let clusters be used again that were cordoned.")
@_names
def uncordon(names: tuple[str, ...], plane: Plane, *, dry_run: bool) -> None:
    _cordon(names, plane, is_trial=dry_run, back=True)


def _cordon(names: tuple[str, ...], plane: Plane, *, is_trial: bool, back: bool = False) -> None:
    """Have the taint that closes a cluster to new work, or have it no more."""

    def change(taints: Sequence[Taint]) -> list[Taint]:
        if back:
            return [each for each in taints if not _is_cordon(each)]
        return [*taints, *([] if any(map(_is_cordon, taints)) else [_UNSCHEDULABLE])]

    done = "uncordoned" if back else "cordoned"
    for name in names:
        has_changed = _change(plane.client, name, change, is_trial=is_trial)
        show(f"{name} cluster {'' if has_changed else 'already '}{done}")


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


@dataclass(frozen=True, slots=True)
class Changes:
    """Taints to add, and taints to remove; of the latter, those without an effect mean any."""

    added: tuple[Taint, ...]
    removed: tuple[Taint, ...]

    def apply(self, cluster: str, taints: Sequence[Taint], *, overwrites: bool) -> list[Taint]:
        """The taints that a cluster has then; UsageError if it cannot be meant."""
        there = [each["key"] for each in self.added if any(map(_like(each), taints))]
        if there and not overwrites:
            raise UsageError(
                f"cluster {cluster} already has {','.join(there)} taint(s) with same effect(s) "
                "and --overwrite is false"
            )
        result = [*self.added]
        result += [old for old in taints if not any(_like(new)(old) for new in self.added)]
        for each in self.removed:
            kept = [taint for taint in result if not _is_meant(each, taint)]
            if len(kept) == len(result):
                raise UsageError(f'cluster {cluster}: taint "{_text(each)}" not found')
            result = kept
        return result

    def called(self, *, overwrites: bool) -> str:
        """What has been done, in a word."""
        if overwrites or (self.added and self.removed):
            return "modified"
        return "tainted" if self.added else "untainted"


def read_changes(words: Sequence[str]) -> Changes:
    """What words like key=value:effect and key:effect- ask for."""
    added = [_read(word) for word in words if not word.endswith("-")]
    removed = [_read(word[:-1], is_removed=True) for word in words if word.endswith("-")]
    for position, one in enumerate(added):
        if any(map(_like(one), added[:position])):
            raise UsageError(f"{_text(one)}: there is a taint with this key and effect already")
    both = [each for each in removed if any(_is_meant(each, one) for one in added)]
    if both:
        told = ", ".join(map(_text, both))
        raise UsageError(f"a taint cannot be set and removed by the same command: {told}")
    return Changes(tuple(added), tuple(removed))


def _read(word: str, *, is_removed: bool = False) -> Taint:
    named, colon, effect = word.partition(":")
    key, equals, value = named.partition("=")
    if not key or ":" in effect or "=" in value or not (colon or is_removed):
        raise UsageError(
            f'"{word}" is no taint; write KEY=VALUE:EFFECT or KEY:EFFECT, with a - to remove it'
        )
    if effect not in EFFECTS and (effect or colon):
        raise UsageError(f'"{effect}" is no effect of a taint; there are {", ".join(EFFECTS)}')
    taint = {"key": key, **({"value": value} if equals and value else {})}
    return {**taint, **({"effect": effect} if effect else {})}


def _like(one: Taint) -> Any:
    return lambda other: (one["key"], one["effect"]) == (other["key"], other["effect"])


def _is_meant(wanted: Taint, taint: Taint) -> bool:
    return wanted["key"] == taint["key"] and wanted.get("effect") in (None, taint["effect"])


def _text(taint: Taint) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    effect = f":{taint['effect']}" if taint.get("effect") else ""
    return f"{taint['key']}{value}{effect}"
