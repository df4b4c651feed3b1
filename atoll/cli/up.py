"""`atoll up`: start the server in the background and say how to use it, or give way to it here.

The server is a program of its own (`serving`). In the background it tells through a pipe when it is
ready, or why it will never be; nothing is guessed from a file or a port.
"""

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import atoll
from atoll.cli import options
from atoll.cli.choosing import check_plugins, chosen, data_dir_option
from atoll.cli.failing import TIMEOUT, CommandFailed, command, unusable
from atoll.cli.instance import Note, running
from atoll.cli.printing import show, tell
from atoll.cli.serving import Order, program, say_ready
from atoll.config import NO_TRACING, Config
from atoll.runtime.programs import own_environment

LOG_LINES_SHOWN = 5
START_WITHIN_S = 60.0
START_WITHIN_EACH_S = 1.0
GATES_MAX = 16


@click.command(help="Start the server, or find it running, and say how to use it.")
@data_dir_option
@click.option("--port", type=int, help="Insist on this port [default: the last one, if free].")
@click.option("--host", metavar="ADDRESS", help="Listen here [default: 127.0.0.1].")
@click.option(
    "--fleet",
    metavar="PRESET|FILE",
    help="Bring simulated member clusters, kept from then on; see: atoll fleet list",
)
@options.gates_option(
    "Open or close feature gates, by Karmada's names, as long as this server runs."
)
@options.plugins_option
@options.times_options
@options.estimator_options
@options.audit_options
@options.record_option
@options.request_options
@options.log_options
@options.tracing_options("atoll")
@click.option(
    "--gates",
    type=click.IntRange(0, GATES_MAX),
    metavar="NUMBER",
    help="How many processes speak TLS and HTTP to clients, and draft new objects for the server;"
    " 0: it does that itself [default: 1 where there are two processors or more, else 0].",
)
@click.option("--foreground", is_flag=True, help="Run here, with the log on the terminal.")
@click.option(
    "--timeout",
    type=float,
    help="Seconds to wait for the start [default: 60, and 1 for each simulated cluster].",
)
def up(
    data_dir: str | None,
    port: int | None,
    host: str | None,
    fleet: str | None,
    timeout: float | None,
    *,
    feature_gates: str,
    foreground: bool,
    **choices: Any,
) -> None:
    fleet = _checked_fleet(fleet)
    config = chosen(data_dir, host=host, port=port, fleet=fleet, feature_gates=feature_gates)
    config = replace(config, **choices)  # the other options are called as its fields are
    begun = time.monotonic()
    if (note := running(config)) is not None:
        _say_running(config, note)
        return
    check_plugins(config.plugins)
    if foreground:
        _become_server(config, begun)
    else:
        _start(config, begun, _patience_s(config) if timeout is None else timeout)


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
    runs, stop = f"atoll is already running at {note.url}", command(config, "down")
    if config.port not in (None, 0) and not note.url.endswith(f":{config.port}"):
        raise CommandFailed(runs, f"so it cannot be started on port {config.port}", stop)
    if config.fleet is not None and not _has_fleet(config, config.fleet):
        raise CommandFailed(runs, f'without the fleet "{config.fleet}"', stop)
    # What OpenTelemetry's variables say is the same for the one that runs.
    asked = config if config.tracing.is_said else replace(config, tracing=NO_TRACING)
    usual = Config(config.data_dir, config.host, config.port, config.is_default, config.fleet)
    if asked != usual:
        why = "so its feature gates, plug-ins, times, estimators, log, traces, recording, audit,"
        raise CommandFailed(runs, f"{why} limits and gates cannot be changed", stop)
    show(f"{runs} (process {note.pid}) · data in {config.data_dir}")
    show(f"Stop it: {stop}")


def _has_fleet(config: Config, asked: str) -> bool:
    from atoll.simulated.choosing_fleet import differs, remembered_fleet

    has = remembered_fleet(config)
    return has is not None and not differs(asked, has)


def _become_server(config: Config, begun: float) -> None:
    """Give way to the server: its process is this one, so whoever started us has started it."""
    sys.stdout.flush()
    sys.stderr.flush()
    words = program(Order(config, begun))
    os.execve(words[0], words, own_environment())


def _start(config: Config, begun: float, timeout_s: float) -> None:
    tell(f"atoll {atoll.__version__} · embedded control plane")
    reading, writing = os.pipe()
    try:
        process = _spawn(config, begun, writing)
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
    say_ready(config, message["ready"], time.monotonic() - begun, command(config, "down"))


def _spawn(config: Config, begun: float, notify_fd: int) -> subprocess.Popen[bytes]:
    config.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with config.log_file.open("ab") as log:
        config.log_file.chmod(0o600)
        return subprocess.Popen(
            program(Order(config, begun, notify_fd)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=config.data_dir,
            env=own_environment(),
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
