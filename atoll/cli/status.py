"""`atoll status`: is it running, since when, where, and how much is in it."""

import json
from datetime import datetime
from typing import Any

import click

from atoll.cli.asking import ask
from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.failing import ERROR, CommandFailed, command
from atoll.cli.instance import Note, running
from atoll.cli.printing import seconds, show, size, tell
from atoll.config import Config
from atoll.effects import system_now


@click.command(help="Say if the instance is running; exit code 1 if it is not.")
@data_dir_option
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text")
def status(data_dir: str | None, output: str) -> int:
    config = chosen(data_dir)
    note = running(config)
    if output == "json":
        return _show_json(config, note)
    if note is None:
        show(f"atoll is not running · data in {config.data_dir}")
        tell(f"Start it: {command(config, 'up')}")
        return ERROR
    if not note.url:
        show(f"atoll is starting · data in {config.data_dir}")
        return ERROR
    _show(config, ask(config, note.url, "/atoll/status"))
    return 0


def _show_json(config: Config, note: Note | None) -> int:
    answer: dict[str, Any] = {"running": False, "dataDir": str(config.data_dir)}
    code = ERROR
    if note is not None and note.url:
        try:
            answer |= {"running": True, **ask(config, note.url, "/atoll/status")}
            code = 0
        except CommandFailed as error:
            answer |= {"running": True, "url": note.url, "pid": note.pid, "error": str(error)}
    show(json.dumps(answer))
    return code


def _show(config: Config, answer: dict[str, Any]) -> None:
    started = datetime.fromisoformat(answer["started"])
    age = seconds((system_now() - started).total_seconds())
    rows = {
        "atoll": f"{answer['version']}, running for {age} (process {answer['pid']})",
        "url": answer["url"],
        "data": f"{config.data_dir}",
        "objects": f"{answer['objects']} at revision {answer['revision']}",
        "memory": f"{size(answer['memoryBytes'])}, {answer['connections']} connections",
        "controllers": _controllers(answer),
        **_fleet(answer),
    }
    for name, value in rows.items():
        show(f"{name:<11} {value}")


def _controllers(answer: dict[str, Any]) -> str:
    state = str(answer["controllers"])
    if state == "idle":
        return "idle, there are no clusters and no policies yet"
    if "clusters" not in answer:
        return state
    count, ready = answer["clusters"], answer["clustersReady"]
    return f"{state}, {ready} of {count} clusters ready" if count else f"{state}, no clusters"


def _fleet(answer: dict[str, Any]) -> dict[str, str]:
    """The process of the simulated members, where there is one."""
    fleet = answer.get("fleet")
    if fleet is None:
        return {}
    if fleet["pid"] is None:
        return {"fleet": f"{fleet['name']}, starting"}
    again = f", started {fleet['starts']} times" if fleet["starts"] > 1 else ""
    memory = size(fleet["memoryBytes"])
    return {"fleet": f"{fleet['name']}, {memory} (process {fleet['pid']}{again})"}
