"""Where a command looks: the plane, members through the plane, or both.

`-C` and `-s` come in, with the clusters that are registered; places go out, each with the path
under which its API is found on the plane's own server. Nothing is written to members this way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

import click

from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.known import CLUSTERS
from atoll.cli.reaching import Plane
from atoll.members.objects import clusters_of
from atoll.wire import Object

CONTROL = "(control)"
PLANE, MEMBERS, ALL = "karmada", "members", "all"
_FIELDS = ("provider", "region", "zone")


@dataclass(frozen=True, slots=True)
class Place:
    """An API to look at: the plane's own has no prefix."""

    name: str
    prefix: str = ""

    @property
    def is_member(self) -> bool:
        return bool(self.prefix)


def _complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of clusters that go on as typed; after a comma, those not yet named."""
    from atoll.cli.completing import cluster_names

    before, comma, last = incomplete.rpartition(",")
    names = (name for name in cluster_names(context) if name not in before.split(","))
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


clusters_option = click.option(
    *("-C", "--clusters", "chosen"),
    metavar="NAMES",
    shell_complete=_complete,
    help="In these members: names or patterns such as idc-*, or a label or field such as "
    "region=cn-east, separated by commas; implies -s members.",
)
scope_option = click.option(
    *("-s", "--operation-scope", "scope"),
    type=click.Choice([PLANE, "control", MEMBERS, ALL]),
    help="Look at the plane (karmada, or control), at members, or at all [default: the plane].",
)


def places(plane: Plane, chosen: str | None, scope: str | None) -> list[Place]:
    """The places that the options mean."""
    scope = scope or (MEMBERS if chosen else PLANE)
    if scope in (PLANE, "control"):
        if chosen:
            why = "-C is about members, and -s says not to look at them"
            raise CommandFailed(why, "", "-s members or -s all", code=USAGE)
        return [Place(CONTROL)]
    found = clusters_of(plane.client)
    names = selected(found, chosen, plane) if chosen else [_name(each) for each in found]
    members = [Place(name, f"{CLUSTERS.path(name=name)}/proxy") for name in sorted(names)]
    return [Place(CONTROL), *members] if scope == ALL else members


def selected(clusters: Sequence[Object], chosen: str, plane: Plane) -> list[str]:
    """The clusters that names, patterns, labels and fields mean; each must mean one at least."""
    found: dict[str, None] = {}
    for word in filter(None, (each.strip() for each in chosen.split(","))):
        matching = [_name(each) for each in clusters if _is_meant(each, word)]
        if not matching:
            raise unknown_cluster(word, [_name(each) for each in clusters], plane)
        found |= dict.fromkeys(matching)
    if not found:
        raise CommandFailed("-C names no cluster", "", plane.command("get clusters"), code=USAGE)
    return list(found)


def unknown_cluster(word: str, names: Sequence[str], plane: Plane) -> CommandFailed:
    """A cluster that is not there, with the one that may have been meant."""
    near = get_close_matches(word, names, n=1, cutoff=0.5)
    what = f'cluster "{word}" is not registered'
    if "=" in word or "*" in word:
        what = f'no cluster is "{word}"'
    meant = f'did you mean "{near[0]}"?' if near else ""
    return CommandFailed(what, meant, plane.command("get clusters"))


def _is_meant(cluster: Object, word: str) -> bool:
    key, equals, value = word.partition("=")
    if not equals:
        return fnmatchcase(_name(cluster), word)
    labels = cluster["metadata"].get("labels") or {}
    return value in (labels.get(key), *_field(cluster, key))


def _field(cluster: Object, key: str) -> Iterator[str]:
    if key in _FIELDS:
        spec = cluster.get("spec") or {}
        yield spec.get(key, "")
        yield from (spec.get("zones") or ()) if key == "zone" else ()


def _name(cluster: Object) -> str:
    return str(cluster["metadata"]["name"])
