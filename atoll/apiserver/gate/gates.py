"""The core's hold on its gates: starts them, looks after them, and stops them in good order.

Each is a process of its own (`process`), joined by a pair of sockets. That one that ended is
started again is for whoever runs this; the listening socket stays open meanwhile, and who connects
waits in it. A gate that does not answer any more is killed.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from atoll.apiserver.administration import private_bytes
from atoll.apiserver.gate import frames
from atoll.apiserver.gate.core import Core
from atoll.errors import AtollError, UsageError
from atoll.exchange import Handler
from atoll.runtime.children import Children
from atoll.runtime.programs import own_environment, own_program

log = logging.getLogger("atoll.gate")

READY_WITHIN_S = 60.0
PING_S = 5.0
UNANSWERED_MAX = 3
END_WITHIN_S = 8.0


def usual_gates() -> int:
    """One where it has a processor beside the server's; else it would only be in the way."""
    allowed = getattr(os, "sched_getaffinity", None)  # which macOS does not have
    processors = len(allowed(0)) if allowed is not None else os.cpu_count() or 1
    return 1 if processors > 1 else 0


class GateEnded(AtollError):
    """A gate has ended, though nobody asked it to."""


class Gates:
    """The gates of one server; `run` is one life of one of them."""

    def __init__(
        self, handler: Handler, count: int, connections_max: int, *, ping_s: float = PING_S
    ) -> None:
        self.count = count
        self._handler = handler
        self._connections_max = connections_max
        self._ping_s = ping_s
        self._children = Children("gate")
        self._alive: dict[asyncio.subprocess.Process, Core] = {}
        self._listener: socket.socket
        self._files: Sequence[Path] = ()
        self._told = asyncio.Event()
        self._problem = ""
        self._stopping = False

    @property
    def connection_count(self) -> int:
        return sum(core.connection_count for core in self._alive.values())

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._alive]

    @property
    def memory_bytes(self) -> int:
        """How much memory they take beside what they share with this process."""
        return sum(map(private_bytes, self.pids))

    def open(self, listener: socket.socket, files: Sequence[Path]) -> None:
        """From now on clients may come; certificate, its key and whom to believe are in `files`."""
        self._listener, self._files = listener, files

    def reload(self) -> None:
        """Have the certificate read again."""
        for core in self._alive.values():
            core.line.say((frames.RELOAD,))

    async def started(self) -> None:
        """Wait until clients are let in for the first time; UsageError if they cannot be."""
        await self._told.wait()
        if self._problem:
            raise UsageError(self._problem)

    async def run(self) -> None:
        """Have one gate run; GateEnded when it does not run any more."""
        if self._stopping:
            return
        try:
            await self._live()
        except (GateEnded, OSError) as error:
            if not self._told.is_set():
                self._problem = f"the process that lets clients in cannot start: {error}"
                self._told.set()
            raise

    async def _live(self) -> None:
        core = Core(self._handler, self._children)
        process = await self._start(core)
        self._alive[process] = core
        try:
            async with Children("gate") as children:
                children.spawn(self._look_after(process, core), "looking after")
                code = await process.wait()
            if not self._stopping:
                raise GateEnded(f"it ended with {code}, and its clients have to connect again")
        finally:
            core.line.close()
            await _ended(process)
            del self._alive[process]

    async def _start(self, core: Core) -> asyncio.subprocess.Process:
        ours, theirs = socket.socketpair()
        with ExitStack() as stack:
            stack.callback(ours.close)
            stack.callback(theirs.close)
            for each in (ours, theirs):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, frames.SOCKET_BYTES)
                each.setblocking(False)
            descriptors = (self._listener.fileno(), theirs.fileno())
            words = (*descriptors, self._connections_max, *self._files)
            process = await asyncio.create_subprocess_exec(
                *own_program("atoll.apiserver.gate.process", *map(str, words)),
                stdin=asyncio.subprocess.DEVNULL,
                env=own_environment(),
                pass_fds=descriptors,
            )
            await asyncio.get_running_loop().create_connection(lambda: core.line, sock=ours)
            stack.pop_all()
        theirs.close()
        return process

    async def _look_after(self, process: asyncio.subprocess.Process, core: Core) -> None:
        """Kill a gate that does not answer, or is never ready."""
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_WITHIN_S):
                await core.ready.wait()
                self._told.set()
        # It is counted, and not timed: this process too may have been stopped for a while.
        unanswered = 0 if core.ready.is_set() else UNANSWERED_MAX
        while unanswered < UNANSWERED_MAX:
            core.answers_ping = False
            core.line.say((frames.PING,))
            await asyncio.sleep(self._ping_s)
            unanswered = 0 if core.answers_ping else unanswered + 1
        said = {"gate": process.pid}
        log.error("A gate (process %(gate)d) does not answer any more, and is killed", said)
        process.kill()

    async def stop(self) -> None:
        """Let nobody in any more, finish answers, end streams; then the gates end."""
        self._stopping = True
        self._listener.close()
        for core in self._alive.values():
            core.line.say((frames.STOP,))
        await _ended(*self._alive)
        await self._children.cancel()


async def _ended(*processes: asyncio.subprocess.Process) -> None:
    """Wait for the end of processes that were asked to, and see to it in the end."""
    try:
        async with asyncio.timeout(END_WITHIN_S):
            for process in processes:
                await process.wait()
    except TimeoutError:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()
