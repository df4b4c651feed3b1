"""`atoll up`: start the server in the background and say how to use it, or be the server here.

The background server is this same command in a process of its own. It tells through a pipe when it
is ready, or why it will never be; nothing is guessed from a file or a port.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import atoll
from atoll.cli.auditing import as_words as audit_words
from atoll.cli.auditing import audit_options
from atoll.cli.choosing import chosen, data_dir_option
from atoll.cli.estimating import as_words as estimator_words
from atoll.cli.estimating import estimator_options
from atoll.cli.failing import TIMEOUT, CommandFailed, command, unusable
from atoll.cli.instance import Note, claim, running, write_note
from atoll.cli.limiting import as_words as request_words
from atoll.cli.limiting import request_options
from atoll.cli.notifying import notifying
from atoll.cli.printing import done, seconds, show, size, tell
from atoll.cli.timing import as_words, times_options
from atoll.config import (
    NO_AUDIT,
    NO_ESTIMATORS,
    USUAL_REQUESTS,
    USUAL_TIMES,
    AuditChoice,
    Config,
    EstimatorChoice,
    RequestLimits,
    Times,
)
from atoll.errors import Damaged, NotDurable

LOG_LINES_SHOWN = 5
START_WITHIN_S = 60.0
START_WITHIN_EACH_S = 1.0
NAMES_SHOWN = 8


@click.command(help="Start the server, or find it running, and say how to use it.")
@data_dir_option
@click.option("--port", type=int, help="Insist on this port [default: the last one, if free].")
@click.option("--host", metavar="ADDRESS", help="Listen here [default: 127.0.0.1].")
@click.option(
    "--fleet",
    metavar="PRESET|FILE",
    help="Bring simulated member clusters, kept from then on; see: atoll fleet list",
)
@click.option(
    "--feature-gates",
    metavar="NAME=true,...",
    default="",
    help="Open or close feature gates, by Karmada's names, as long as this server runs.",
)
@times_options
@estimator_options
@audit_options
@request_options
@click.option("--foreground", is_flag=True, help="Run here, with the log on the terminal.")
@click.option(
    "--timeout",
    type=float,
    help="Seconds to wait for the start [default: 60, and 1 for each simulated cluster].",
)
@click.option("--notify-fd", type=int, hidden=True)
def up(
    data_dir: str | None,
    port: int | None,
    host: str | None,
    fleet: str | None,
    timeout: float | None,
    *,
    feature_gates: str,
    times: Times,
    estimators: EstimatorChoice,
    audit: AuditChoice,
    requests: RequestLimits,
    notify_fd: int | None,
    foreground: bool,
) -> None:
    fleet = _checked_fleet(fleet)
    config = chosen(data_dir, host=host, port=port, fleet=fleet, feature_gates=feature_gates)
    config = replace(config, times=times, estimators=estimators, audit=audit, requests=requests)
    if notify_fd is not None:
        _be_background_server(config, notify_fd)
    elif (note := running(config)) is not None:
        _say_running(config, note)
    elif foreground:
        _be_foreground_server(config)
    else:
        _start(config, _patience_s(config) if timeout is None else timeout)


def _checked_fleet(asked: str | None) -> str | None:
    """A fleet that can be read, by a name that holds in every directory."""
    if asked is None:
        return None
    from atoll.simulated.choosing_fleet import PRESETS, find_fleet

    find_fleet(asked)
    return asked if asked in PRESETS else str(Path(asked).absolute())


def _patience_s(config: Config) -> float:
    """How long a start may take before one would rather know."""
    if config.fleet is None:
        return START_WITHIN_S
    from atoll.simulated.choosing_fleet import find_fleet

    return START_WITHIN_S + START_WITHIN_EACH_S * len(find_fleet(config.fleet).clusters)


def _say_running(config: Config, note: Note) -> None:
    if not note.url:  # nor can it be told yet where it is, or with which fleet
        show(f"atoll is still starting · data in {config.data_dir}")
        show(f"See how it goes: {command(config, 'status')}")
        return
    if config.port not in (None, 0) and not note.url.endswith(f":{config.port}"):
        raise CommandFailed(
            f"atoll is already running at {note.url}",
            f"so it cannot be started on port {config.port}",
            command(config, "down"),
        )
    if config.fleet is not None and not _has_fleet(config, config.fleet):
        raise CommandFailed(
            f"atoll is already running at {note.url}",
            f'without the fleet "{config.fleet}"',
            command(config, "down"),
        )
    usual = config.times == USUAL_TIMES and config.estimators == NO_ESTIMATORS
    usual = usual and config.audit == NO_AUDIT and config.requests == USUAL_REQUESTS
    if config.feature_gates or not usual:
        raise CommandFailed(
            f"atoll is already running at {note.url}",
            "so its feature gates, times, estimators, audit and limits cannot be changed",
            command(config, "down"),
        )
    where = f"at {note.url} (process {note.pid})"
    show(f"atoll is already running {where} · data in {config.data_dir}")
    show(f"Stop it: {command(config, 'down')}")


def _has_fleet(config: Config, asked: str) -> bool:
    from atoll.simulated.choosing_fleet import differs, remembered_fleet

    has = remembered_fleet(config)
    return has is not None and not differs(asked, has)


# The server process.


def _be_foreground_server(config: Config) -> None:
    from atoll.cli.logs import log_to_terminal

    log_to_terminal()
    started = time.monotonic()

    def on_ready(facts: dict[str, Any]) -> None:
        _say_ready(config, facts, time.monotonic() - started, stop="Ctrl-C")

    _be_server(config, on_ready)


def _be_background_server(config: Config, notify_fd: int) -> None:
    from atoll.cli.logs import log_to_file

    log_to_file(config.log_file)
    with notifying(notify_fd) as notify:
        _be_server(config, lambda facts: notify({"ready": facts}))


def _be_server(config: Config, on_ready: Callable[[dict[str, Any]], None]) -> None:
    """Serve until stopped, as the only one in this directory."""
    descriptor = claim(config)
    # Only now: this imports everything there is, and a second server needs none of it.
    from atoll.apiserver.administration import memory_bytes
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
                "memoryBytes": memory_bytes(),
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


# The process that starts it.


def _start(config: Config, timeout_s: float) -> None:
    tell(f"atoll {atoll.__version__} · embedded control plane")
    started = time.monotonic()
    reading, writing = os.pipe()
    try:
        process = _spawn(config, writing)
    except OSError as error:
        raise unusable(config, error) from error
    finally:
        os.close(writing)
    with open(reading, "rb", buffering=0) as pipe:
        if not select.select([pipe], [], [], timeout_s)[0]:
            raise CommandFailed(
                f"the server is not ready after {timeout_s:g} s",
                "it goes on starting in the background",
                command(config, "status"),
                code=TIMEOUT,
            )
        line = pipe.readline()
    if not line:
        raise _ended_early(config, process)
    message = json.loads(line)
    if "error" in message:
        raise CommandFailed(message["error"])
    _say_ready(config, message["ready"], time.monotonic() - started, command(config, "down"))


def _spawn(config: Config, notify_fd: int) -> subprocess.Popen[bytes]:
    config.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    words = ["up", "--data-dir", str(config.data_dir), "--notify-fd", str(notify_fd)]
    words += ["--host", config.host]
    words += ["--port", str(config.port)] if config.port is not None else []
    words += ["--fleet", config.fleet] if config.fleet is not None else []
    words += ["--feature-gates", config.feature_gates] if config.feature_gates else []
    words += [*as_words(config.times), *estimator_words(config.estimators)]
    words += audit_words(config.audit)
    words += request_words(config.requests)
    # The server must find this very package, and nothing that lies around where it runs.
    root = str(Path(atoll.__file__).parent.parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    with config.log_file.open("ab") as log:
        config.log_file.chmod(0o600)
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "atoll", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=config.data_dir,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
            pass_fds=(notify_fd,),
        )


def _ended_early(config: Config, process: subprocess.Popen[bytes]) -> CommandFailed:
    code = process.wait()
    lines = config.log_file.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
    for line in lines:
        tell(f"  {line}")
    return CommandFailed(
        f"the server ended with exit code {code} before it was ready",
        f"its last words are above, the rest is in {config.log_file}",
        command(config, "up --foreground"),
    )


def _say_ready(config: Config, facts: dict[str, Any], took_s: float, stop: str) -> None:
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
