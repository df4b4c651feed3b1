"""A gate: the process that clients reach. TLS and HTTP are here; what is asked, the core answers.

The core starts it with two sockets of its own: the one that listens, which stays the core's, so
that clients wait in it while a gate is started anew; and the line. It ends when the core says so,
or when the line does, however that came; frozen, it is killed with the core. Signals are for the
core.
"""

import asyncio
import gc
import importlib
import logging
import signal
import socket
import sys
from pathlib import Path

from atoll.apiserver.gate.frames import told
from atoll.apiserver.gate.link import Link
from atoll.apiserver.http.limits import Limits
from atoll.apiserver.http.serving import HttpServer
from atoll.apiserver.http.tls import server_context
from atoll.effects import system_effects, system_now
from atoll.exchange import Request
from atoll.runtime.children import Children
from atoll.runtime.loops import fastest_loop
from atoll.runtime.memory import settle_memory
from atoll.runtime.programs import end_with_parent

# What drafting takes, in pieces that each load in a tenth of a second.
DRAFTING = (
    "atoll.apiserver.bodies.decoding",
    "atoll.apiserver.kinds.workloads",
    "atoll.apiserver.kinds.builtin",
    "atoll.apiserver.gate.drafting",
)


class _NotYet:
    """Drafts nothing, and has what drafts loaded once somebody makes something."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._begun = False

    def draft(self, request: Request) -> None:
        if request.method == "POST" and not self._begun:
            self._begun = True
            self._link.children.spawn(self._load(), "drafting")

    def learn(self, *_: object, **__: object) -> None:
        raise AssertionError("nothing was drafted")

    async def _load(self) -> None:
        for name in DRAFTING:
            importlib.import_module(name)
            await asyncio.sleep(0)  # others have their turn between two of them
        from atoll.apiserver.gate.drafting import Drafter

        self._link.drafting = Drafter(system_effects())
        settle_memory()


class _Told(logging.Handler):
    """Has the core write what is logged here into its own log."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        self._link.tell(told(record))


async def serve(
    listener: socket.socket, line: socket.socket, connections_max: int, files: list[Path]
) -> None:
    """Be a gate until the core says stop, or ends."""
    certificate, key, *authorities = files
    tls = server_context(certificate, key, *authorities)
    async with Children("gate") as children:
        link = Link(children, reload=lambda: tls.load_cert_chain(certificate, key))
        logging.basicConfig(level=logging.INFO, handlers=[_Told(link)])
        await asyncio.get_running_loop().create_connection(link.over, sock=line)
        limits = Limits(connections_max=connections_max)
        server = HttpServer(link.ask, system_now, limits=limits)
        link.count = lambda: server.connection_count
        link.drafting = _NotYet(link)
        await server.start(listener, tls)
        link.say_ready()
        settle_memory()
        await link.stop.wait()
        if link.lost.is_set():  # the core has died, and whoever starts it again wants the port
            await server.break_off()
        else:
            await server.stop()
    link.hang_up()
    await link.lost.wait()


def main(listener: str, line: str, connections_max: str, *files: str) -> None:
    """Be the process; descriptors and numbers are as the command line has them."""
    end_with_parent()
    gc.disable()  # starting makes many objects and no garbage; `settle_memory` ends this
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    ours = (socket.socket(fileno=int(listener)), socket.socket(fileno=int(line)))
    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
        runner.run(serve(*ours, int(connections_max), [Path(file) for file in files]))


if __name__ == "__main__":
    main(*sys.argv[1:])
