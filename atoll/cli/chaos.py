"""`atoll chaos`: let simulated clusters fail, as real ones do, and heal them. Real ones are safe.

What goes wrong is told to the process of the members, through a door of its own. After a restart
every member is well; only what was done to nodes stays.
"""

import json
from contextlib import closing
from typing import Any

import click

from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.failing import CommandFailed, command
from atoll.cli.instance import running
from atoll.cli.known import CLUSTERS
from atoll.cli.options import Span, together
from atoll.cli.output import show_data, show_table
from atoll.cli.printing import show, tell
from atoll.cli.reaching import administrator, find_plane
from atoll.cli.tables import Column
from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused
from atoll.client.transport import Unreachable
from atoll.config import Config

LASTING = ("kill", "slow", "flap", "fill")
_cluster = together(click.argument("cluster", metavar="CLUSTER"), data_dir_option)


@click.group(help="Let simulated clusters fail, and heal them. Real ones are left alone.")
def chaos() -> None:
    """Needs a running server with a fleet."""


@chaos.command("list", help="Show the simulated clusters, and what is wrong with each.")
@data_dir_option
@click.option("-o", "output", type=click.Choice(["json", "yaml"]))
def list_(data_dir: str | None, output: str | None) -> None:
    found = _request(chosen(data_dir), "GET", "")["clusters"]
    if output is not None:
        show_data(found, output)
    else:
        heads = [Column(each) for each in ("CLUSTER", "STATE", "URL")]
        show_table(heads, [(each["name"], _state(each), each["url"]) for each in found])


@chaos.command(help="Be gone: connections break, and new ones are refused.")
@_cluster
@click.option("--hang", is_flag=True, help="Do not refuse new connections: never answer them.")
def kill(cluster: str, data_dir: str | None, *, hang: bool) -> None:
    _do(data_dir, cluster, "kill", hang=hang)


@chaos.command(help="Be well again: reachable, at full speed, and no longer filled.")
@_cluster
def heal(cluster: str, data_dir: str | None) -> None:
    _do(data_dir, cluster, "heal")


@chaos.command(help="Let every answer take this much longer, in seconds.")
@_cluster
@click.argument("seconds", type=Span(bare=True))
def slow(cluster: str, data_dir: str | None, seconds: float) -> None:
    _do(data_dir, cluster, "slow", seconds=seconds)


@chaos.command(help="Be gone and there again by turns.")
@_cluster
@click.option(
    "--every", type=Span(bare=True), default=10.0, show_default=True, help="Each for so long."
)
def flap(cluster: str, data_dir: str | None, every: float) -> None:
    _do(data_dir, cluster, "flap", seconds=every)


@chaos.command("drop-watch", help="Break all open watches, once.")
@_cluster
def drop_watch(cluster: str, data_dir: str | None) -> None:
    _do(data_dir, cluster, "drop-watch")


@chaos.command(help="Have this percentage of the CPU and memory of every node in use.")
@_cluster
@click.argument("percent", type=click.FloatRange(0, 100))
def fill(cluster: str, data_dir: str | None, percent: float) -> None:
    _do(data_dir, cluster, "fill", f"is filled to {percent:g} %", percent=percent)


@chaos.command("lose-node", help="Let a node not be heard of any more, with all the pods on it.")
@_cluster
@click.argument("node")
def lose_node(cluster: str, data_dir: str | None, node: str) -> None:
    _do(data_dir, cluster, "lose-node", f"has lost {node}", node=node)


@chaos.command("find-node", help="Let a lost node be heard of again.")
@_cluster
@click.argument("node")
def find_node(cluster: str, data_dir: str | None, node: str) -> None:
    _do(data_dir, cluster, "find-node", f"has found {node}", node=node)


def _do(data_dir: str | None, cluster: str, fault: str, said: str = "", **how: object) -> None:
    config = chosen(data_dir)
    known = [each["name"] for each in _request(config, "GET", "")["clusters"]]
    if cluster not in known:
        raise _not_simulated(data_dir, cluster, known)
    answer = _request(config, "POST", f"/{cluster}/{fault}", **how)
    if fault == "drop-watch":
        count = answer["broken"]
        said = f"broke {count} watch{'' if count == 1 else 'es'}"
    show(f"cluster/{cluster} {said or _state(answer)} (simulated)")
    if fault in LASTING:
        tell(f"Heal it: {command(config, f'chaos heal {cluster}')}")
    elif fault in ("lose-node", "heal") and answer["lostNodes"]:
        found = f"chaos find-node {cluster} {how.get('node', answer['lostNodes'][0])}"
        tell(f"Find it: {command(config, found)}")


def _state(told: dict[str, Any]) -> str:
    """Everything that is wrong with it."""
    faults = []
    if told["flapSeconds"]:
        faults.append(f"flaps every {told['flapSeconds']:g} s")
    elif told["answers"] != "yes":
        faults.append("does not answer" if told["answers"] == "silent" else "refuses connections")
    if told["slowSeconds"]:
        faults.append(f"answers {told['slowSeconds']:g} s late")
    if told["isFilled"]:
        faults.append("is filled")
    if told["lostNodes"]:
        faults.append(f"has lost {', '.join(told['lostNodes'])}")
    return "; ".join(faults) or "is well"


def _not_simulated(data_dir: str | None, cluster: str, known: list[str]) -> CommandFailed:
    simulated = f"simulated are {', '.join(known)}"
    with closing(find_plane(None, None, data_dir).client) as client:
        if client.find(CLUSTERS.path(name=cluster)) is None:
            return CommandFailed(f'there is no cluster "{cluster}"', simulated)
    return CommandFailed(f'"{cluster}" is a real cluster, which is left alone', simulated)


def _request(config: Config, method: str, path: str, **how: object) -> dict[str, Any]:
    """What the process of the members answers."""
    if running(config) is None:
        attempt = command(config, "up --fleet hybrid")
        raise CommandFailed("no server is running", "", attempt)
    try:
        url = str(json.loads(config.fleet_note.read_bytes())["url"])
    except FileNotFoundError as error:
        why = "this instance has no simulated clusters"
        attempt = "atoll up --fleet hybrid --data-dir DIR, for one that has"
        raise CommandFailed("nothing can be harmed here", why, attempt) from error
    body = json.dumps(how).encode() if method == "POST" else None
    try:
        with closing(PlainClient(administrator(config.faults, url))) as client:
            answer: dict[str, Any] = client.request(method, f"/faults{path}", body=body).json()
            return answer
    except Refused as error:
        raise CommandFailed(str(error)) from error
    except Unreachable as error:
        why = "their process may be starting again"
        attempt = command(config, "status")
        raise CommandFailed("the simulated clusters do not answer", why, attempt) from error
