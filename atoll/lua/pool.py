"""Worker processes that run users' scripts: asked one function of one script at a time.

A script and plain values come in, an `Answer` goes out, whatever the script does: at worst it is
that the script was stopped. `call` waits, `ask` lets others run meanwhile. Workers are started
when they are needed and stay; one that is lost is replaced.
"""

import asyncio
import os
import socket
import subprocess
import sys
import weakref
from typing import Any, Self

import orjson

from atoll.interpreting.customizing import Answer
from atoll.lua.framing import MESSAGE_MAX, framed, length_of, receive

DEADLINE_S = 1.0
WORKERS = 2
# A worker answers by its own deadline; how long it may take to start on a busy machine.
PATIENCE_S = 10.0
_LOST = Answer(error="lost the process it ran in", stopped=True)
_TOO_LARGE = Answer(error=f"was given more than {MESSAGE_MAX} bytes")


class _Worker:
    def __init__(self, deadline_s: float) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            # Nothing of our environment is a script's business.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "atoll.lua.worker", str(deadline_s)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                start_new_session=True,
            )
        self._limit_s = deadline_s + PATIENCE_S

    def call(self, request: bytes) -> bytes:
        self._channel.settimeout(self._limit_s)
        self._channel.sendall(framed(request))
        answer = receive(self._channel)
        if answer is None:
            raise EOFError
        return answer

    async def ask(self, request: bytes) -> bytes:
        self._channel.setblocking(False)
        async with asyncio.timeout(self._limit_s):
            await asyncio.get_running_loop().sock_sendall(self._channel, framed(request))
            return await self._exactly(length_of(await self._exactly(4)))

    async def _exactly(self, count: int) -> bytes:
        loop, found = asyncio.get_running_loop(), bytearray()
        while len(found) < count:
            more = await loop.sock_recv(self._channel, min(count - len(found), 1 << 20))
            if not more:
                raise EOFError
            found += more
        return bytes(found)

    def close(self) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()


class Pool:
    """Workers that wait to be asked."""

    def __init__(self, *, size: int = WORKERS, deadline_s: float = DEADLINE_S) -> None:
        self._size = size
        self._deadline_s = deadline_s
        self._idle: list[_Worker] = []
        # Whoever forgets to close it leaves no process behind.
        weakref.finalize(self, _end, self._idle)
        self._free = asyncio.Semaphore(size)
        self._is_closed = False

    def call(self, script: str, function: str, args: tuple[Any, ...] | None) -> Answer:
        """The results of a function of a script; without arguments, only whether it has one."""
        request = _request(script, function, args)
        if len(request) > MESSAGE_MAX:
            return _TOO_LARGE
        worker, is_well = self._take(), False
        try:
            answer = _answer(worker.call(request))
            is_well = True
        except (OSError, EOFError):
            return _LOST
        finally:
            self._give_back(worker, is_well=is_well)
        return answer

    async def ask(self, script: str, function: str, args: tuple[Any, ...] | None) -> Answer:
        """The same without keeping others waiting."""
        request = _request(script, function, args)
        if len(request) > MESSAGE_MAX:
            return _TOO_LARGE
        async with self._free:
            worker, is_well = self._take(), False
            try:
                answer = _answer(await worker.ask(request))
                is_well = True
            except (OSError, EOFError):
                return _LOST
            finally:
                self._give_back(worker, is_well=is_well)
        return answer

    def close(self) -> None:
        """End all workers that nobody is waiting for, and the others as soon as nobody does."""
        self._is_closed = True
        _end(self._idle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self) -> _Worker:
        return self._idle.pop() if self._idle else _Worker(self._deadline_s)

    def _give_back(self, worker: _Worker, *, is_well: bool) -> None:
        if is_well and len(self._idle) < self._size and not self._is_closed:
            self._idle.append(worker)
        else:
            worker.close()


def _end(workers: list[_Worker]) -> None:
    while workers:
        workers.pop().close()


def _request(script: str, function: str, args: tuple[Any, ...] | None) -> bytes:
    # In which order Lua walks a table depends on the order it was filled in.
    asked = {"script": script, "function": function, "args": args}
    return orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)


def _answer(found: bytes) -> Answer:
    answer = orjson.loads(found)
    return Answer(
        tuple(answer.get("values", ())), answer.get("error", ""), answer.get("stopped", False)
    )
