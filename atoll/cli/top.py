"""`atoll top`: how full each cluster is, what it costs, and how many replicas of a size would fit.

Clusters' own reports and prices come from the plane's API; what would fit is asked of the server,
and the answer says by whose word. Workloads are told by what their bindings say.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from urllib.parse import urlencode

import click

from atoll.cli.amounts import hourly
from atoll.cli.failing import USAGE, CommandFailed
from atoll.cli.known import BINDINGS, EXPLANATIONS, PRICES, WIDE_BINDINGS, WIDE_EXPLANATIONS
from atoll.cli.output import (
    DATA,
    JSON,
    NAME,
    WIDE,
    YAML,
    output_option,
    show_data,
    show_table,
    terminal_width,
    versioned,
)
from atoll.cli.printing import show, tell
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.tables import Column, bar
from atoll.client.refusals import Refused
from atoll.dialects.karmada import annotations
from atoll.errors import Invalid
from atoll.members.objects import clusters_of
from atoll.model.price import NANO
from atoll.model.quantity import parse
from atoll.wire import Object

UNKNOWN = "<unknown>"
_GIB = 1 << 30
_BAR, _ROOMY = 20, 120
_NODE_VIEW = "node view"
_USUAL_FITS = "2,4Gi"
_EXAMPLES = """\b
Examples:
  atoll top
  atoll top --fits 500m,1Gi
  atoll top clusters -o json
  atoll top workloads -n shop
