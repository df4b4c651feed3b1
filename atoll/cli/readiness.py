"""What is said once a server is ready: by itself in the foreground, else by who has started it."""

from collections.abc import Sequence
from typing import Any

from atoll.cli.failing import command
from atoll.cli.printing import done, seconds, show, size, tell
from atoll.config import Config

NAMES_SHOWN = 8


def say_ready(config: Config, facts: dict[str, Any], took_s: float, stop: str) -> None:
    if facts["busyPort"] is not None:
        tell(f" ! port {facts['busyPort']} is taken by another program; using another one")
    tell(done("store", facts["found"]))
    tell(done("api server", facts["url"]))
    if facts["members"]:
        count, names = len(facts["members"]), _listed(facts["members"])
        tell(done("fleet", f"{count} simulated clusters: {names}"))
    if facts["late"]:
        tell(f" ! not ready yet: {_listed(facts['late'])}; see: {command(config, 'status')}")
    memory = size(facts["memoryBytes"])
    show(f"Ready in {seconds(took_s)} · {memory} · data in {config.data_dir} · stop: {stop}")
    path = command(config, "kubeconfig path")
    what = "clusters" if facts["members"] else "namespaces"
    show(f"Next: export KUBECONFIG=$({path}) && kubectl get {what}")


def _listed(names: Sequence[str]) -> str:
    """Names in a line; of very many, the first."""
    rest = len(names) - NAMES_SHOWN
    return ", ".join([*names[:NAMES_SHOWN], *([f"and {rest} more"] if rest > 0 else [])])
