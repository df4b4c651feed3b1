"""`atoll get`: objects of any kind, in the plane and in its members, as kubectl shows them.

The server lays out the tables; members are asked through the plane, all at once, and what one of
them cannot say is told apart from what the others said.
"""

from collections.abc import Sequence

import click

from atoll.cli.completing import complete_types
from atoll.cli.discovering import Kinds
from atoll.cli.failing import ERROR, USAGE, CommandFailed
from atoll.cli.output import DATA, JSON, NAME, WIDE, YAML, listed, output_option, show_data
from atoll.cli.places import clusters_option, places, scope_option
from atoll.cli.printing import show, tell, tell_error
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.rows import Rows
from atoll.cli.seeking import Found, Quest, named_quests, seek, watch

_EXAMPLES = """\b
Examples:
  atoll get deploy -n shop
  atoll get clusters,rb -A -o wide
  atoll get deploy/web -n shop -s all
  atoll get pods -n shop -C 'idc-*'
  atoll get deploy -A -C region=cn-east
"""


@click.command(help=f"Show objects of the plane, or of members with -C or -s.\n\n{_EXAMPLES}")
@click.argument(
    "words",
    metavar="TYPE [NAME...] | TYPE/NAME...",
    nargs=-1,
    required=True,
    shell_complete=complete_types,
)
@click.option("-n", "--namespace", help='In this namespace [default: "default"].')
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="In all namespaces.")
@click.option("-l", "--selector", default="", help="Only what has these labels: a=b,c!=d.")
@click.option("--field-selector", default="", help="Only what has these fields.")
@clusters_option
@scope_option
@output_option(JSON, YAML, WIDE, NAME)
@click.option("-w", "--watch", "watching", is_flag=True, help="Go on showing what changes.")
@click.option("--no-headers", is_flag=True, help="Without the first line.")
@click.option("--show-labels", is_flag=True, help="With a last column of all labels.")
@click.option("--ignore-not-found", is_flag=True, help="What is not there is no error.")
@plane_options
def get(
    plane: Plane,
    words: tuple[str, ...],
    namespace: str | None,
    selector: str,
    field_selector: str,
    *,
    chosen: str | None,
    scope: str | None,
    output: str | None,
    everywhere: bool,
    watching: bool,
    no_headers: bool,
    show_labels: bool,
    ignore_not_found: bool,
) -> int:
    where = places(plane, chosen, scope)
    kinds = Kinds.of(plane.client)
    within = "" if everywhere else namespace or "default"
    asked = {"labelSelector": selector, "fieldSelector": field_selector}
    quests = named_quests(kinds, words, within, asked)
    if any(each.names for each in quests) and (selector or everywhere):
        raise CommandFailed("a name cannot be combined with -l or -A", code=USAGE)
    rows = Rows(
        everywhere=everywhere,
        members=any(each.is_member for each in where),
        wide=output == WIDE,
        labels=show_labels,
        head=not no_headers,
    )
    if watching:
        if len(quests) > 1 or output not in (None, WIDE):
            raise CommandFailed("-w is about one kind, shown as a table", code=USAGE)
        return watch(plane.client, quests[0], where, rows)
    found = [seek(plane.client, quest, where, whole=output in DATA) for quest in quests]
    if output in DATA:
        _show_objects(found, quests, output)
    elif output == NAME:
        for each in found:
            for row in each.rows:
                show(f"{each.resource.title}/{row.name}")
    else:
        _show_tables(found, rows, within)
    return _tell_failures(found, ignore_not_found=ignore_not_found)


def _show_objects(found: Sequence[Found], quests: Sequence[Quest], output: str) -> None:
    objects = [row.object for each in found for row in each.rows]
    single = len(quests) == 1 and len(quests[0].names) == 1 and len(objects) == 1
    if single:
        show_data(objects[0], output)
    elif objects or not any(quest.names for quest in quests):
        show_data(listed(objects), output)


def _show_tables(found: Sequence[Found], rows: Rows, within: str) -> None:
    there = [each for each in found if each.rows]
    for at, each in enumerate(there):
        if at:
            show("")
        prefix = f"{each.resource.title}/" if len(found) > 1 else ""
        for line in rows.lines(each.rows, each.resource.collection, prefix):
            show(line)
    if not there and not any(each.failures for each in found):
        is_namespaced = any(each.resource.collection.namespaced for each in found)
        inside = f" in {within} namespace" if within and is_namespaced else ""
        tell(f"No resources found{inside}.")


def _tell_failures(found: Sequence[Found], *, ignore_not_found: bool) -> int:
    code = 0
    for each in found:
        for failure in each.failures:
            if failure.missing and ignore_not_found:
                continue
            tell_error(failure.text)
            code = ERROR
    return code
