"""Clusters that nobody has joined, each with an endpoint of its own, and agents as processes."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from running import Shell

from atoll.config import Config
from atoll.effects import system_effects
from atoll.simulated.fleets import Description, Pool
from atoll.simulated.hosting import hosting

QUICK = [
    *("--cluster-status-update-frequency", "1s", "--cluster-lease-duration", "4s"),
    *("--cluster-success-threshold", "0s", "--cluster-failure-threshold", "1s"),
]


@contextmanager
def clusters(directory: Path, *names: str) -> Iterator[dict[str, Path]]:
    """Simulated clusters that are in nobody's fleet; gives their kubeconfigs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    stack, pools = AsyncExitStack(), (Pool(count=2),)
    config, described = Config(directory), [Description(name=name, pools=pools) for name in names]
    try:
        opening = stack.enter_async_context(hosting(described, config, system_effects()))
        asyncio.run_coroutine_threadsafe(opening, loop).result(240)
        yield {name: config.member(name).kubeconfig for name in names}
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(240)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(120)
        loop.close()


@dataclass
class Agent:
    """An agent in a process of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit code after this signal."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        return self.process.wait(120)


@contextmanager
def agent(shell: Shell, *words: str) -> Iterator[Agent]:
    """An agent of the user's; it is killed if it does not end before."""
    log = shell.home / "agent.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "atoll", *words],
            env=shell.env(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Agent(process, log)
    finally:
        process.kill()
        process.wait(120)
