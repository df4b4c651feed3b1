"""`atoll why`: why an object is where it is, from what was recorded when that was decided.

Looks up the binding of an object and the explanation beside it; what would change the decision is
asked of the server, which alone can decide. Nothing is decided here.
"""

from urllib.parse import urlencode

import click

from atoll.cli.completing import complete_types
from atoll.cli.discovering import Kinds
from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.known import (
    BINDINGS,
    EXPLANATIONS,
    POLICIES,
    WIDE_BINDINGS,
    WIDE_EXPLANATIONS,
    WIDE_POLICIES,
)
from atoll.cli.output import JSON, YAML, output_option, show_data, terminal_width
from atoll.cli.picture import Seen, part_of, picture, short
from atoll.cli.places import unknown_cluster
from atoll.cli.printing import show
from atoll.cli.reaching import Plane, plane_options
from atoll.client.collection import Collection
from atoll.client.refusals import Missing, Refused
from atoll.dialects.karmada import names
from atoll.effects import system_now
from atoll.wire import Object

UNPLACED = 4
_DIRECTLY = ("ResourceBinding", "ClusterResourceBinding", "Explanation", "ClusterExplanation")
_EXAMPLES = """\b
Examples:
  atoll why deploy/web -n shop
  atoll why deploy/web -n shop --short
  atoll why deploy/web -n shop --why-not azr-weu
  atoll why deploy/web -n shop --decision 2 -o yaml
"""


@click.command(help=f"Say why an object is where it is, and not elsewhere.\n\n{_EXAMPLES}")
@click.argument(
    "words", metavar="TYPE/NAME", nargs=-1, required=True, shell_complete=complete_types
)
@click.option("-n", "--namespace", default="default", help='In this namespace ["default"].')
@click.option("--short", "shortly", is_flag=True, help="In a few lines.")
@click.option("--decision", type=int, metavar="N", help="An earlier decision, by its number.")
@click.option("--why-not", metavar="CLUSTER", help="One cluster's part only.")
@click.option("--exit-code", "tells", is_flag=True, help="Exit with 4 if it was not placed.")
@click.option("--changes/--no-changes", default=True, help="With what would change it, or without.")
@output_option(JSON, YAML)
@plane_options
def why(
    plane: Plane,
    words: tuple[str, ...],
    namespace: str,
    decision: int | None,
    why_not: str | None,
    *,
    output: str | None,
    shortly: bool,
    tells: bool,
    changes: bool,
) -> int:
    binding = _binding(plane, words, namespace)
    explanation = _explanation(plane, binding)
    told = _chosen(explanation.get("decisions") or [], decision, plane)
    newest = explanation["decisions"][0]
    if output:
        shown = {**explanation, "decisions": [told]} if decision else explanation
        show_data(shown, output)
    else:
        asks = changes and told is newest and not shortly
        seen = Seen(
            decision=told,
            newest=newest.get("number", len(explanation["decisions"])),
            binding=binding,
            policy=_policy(plane, binding),
            now=system_now(),
            changes=_changes(plane, binding) if asks else None,
        )
        _show(seen, plane, why_not, shortly=shortly)
    placed = (told.get("outcome") or {}).get("verdict") == "Success"
    return UNPLACED if tells and not placed else 0


def _show(seen: Seen, plane: Plane, why_not: str | None, *, shortly: bool) -> None:
    if why_not:
        parts = {each["name"]: each for each in seen.clusters}
        if why_not not in parts:
            if len(parts) < seen.decision.get("fleetSize", 0):
                _show_reasons(seen, why_not)
                return
            raise unknown_cluster(why_not, list(parts), plane)
        drawn = part_of(seen, parts[why_not])
    else:
        drawn = short(seen) if shortly else picture(seen, terminal_width())
    for line in drawn:
        show(line)


