"""What a server's process does: `atoll up` starts it, and then gives way to it or not.

What the user has chosen comes in as data, so that what reads command lines is no part of a server.
In the background it tells through a pipe when it is ready, or why it will never be; in the
foreground it tells the user.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import atoll
from atoll.cli.failing import CommandFailed, command, unusable
from atoll.cli.instance import Note, claim, write_note
from atoll.cli.notifying import notifying
from atoll.cli.printing import done, seconds, show, size, tell
from atoll.config import Config
from atoll.errors import Damaged, NotDurable
from atoll.runtime.programs import own_program


@dataclass(frozen=True, slots=True)
class Order:
    """What a server's process is told."""

    config: Config
    begun: float  # when the user asked for it, on the monotonic clock
    notify_fd: int | None = None  # none in the foreground


def program(order: Order) -> list[str]:
    """What runs such a server."""
    return own_program("atoll.cli.server", msgspec.json.encode(order, enc_hook=str).decode())


def read_order(written: str) -> Order:
    return msgspec.json.decode(written, type=Order, dec_hook=_read_path)


def _read_path(kind: type, value: Any) -> Path:
    assert kind is Path, kind
    return Path(value)


def serve(order: Order) -> int:
    """Serve until stopped."""
    from atoll.cli.logs import log_to_file, log_to_terminal

    if order.notify_fd is not None:
        log_to_file(order.config.log_file, order.config.logs)
        with notifying(order.notify_fd) as notify:
            _be_server(order.config, lambda facts: notify({"ready": facts}))
    else:
        log_to_terminal(order.config.logs)
        _be_server(order.config, partial(_say_ready, order))
    return 0


def _say_ready(order: Order, facts: dict[str, Any]) -> None:
    say_ready(order.config, facts, time.monotonic() - order.begun, stop="Ctrl-C")


def _be_server(config: Config, on_ready: Callable[[dict[str, Any]], None]) -> None:
    """Serve until stopped, as the only one in this directory."""
    descriptor = claim(config)
    # Only now: this imports everything there is, and a second server needs none of it.
    from atoll.effects import system_effects
    from atoll.main import Ready, run_process

    def ready(facts: Ready) -> None:
        write_note(config, Note(os.getpid(), facts.url, facts.started, atoll.__version__))
        on_ready(
            {
                "url": facts.url,
                "found": facts.found,
                "busyPort": facts.busy_port,
                "members": facts.members,
                "late": facts.late,
                "memoryBytes": facts.memory_bytes,
            }
        )

    try:
        run_process(config, system_effects(), ready)
    except Damaged as error:
        attempt = command(config, "restore BACKUP --force")
        raise CommandFailed(str(error), "nothing was changed", attempt) from error
    except NotDurable as error:
        attempt = f"make room for {config.data_dir}, and once more"
        raise CommandFailed(str(error), "what was stored before is safe", attempt) from error
    except OSError as error:
        raise unusable(config, error) from error
    finally:
        config.state_file.unlink(missing_ok=True)
        os.close(descriptor)


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
