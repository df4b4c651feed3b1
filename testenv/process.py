"""A server that runs beside the tests and never outlives them.

In: a command and a readiness check. Out: a process that logs into a file, and that is gone when
the block ends, however it ends, even if we are killed. It does not know what it runs.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from testenv.errors import StartFailed

# The shell reads from our pipe: when we are gone, and be it by SIGKILL, it ends what it started.
LEASH = """
exec 3<&0
"$@" </dev/null 3<&- & child=$!
(read -r _ <&3; kill -KILL "$child") & reader=$!
wait "$child"; status=$?
kill "$reader"; wait "$reader"
exit "$status"
"""
STOP_TIMEOUT_S = 10
TAIL_LINES = 15
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Server:
    """A started process, its name and its log."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]

    def tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  {self.name}: {line}" for line in lines[-TAIL_LINES:])

    def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Returns when the server is ready; raises StartFailed if it ends or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if self.process.poll() is not None:
                raise StartFailed(f"{self.name} ended instead of starting:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise StartFailed(f"{self.name} is not ready after {timeout_s:g} s:\n{self.tail()}")
            time.sleep(POLL_S)


@contextmanager
def running(name: str, command: Sequence[str | Path], log: Path) -> Iterator[Server]:
    with log.open("wb") as output:
        # A session of its own: Ctrl-C is for us, who then end it in order.
        process = subprocess.Popen(
            ["/bin/sh", "-c", LEASH, name, *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with process:
        try:
            yield Server(name, log, process)
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Lets go of the leash. There is no need to be gentle: the data is thrown away."""
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