"""
_CLUSTER_COLUMNS = (
    Column("CLUSTER"),
    Column("PROVIDER", 5),
    Column("REGION", 4),
    Column("READY"),
    Column("NODES", 3),
    Column("CPU-REQ"),
    Column("FILL", 6),
    Column("MEM%", 1),
    Column("PRICE/CORE-H", 2),
    Column("FREE-FITS*"),
    Column("TAINTS", 7),
)
_WORKLOAD_COLUMNS = (
    Column("NAMESPACE", 2),
    Column("NAME"),
    Column("KIND", 3),
    Column("REPLICAS"),
    Column("CPU-REQ", 4),
    Column("MEM-REQ", 5),
    Column("CLUSTERS"),
    Column("COST", 1),
)


@click.command(help=f"Show how full clusters are, or what workloads take.\n\n{_EXAMPLES}")
@click.argument("what", type=click.Choice(["clusters", "workloads"]), default="clusters")
@click.option(
    "--fits",
    metavar="CPU,MEMORY",
    default=_USUAL_FITS,
    show_default=True,
    help="Count how many replicas of this size would fit.",
)
@click.option("-n", "--namespace", default="", help="Workloads of this namespace [default: all].")
@output_option(JSON, YAML, WIDE, NAME)
@plane_options
def top(plane: Plane, what: str, fits: str, namespace: str, *, output: str | None) -> None:
    if what == "workloads":
        _show_workloads(plane, namespace, output)
    else:
        _show_clusters(plane, _size(fits), output)


def _size(written: str) -> dict[str, str]:
    """`500m,1Gi` as requests; CommandFailed if it is none."""
    cpu, _, memory = (part.strip() for part in written.partition(","))
    found = {"cpu": cpu, "memory": memory or "0"}
    for each in found.values():
        value = parse(each)
        if value is None or value < 0:
            what = f'--fits "{written}": "{each}" is no quantity'
            raise CommandFailed(what, "", "--fits 500m,1Gi", code=USAGE)
    asked = {key: each for key, each in found.items() if parse(each)}
    if not asked:
        raise CommandFailed(f'--fits "{written}" asks for nothing', "", "--fits 500m", code=USAGE)
    return asked


# Clusters.


def _show_clusters(plane: Plane, size: dict[str, str], output: str | None) -> None:
    clusters = clusters_of(plane.client)
    if output == NAME:
        for each in clusters:
            show(f"cluster.cluster.karmada.io/{each['metadata']['name']}")
        return
    fitting, by = _fits(plane, size)
    priced = _prices(plane)
    told = [_cluster(each, priced, fitting, by) for each in clusters]
    if output in DATA:
        show_data(versioned("ClusterUse", size=size, clusters=told), output)
        return
    if not told:
        tell(f"There are no clusters yet; try: {plane.command('join --help')}")
        return
    length = _BAR if output == WIDE or (terminal_width() or _ROOMY) >= _ROOMY else _BAR // 2
    show_table(_CLUSTER_COLUMNS, [_cluster_row(each, length) for each in told], output)
    meant = " / ".join(f"{value} CPU" if key == "cpu" else value for key, value in size.items())
    if not by:
        tell("* this server does not tell what would fit")
        return
    reported = "; ~ as the cluster reports it" if any(map(_is_reported, told)) else ""
    show(f"* replicas of {meant} that fit node by node{reported} (change with --fits 500m,1Gi)")


def _cluster(
    cluster: Object, priced: Mapping[str, str], fitting: Mapping[str, int], by: Mapping[str, str]
) -> Object:
    name, spec = cluster["metadata"]["name"], cluster.get("spec") or {}
    status = cluster.get("status") or {}
    summary, nodes = status.get("resourceSummary") or {}, status.get("nodeSummary") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    written = cluster["metadata"].get("annotations") or {}
    return {
        "name": name,
        "provider": spec.get("provider", ""),
        "region": spec.get("region", ""),
        "ready": conditions.get("Ready", "Unknown"),
        "nodes": {"ready": nodes.get("readyNum"), "total": nodes.get("totalNum")},
        "cpu": _use(summary, "cpu"),
        "memory": _use(summary, "memory"),
        "pricePerCPUHour": priced.get(name) or _annotated(written),
        "fits": fitting.get(name),
        "fitsBy": by.get(name, ""),
        "taints": [_taint(each) for each in spec.get("taints") or ()],
    }


def _use(summary: Object, resource: str) -> dict[str, str | None]:
    """What is taken, or about to be, and what there is; None where it is not known."""
    taken = [
        parse(str((summary.get(key) or {}).get(resource, "0"))) or Decimal(0)
        for key in ("allocated", "allocating")
    ]
    there = (summary.get("allocatable") or {}).get(resource)
    found = None if there is None else parse(str(there))
    return {
        "requested": f"{sum(taken):f}" if there is not None else None,
        "allocatable": None if found is None else f"{found:f}",
    }


def _cluster_row(told: Object, length: int) -> list[str]:
    taken, there = (_number(told["cpu"][key]) for key in ("requested", "allocatable"))
    memory = [_number(told["memory"][key]) for key in ("requested", "allocatable")]
    nodes, known = told["nodes"], taken is not None and there is not None
    ready, total = nodes["ready"], nodes["total"]
    return [
        told["name"],
        told["provider"] or "-",
        told["region"] or "-",
        told["ready"],
        UNKNOWN if total is None else f"{total}" if ready == total else f"{ready}/{total}",
        f"{_short(taken)}/{_short(there)}" if known else UNKNOWN,
        bar(float(taken or 0), float(there or 0), length) if known else "",
        f"{memory[0] / memory[1] * 100:.0f}" if memory[0] is not None and memory[1] else "-",
        told["pricePerCPUHour"] or "-",
        "-" if told["fits"] is None else f"{'~' if _is_reported(told) else ''}{told['fits']}",
        ",".join(told["taints"]) or "-",
    ]


def _is_reported(told: Object) -> bool:
    """Whether what fits is what the cluster says of itself, for want of a look at its nodes."""
    return bool(told["fitsBy"] not in ("", _NODE_VIEW))


def _fits(plane: Plane, size: dict[str, str]) -> tuple[Mapping[str, int], Mapping[str, str]]:
    """By cluster, what would fit, and by whose word; nothing where the server does not say."""
    try:
        answer = plane.client.get("/atoll/fits", urlencode(size))
    except Refused:
        return {}, {}
    return answer["fits"], answer["by"]


def _prices(plane: Plane) -> dict[str, str]:
    """By cluster, the price of a CPU-hour that is in force."""
    try:
        found = plane.client.list(PRICES)
    except Refused:
        return {}
    told = {}
    for each in found:
        conditions = (each.get("status") or {}).get("conditions") or ()
        spec, in_force = each["spec"], any(one.get("status") == "True" for one in conditions)
        if in_force and spec.get("perCPUHour"):
            cluster = spec.get("cluster") or each["metadata"]["name"]
            told[cluster] = f"{spec['perCPUHour']} {spec['currency']}"
    return told


def _annotated(written: Mapping[str, str]) -> str | None:
    try:
        price = annotations.price(written)
    except Invalid:
        return None
    if price is None or price.cpu is None:
        return None
    return f"{Decimal(price.cpu) / NANO:.4f} {price.currency}".rstrip()


def _taint(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


# Workloads.


def _show_workloads(plane: Plane, namespace: str, output: str | None) -> None:
    bindings = plane.client.list(BINDINGS, namespace)
    costs = _costs(plane.client.list(EXPLANATIONS, namespace))
    if not namespace:
        bindings += plane.client.list(WIDE_BINDINGS)
        costs |= _costs(plane.client.list(WIDE_EXPLANATIONS))
    told = [_workload(each, costs) for each in bindings]
    if output in DATA:
        show_data(versioned("WorkloadUse", workloads=told), output)
    elif output == NAME:
        for one in told:
            show(f"{one['kind'].lower()}/{one['name']}")
    elif told:
        show_table(_WORKLOAD_COLUMNS, [_workload_row(each) for each in told], output)
    else:
        tell(f"No workloads found; try: {plane.command('demo web')}")


def _costs(explanations: Iterable[Object]) -> dict[tuple[str, str], str]:
    return {
        (each["metadata"].get("namespace", ""), each["metadata"]["name"]): decisions[0]["cost"]
        for each in explanations
        if (decisions := each.get("decisions")) and decisions[0].get("cost")
    }


def _workload(binding: Object, costs: Mapping[tuple[str, str], str]) -> Object:
    metadata, spec = binding["metadata"], binding["spec"]
    resource, targets = spec["resource"], spec.get("clusters") or []
    requests = (spec.get("replicaRequirements") or {}).get("resourceRequest") or {}
    placed = sum(each.get("replicas", 0) for each in targets)
    there = {
        key: f"{value * placed:f}"
        for key in ("cpu", "memory")
        if (value := parse(str(requests.get(key, "")))) is not None
    }
    return {
        "namespace": resource.get("namespace", ""),
        "name": resource["name"],
        "kind": resource["kind"],
        "replicas": {"wanted": spec.get("replicas", 0), "placed": placed},
        "requested": there,
        "clusters": [
            {"name": each["name"], "replicas": each.get("replicas", 0)} for each in targets
        ],
        "cost": costs.get((metadata.get("namespace", ""), metadata["name"]), ""),
    }


def _workload_row(told: Object) -> list[str]:
    replicas, requested = told["replicas"], told["requested"]
    places = [
        f"{each['name']}:{each['replicas']}" if each["replicas"] else each["name"]
        for each in told["clusters"]
    ]
    short = replicas["placed"] < replicas["wanted"]
    count = f"{replicas['placed']}/{replicas['wanted']}" if short else str(replicas["placed"])
    return [
        told["namespace"] or "-",
        told["name"],
        told["kind"],
        count,
        _short(_number(requested.get("cpu"))),
        _bytes(_number(requested.get("memory"))),
        " ".join(places) or "-",
        hourly(told["cost"]) or "-",
    ]


# Numbers.


def _number(written: str | None) -> Decimal | None:
    return None if written is None else Decimal(written)


def _short(number: Decimal | None) -> str:
    """A number of cores as short as it is exact enough to read."""
    if number is None:
        return "-"
    return f"{number:.0f}" if number == int(number) or number >= 100 else f"{number:.1f}"


def _bytes(number: Decimal | None) -> str:
    return "-" if number is None else f"{_short(number / _GIB)}Gi"
