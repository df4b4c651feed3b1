"""`atoll rebalance`: what would be saved, or evened out, by placing workloads anew; and doing so.

The plane tries out what its scheduler would decide, and proposes what is worth it; that is shown,
and asked for with a WorkloadRebalancer if the user wants it. Nothing is decided here.
"""

import time
from collections.abc import Iterable
from contextlib import closing
from urllib.parse import urlencode

import click

from atoll.cli.amounts import count_of, hourly, monthly
from atoll.cli.applying import wait
from atoll.cli.failing import CommandFailed, need_terminal
from atoll.cli.known import BINDINGS, REBALANCERS, WIDE_BINDINGS
from atoll.cli.output import JSON, WIDE, YAML, output_option, show_data, show_table, versioned
from atoll.cli.printing import show, tell
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.tables import Column
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing
from atoll.wire import Object

COST, BALANCE = "cost", "balance"
_WITHIN_S, _SECOND_S = 60.0, 1.0
_PATIENCE_S = 300.0
"""Everything that runs is decided once: that takes a second for two thousand workloads."""
_KEPT_S = 3600
"""So long the WorkloadRebalancer stays, for whoever wants to know what was asked for."""
_SHOWN = 8
_EXAMPLES = """\b
Examples:
  atoll rebalance
  atoll rebalance -n shop --goal balance --max-moves 5
  atoll rebalance -n shop --apply --yes
"""
_COLUMNS = (
    Column("WORKLOAD"),
    Column("FROM"),
    Column("TO"),
    Column("SAVES"),
    Column("DISRUPTS", 1),
    Column("WHY", 2),
)
_HELP = """Propose what is worth placing anew, and do so with --apply.

A workload that runs stays where it is, even if its policy would have it placed elsewhere by now.
What is proposed is what the scheduler would decide if it were asked to place these workloads anew,
one after the other; it is asked that with a WorkloadRebalancer.
"""


@click.command(help=f"{_HELP}\n{_EXAMPLES}")
@click.option(
    "--goal",
    type=click.Choice([COST, BALANCE]),
    default=COST,
    show_default=True,
    help="Spend less, or have the fullest clusters less full.",
)
@click.option(
    "--max-moves",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="Move so many workloads at most.",
)
@click.option("-n", "--namespace", default="", help="Workloads of this namespace [default: all].")
@click.option("--apply", "applies", is_flag=True, help="Have them placed anew.")
@click.option("--yes", is_flag=True, help="Do not ask before that.")
@output_option(JSON, YAML, WIDE)
@plane_options
def rebalance(
    plane: Plane,
    goal: str,
    max_moves: int,
    namespace: str,
    *,
    applies: bool,
    yes: bool,
    output: str | None,
) -> None:
    if applies and not yes:
        need_terminal("nothing was moved", "--yes")
    query = urlencode({"goal": goal, "most": max_moves, "namespace": namespace})
    proposal = _proposal(plane, query)
    moves, is_data = proposal["moves"], output in (JSON, YAML)
    if not is_data:
        _show(proposal, goal, output)
    name = ""
    if applies and moves:
        if not yes:
            click.confirm(f"Place {count_of(len(moves), 'workload')} anew?", abort=True, err=True)
            if _proposal(plane, query)["moves"] != moves:
                what = "nothing was moved: what would come of it has changed meanwhile"
                raise CommandFailed(what, "", plane.command("rebalance --apply"))
        name = _apply(plane, moves)
    if output is not None and is_data:
        applied = {"rebalancer": name} if name else {}
        show_data(versioned("Rebalancing", goal=goal, **proposal, **applied), output)
    elif name:
        show(f"{count_of(len(moves), 'workload')} moved as proposed")
    elif moves:
        where = f" -n {namespace}" if namespace else ""
        words = f"rebalance{where} --goal {goal} --max-moves {max_moves} --apply"
        show(f"Nothing was moved. Do it: {plane.command(words)}")


def _proposal(plane: Plane, query: str) -> Object:
    try:
        with closing(PlainClient(plane.client.endpoint, _PATIENCE_S)) as client:
            return client.get("/atoll/moves", query)
    except Missing as missing:
        why = "only one that `atoll up` has started does, once its controllers run"
        raise CommandFailed("this plane does not tell what would be moved", why) from missing


# Applied.