def _show_reasons(seen: Seen, cluster: str) -> None:
    """Of very many clusters, only those chosen are recorded one by one."""
    show(f"{cluster} is not among those chosen; of the others the reasons are counted:")
    for each in seen.decision.get("reasons") or ():
        show(f"  {each['count']}  {each['reason']}")


def _binding(plane: Plane, words: tuple[str, ...], namespace: str) -> Object:
    """The binding of the object that is meant."""
    if len(words) == 2 and "/" not in words[0]:
        words = ("/".join(words),)
    kind, slash, name = words[0].partition("/")
    if len(words) != 1 or not slash or not name:
        what = "say which object, as TYPE/NAME"
        raise CommandFailed(what, "", "atoll why deploy/web -n shop", code=USAGE)
    resource = Kinds.of(plane.client).find(kind)
    meant = resource.collection
    bindings = BINDINGS if meant.namespaced else WIDE_BINDINGS
    direct = meant.kind in _DIRECTLY
    path = bindings.path(namespace, name if direct else names.binding_name(meant.kind, name))
    try:
        return plane.client.get(path)
    except Missing as missing:
        if not direct:
            _check_there(plane, meant, namespace, name)
            what = f"{kind}/{name} has no binding"
            attempt = plane.command("get pp,cpp -A")
            raise CommandFailed(what, "no policy selects it", attempt) from missing
        raise


def _check_there(plane: Plane, meant: Collection, namespace: str, name: str) -> None:
    try:
        plane.client.get(meant.path(namespace, name))
    except Missing as missing:
        where = f" in namespace {namespace}" if meant.namespaced else ""
        option = f" -n {namespace}" if meant.namespaced and namespace != "default" else ""
        attempt = plane.command(f"get {meant.plural}{option or ' -A'}")
        what = f'there is no {meant.kind} "{name}"{where}'
        raise CommandFailed(what, "", attempt) from missing


def _explanation(plane: Plane, binding: Object) -> Object:
    metadata = binding["metadata"]
    namespace = metadata.get("namespace", "")
    told = EXPLANATIONS if namespace else WIDE_EXPLANATIONS
    try:
        found = plane.client.get(told.path(namespace, metadata["name"]))
    except Missing:
        found = {}
    if not found.get("decisions"):
        conditions = (binding.get("status") or {}).get("conditions") or ()
        said = next((each.get("message") for each in conditions if each["type"] == "Scheduled"), "")
        what = f"{metadata['name']} has not been decided about, or that was not recorded"
        raise CommandFailed(what, said or "", plane.command(f"get rb -n {namespace} -o wide"))
    return found


def _chosen(decisions: list[Object], number: int | None, plane: Plane) -> Object:
    if number is None:
        return decisions[0]
    known = {each.get("number", len(decisions) - at): each for at, each in enumerate(decisions)}
    if number not in known:
        there = f"there are {min(known)} to {max(known)}"
        if len(known) == 1:
            there = f"there is only {max(known)}"
        raise CommandFailed(f"decision {number} is not recorded", there, code=USAGE)
    return known[number]


def _policy(plane: Plane, binding: Object) -> Object | None:
    metadata = binding["metadata"]
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    if names.POLICY_NAME in marks:
        path = POLICIES.path(marks.get(names.POLICY_NAMESPACE, ""), marks[names.POLICY_NAME])
    elif names.CLUSTER_POLICY_NAME in marks:
        path = WIDE_POLICIES.path(name=marks[names.CLUSTER_POLICY_NAME])
    else:
        return None
    try:
        return plane.client.get(path)
    except Refused:
        return None


def _changes(plane: Plane, binding: Object) -> tuple[str, ...] | None:
    """The nearest changes that would alter the decision, as the server finds them, if it does."""
    metadata = binding["metadata"]
    query = {"namespace": metadata.get("namespace", ""), "name": metadata["name"]}
    try:
        answer = plane.client.get("/atoll/changes", urlencode(query))
    except Refused:
        return None
    return tuple(map(str, answer.get("changes") or ()))
