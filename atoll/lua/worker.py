"""The program that users' scripts run in: a keeper, and a child of it that may die at any time.

The keeper imports everything once, forks the child, passes it one request at a time and waits as
long as a script may take. A child that does not answer is killed and forked anew, which takes two
milliseconds. It ends when whoever started it does. Run as `python -m atoll.lua.worker SECONDS`.
"""

import os
import resource
import signal
import socket
import sys
from dataclasses import dataclass

import orjson

from atoll.lua.framing import framed, receive
from atoll.lua.sandbox import OUT_OF_MEMORY, Failed, Sandbox

ADDRESS_SPACE_MORE = 256 << 20
CPU_S = 3
ANSWER_MAX = 8 << 20
GOES_ON, SPENT = b"+", b"!"


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    channel: socket.socket

    @classmethod
    def fork(cls, plane: socket.socket) -> "_Child":
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            try:
                plane.close()
                ours.close()
                _serve(theirs)
            finally:
                os._exit(0)  # whatever happens, the child never becomes a second keeper
        theirs.close()
        return cls(pid, ours)

    def ask(self, request: bytes, deadline_s: float) -> bytes | None:
        """The child's answer in time; None if it died of the request."""
        self.channel.settimeout(deadline_s)
        self.channel.sendall(framed(request))
        return receive(self.channel)

    def end(self) -> int:
        """Kill the child and give the signal it died of."""
        self.channel.close()
        found, status = os.waitpid(self.pid, os.WNOHANG)
        if not found:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def keep(plane: socket.socket, deadline_s: float) -> None:
    """Answer requests until whoever asks has gone."""
    child = _Child.fork(plane)
    try:
        while (request := receive(plane)) is not None:
            answer, problem = _asked(child, request, deadline_s)
            if answer is None or answer[:1] == SPENT:
                died_of = child.end()
                child = _Child.fork(plane)
                problem = problem or f"broke the process it ran in ({_named(died_of)})"
            if answer is None:
                answer = GOES_ON + orjson.dumps({"error": problem, "stopped": True})
            plane.sendall(framed(answer[1:]))
    except ConnectionError:
        pass
    finally:
        child.end()


def _asked(child: _Child, request: bytes, deadline_s: float) -> tuple[bytes | None, str]:
    """The child's answer, or None and what is known about why there is none."""
    try:
        return child.ask(request, deadline_s), ""
    except TimeoutError:
        return None, f"ran longer than {deadline_s:g} s and was stopped"
    except OSError:
        return None, ""


def _named(number: int) -> str:
    return signal.Signals(number).name if number else "out of memory"


def _serve(channel: socket.socket) -> None:
    """Be the child: run scripts with nothing to reach and little to spend."""
    sandbox = Sandbox()
    _confine()
    while (request := receive(channel)) is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        # Should nobody be left to kill us, the kernel does.
        seconds = int(used.ru_utime + used.ru_stime) + CPU_S
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
        flag, answer = _answered(sandbox, request)
        channel.sendall(framed(flag + answer))


def _answered(sandbox: Sandbox, request: bytes) -> tuple[bytes, bytes]:
    try:
        asked = orjson.loads(request)
        if asked["args"] is None:
            sandbox.check(asked["script"], asked["function"])
            return GOES_ON, orjson.dumps({"values": []})
        nulls = b"null" in request
        values = sandbox.run(asked["script"], asked["function"], asked["args"], nulls=nulls)
        answer = orjson.dumps({"values": values})
    except Failed as error:
        is_spent = OUT_OF_MEMORY in str(error)
        return SPENT if is_spent else GOES_ON, orjson.dumps({"error": _valid(str(error))})
    except MemoryError:
        return SPENT, orjson.dumps({"error": OUT_OF_MEMORY})
    except (RecursionError, orjson.JSONEncodeError) as error:
        return GOES_ON, orjson.dumps({"error": f"gave what is no JSON: {error}"})
    if len(answer) > ANSWER_MAX:
        problem = f"gave {len(answer)} bytes of JSON; at most {ANSWER_MAX} are accepted"
        return SPENT, orjson.dumps({"error": problem})
    return GOES_ON, answer


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:2000]


def _confine() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    if nowhere > 2:
        os.close(nowhere)
    with open("/proc/self/statm") as sizes:
        now = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESS_SPACE_MORE,) * 2)
    for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


if __name__ == "__main__":
    with socket.socket(fileno=0) as asking:
        keep(asking, float(sys.argv[1]))