def _apply(plane: Plane, moves: list[Object]) -> str:
    """Have the moves made, and wait until they are; CommandFailed if others came of it."""
    named = [{key: value for key, value in each["workload"].items() if value} for each in moves]
    wish = {
        "apiVersion": REBALANCERS.api_version,
        "kind": REBALANCERS.kind,
        "metadata": {"generateName": "atoll-rebalance-"},
        "spec": {"workloads": named, "ttlSecondsAfterFinished": _KEPT_S},
    }
    # A wish is of a whole second, and who was decided within that second is not placed anew by it.
    time.sleep(_SECOND_S)
    made = plane.client.create(REBALANCERS, wish)["metadata"]
    name, since = str(made["name"]), str(made["creationTimestamp"])
    tell(f"workloadrebalancer.apps.karmada.io/{name} created")
    late = list(moves)

    def are_decided() -> bool:
        late[:] = [each for each in late if not _is_decided(_binding(plane, each), since)]
        return not late

    wait(are_decided, f"all {len(moves)} are placed anew", _WITHIN_S)
    otherwise = [each for each in moves if _runs(_binding(plane, each)) != _placed(each["to"])]
    if otherwise:
        first = otherwise[0]
        now = _named(_runs(_binding(plane, first)).items()) or "nowhere"
        what = f"{len(otherwise)} of {len(moves)} were placed otherwise than proposed"
        workload = first["workload"]
        attempt = f"why {workload['kind'].lower()}/{workload['name']}"
        option = f" -n {workload['namespace']}" if workload["namespace"] else ""
        why = f"something has changed meanwhile: {_title(first)} is at {now}"
        raise CommandFailed(what, why, plane.command(f"{attempt}{option}"))
    return name


def _binding(plane: Plane, move: Object) -> Object:
    namespace = move["workload"]["namespace"]
    collection = BINDINGS if namespace else WIDE_BINDINGS
    return plane.client.get(collection.path(namespace, move["binding"]))


def _is_decided(binding: Object, since: str) -> bool:
    """Whether it was placed anew since then; all moments are told in the same form."""
    asked = binding["spec"].get("rescheduleTriggeredAt") or ""
    last = (binding.get("status") or {}).get("lastScheduledTime") or ""
    return bool(since <= asked <= last)


def _runs(binding: Object) -> dict[str, int]:
    return _placed(binding["spec"].get("clusters") or ())


def _placed(targets: Iterable[Object]) -> dict[str, int]:
    return {each["name"]: each.get("replicas", 0) for each in targets}


# Shown.


def _show(proposal: Object, goal: str, output: str | None) -> None:
    moves, currency = proposal["moves"], proposal["currency"]
    if moves:
        show_table(_COLUMNS, [_row(each, currency) for each in moves], output)
        _show_totals(proposal)
    else:
        show(f"Nothing to gain: {_none(proposal, goal)}")
    unpriced = proposal["unpriced"]
    for each in unpriced[:_SHOWN]:
        show(f"! {each['cluster']} has no price that counts: {each['why']}")
    if len(unpriced) > _SHOWN:
        show(f"! {len(unpriced) - _SHOWN} more have none")
    unmeasured = proposal["unmeasured"]
    if goal == BALANCE and unmeasured:
        show(f"! how full they are is not known of: {', '.join(unmeasured[:_SHOWN])}")


def _none(proposal: Object, goal: str) -> str:
    workloads = count_of(proposal["lookedAt"], "workload")
    less = "cost less" if goal == COST else "leave the clusters more even"
    return f"of {workloads}, none would {less} if it were placed anew"


def _row(move: Object, currency: str) -> list[str]:
    ran, runs = _placed(move["from"]), _placed(move["to"])
    left = {name: count - runs.get(name, 0) for name, count in ran.items()}
    came = {name: count - ran.get(name, 0) for name, count in runs.items()}
    return [
        _title(move),
        _named((name, count) for name, count in left.items() if count > 0),
        _named((name, count) for name, count in came.items() if count > 0),
        _money(move["savingPerHour"], currency),
        move["disrupts"],
        move["why"],
    ]


def _title(move: Object) -> str:
    workload = move["workload"]
    parts = (workload["namespace"], f"{workload['kind'].lower()}/{workload['name']}")
    return "/".join(filter(None, parts))


def _named(targets: Iterable[tuple[str, int]]) -> str:
    return " ".join(f"{name}:{count}" for name, count in targets)


def _money(amount: str | None, currency: str) -> str:
    if amount is None:
        return "not known"
    cost = f"{' '.join(filter(None, (amount, currency)))} per hour"
    return f"{hourly(cost)}{monthly(cost)}"


def _show_totals(proposal: Object) -> None:
    before, after, currency = proposal["before"], proposal["after"], proposal["currency"]
    unknown = proposal["costUnknownIn"]
    without = f", without what runs in {', '.join(unknown[:_SHOWN])}" if unknown else ""
    costs = (_money(each["costPerHour"], currency) for each in (before, after))
    show(f"Cost:    {' → '.join(costs)}{without}")
    levels = (
        f"{each['fullestCluster']} {float(each['fullestShare']):.1%}"
        for each in (before, after)
        if each["fullestCluster"]
    )
    show(f"Fullest: {' → '.join(levels) or 'not known'}")
