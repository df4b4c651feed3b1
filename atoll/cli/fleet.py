"""`atoll fleet`: which simulated members one can have, and whether a file of one's own is right."""

import json
from decimal import Decimal

import click

from atoll.cli.amounts import count_of
from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.notifying import notifying
from atoll.cli.options import log_options
from atoll.cli.output import show_table
from atoll.cli.printing import show
from atoll.cli.tables import Column
from atoll.config import LogChoice
from atoll.dialects.karmada.annotations import PRICE
from atoll.model.quantity import parse
from atoll.simulated.choosing_fleet import PRESETS, find_fleet, fleet_text
from atoll.simulated.fleets import Description, Fleet

GIB = 2**30


@click.group(help="Show the fleets of simulated clusters that `atoll up --fleet` can bring.")
def fleet() -> None:
    """Needs no running server."""


@fleet.command("list", help="List the fleets that are there from the beginning.")
def list_() -> None:
    rows = [
        (each.name, str(len(each.clusters)), str(each.node_count), each.about)
        for each in map(find_fleet, PRESETS)
    ]
    show_table([Column(each) for each in ("NAME", "CLUSTERS", "NODES", "ABOUT")], rows)


@fleet.command("show", help="Show the clusters of a fleet; -o yaml is a start for one's own.")
@click.argument("name", metavar="PRESET|FILE")
@click.option("-o", "output", type=click.Choice(["text", "yaml", "json"]), default="text")
def show_(name: str, output: str) -> None:
    found = find_fleet(name)
    if output == "yaml":
        show(fleet_text(name).decode().rstrip("\n"))
    elif output == "json":
        show(json.dumps(found.document))
    else:
        heads = ("CLUSTER", "PROVIDER", "REGION", "NODES", "CPU", "MEMORY", "PRICE", "TAINTS")
        show_table([Column(each) for each in heads], [_row(each) for each in found.clusters])


@fleet.command(help="Say whether a file describes a fleet, or what is wrong with it and where.")
@click.argument("file", metavar="FILE")
def validate(file: str) -> None:
    show(f"{file} is a fleet of {_size(find_fleet(file))}")


@fleet.command(hidden=True, help="Be the process of an instance's simulated members.")
@data_dir_option
@click.option("--host")
@click.option("--life-fd", type=int, required=True)
@click.option("--notify-fd", type=int, required=True)
@log_options
def serve(
    data_dir: str | None, host: str | None, life_fd: int, notify_fd: int, *, logs: LogChoice
) -> None:
    config = chosen(data_dir, host=host)
    from atoll.cli.logs import log_to_file
    from atoll.effects import system_effects
    from atoll.simulated.process import run_process

    log_to_file(config.fleet_log, logs)
    with notifying(notify_fd) as notify:
        run_process(config, system_effects(), life_fd, lambda facts: notify({"ready": facts}))


def _size(found: Fleet) -> str:
    clusters, nodes = len(found.clusters), found.node_count
    return f"{count_of(clusters, 'cluster')} with {count_of(nodes, 'node')}"


def _row(one: Description) -> tuple[str, ...]:
    cpu = sum(_amount(pool.cpu) * pool.count for pool in one.pools)
    memory = sum(_amount(pool.memory) * pool.count for pool in one.pools)
    nodes = sum(pool.count for pool in one.pools)
    return (
        *(one.name, one.provider or "-", one.region or "-", str(nodes)),
        *(f"{cpu:f}", f"{memory / GIB:.0f}Gi"),
        *(one.annotations.get(PRICE, "-"), ",".join(one.taints) or "-"),
    )


def _amount(written: str) -> Decimal:
    found = parse(written)
    assert found is not None, "a fleet that was read has quantities only"
    return found
