"""The plane's side of the process in which its simulated members live.

Starts it, joins its members once they can be reached, and ends it. One end of a pipe is held here
whose closing ends the other process, however this one ends. That it is started again when it has
ended is for whoever runs this.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from atoll.apiserver.administration import memory_bytes
from atoll.config import Config
from atoll.errors import AtollError, UsageError
from atoll.runtime.children import Children
from atoll.runtime.programs import own_environment, own_program
from atoll.simulated.enrolment import enrol
from atoll.simulated.fleets import Fleet

END_WITHIN_S = 8.0
LINE_BYTES_MAX = 1024 * 1024


class FleetEnded(AtollError):
    """The process of the simulated members has ended, though nobody asked it to."""


@dataclass(slots=True)
class FleetProcess:
    """The members of one instance, in a process of their own; `run` is one life of it."""

    config: Config
    fleet: Fleet
    pid: int | None = None
    starts: int = 0
    _told: asyncio.Event = field(default_factory=asyncio.Event)
    _problem: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.fleet.clusters)

    async def started(self) -> None:
        """Wait until the members run for the first time; UsageError if they cannot."""
        await self._told.wait()
        if self._problem:
            raise UsageError(self._problem)

    async def run(self) -> None:
        """Have the members run, and join them; FleetEnded when they do not run any more."""
        life, held = os.pipe()
        heard, told = os.pipe()
        with open(held, "wb", buffering=0) as lifeline, open(heard, "rb", buffering=0) as pipe:
            try:
                process = await self._spawn(life, told)
            finally:
                os.close(life)
                os.close(told)
            try:
                self.pid, self.starts = process.pid, self.starts + 1
                addresses = await self._heard(pipe)
                async with Children("fleet") as children:
                    children.spawn(enrol(self.fleet.clusters, addresses, self.config), "joining")
                    code = await process.wait()
                raise FleetEnded(f"the process of the simulated members ended with {code}")
            finally:
                lifeline.close()
                await _ended(process)
                self.pid = None

    def state(self) -> dict[str, object]:
        """What is known of the process."""
        memory = memory_bytes(self.pid) if self.pid else 0
        told = {"name": self.fleet.name, "pid": self.pid, "starts": self.starts}
        return {**told, "memoryBytes": memory}

    async def _heard(self, pipe: IO[bytes]) -> Mapping[str, str]:
        """Where the members are, once the process says that it is ready, or why it never will."""
        reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            line = await reader.readline()
        finally:
            transport.close()
        # One that is killed has told nothing, or only half of it.
        message: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        if "ready" not in message:
            why = str(message.get("error") or f"look into {self.config.fleet_log}")
            if not self._told.is_set():
                self._problem = why
                self._told.set()
            raise FleetEnded(f"the simulated members cannot start: {why}")
        self._told.set()
        addresses: Mapping[str, str] = message["ready"]["members"]
        return addresses

    async def _spawn(self, life: int, told: int) -> asyncio.subprocess.Process:
        config = self.config
        words = ["fleet", "serve", "--data-dir", str(config.data_dir), "--host", config.host]
        words += ["--life-fd", str(life), "--notify-fd", str(told)]
        words += ["--logging-format", config.logs.format, "-v", str(config.logs.verbosity)]
        with config.fleet_log.open("ab") as log:
            config.fleet_log.chmod(0o600)
            return await asyncio.create_subprocess_exec(
                *own_program("atoll", *words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=config.data_dir,
                env=own_environment(),
                start_new_session=True,  # a Ctrl-C is for the plane, which ends it in order
                pass_fds=(life, told),
            )


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a process that was asked to, and see to it in the end."""
    try:
        async with asyncio.timeout(END_WITHIN_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
