"""Servers that run beside the tests and never outlive them, and directories that neither do.

In: a command and a readiness check. Out: a process that logs into a file, that can be frozen, or
stopped and started again, and that is gone when the block ends, however it ends, even if we are
killed. It does not know what it runs.
"""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from testenv.errors import StartFailed

# The shell reads from our pipe: when we are gone, and be it by SIGKILL, it ends what it started.
# It says which process that is: to freeze the shell too would be to lose the leash.
LEASH = """
log="$1"; shift
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- & child=$!
echo "$child"; exec >/dev/null 2>&1
(read -r _ <&3; kill -KILL "$child") & reader=$!
wait "$child"; status=$?
kill "$reader"; wait "$reader"
exit "$status"
"""
# The same for a directory: whoever wrote into it may still be about to end.
SWEEP = """
read -r _
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$1" && exit 0
  sleep 0.2
done
"""
STOP_TIMEOUT_S = 10
TAIL_LINES = 15
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Server:
    """A started process, its name and its log."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]  # the shell that holds the leash
    pid: int  # of the server itself

    def tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  {self.name}: {line}" for line in lines[-TAIL_LINES:])

    def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Returns when the server is ready; raises StartFailed if it ends or takes too long."""
        for _ in self.not_ready(ready, timeout_s):
            time.sleep(POLL_S)

    def not_ready(self, ready: Callable[[], bool], timeout_s: float) -> Iterator[None]:
        """Yields as long as it is not; raises StartFailed if it ends or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if self.process.poll() is not None:
                raise StartFailed(f"{self.name} ended instead of starting:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise StartFailed(f"{self.name} is not ready after {timeout_s:g} s:\n{self.tail()}")
            yield


@dataclass(slots=True)
class Part:
    """One server of several: it can be stopped and started again with the same command."""

    name: str
    command: Sequence[str | Path]
    log: Path
    ready: Callable[[], bool]
    timeout_s: float
    _server: Server | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Starts it, and returns when it is ready."""
        for _ in self.starting():
            time.sleep(POLL_S)

    def starting(self) -> Iterator[None]:
        """Starts it, and yields as long as it is not ready."""
        server = self._stack.enter_context(running(self.name, self.command, self.log))
        self._server = server
        yield from server.not_ready(self.ready, self.timeout_s)

    def stop(self) -> None:
        """Ends it at once, as a power cut would; nothing happens if it does not run."""
        self._stack.close()
        self._server = None

    def freeze(self) -> None:
        """It neither works nor answers from now on, but its connections stay open."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    @property
    def pid(self) -> int:
        return self._started().pid

    def _started(self) -> Server:
        if self._server is None:
            raise LookupError(f"{self.name} does not run")
        return self._server


@contextmanager
def running(name: str, command: Sequence[str | Path], log: Path) -> Iterator[Server]:
    log.touch()
    # A session of its own: Ctrl-C is for us, who then end it in order.
    process = subprocess.Popen(
        ["/bin/sh", "-c", LEASH, name, log, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        try:
            assert process.stdout is not None, "it was started with a pipe"
            yield Server(name, log, process, int(process.stdout.readline()))
        finally:
            _let_go(process)


@contextmanager
def temporary_directory(prefix: str) -> Iterator[Path]:
    """A directory that is gone after the block, and also if we are killed within it."""
    directory = Path(tempfile.mkdtemp(prefix=prefix))
    sweeper = subprocess.Popen(
        ["/bin/sh", "-c", SWEEP, "sweep", directory], stdin=subprocess.PIPE, start_new_session=True
    )
    with sweeper:
        try:
            yield directory
        finally:
            _let_go(sweeper)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Closes the pipe. There is no need to be gentle: the data is thrown away."""
    assert process.stdin is not None, "it was started with a pipe"
    process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that nobody listens on at this moment."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
