"""A member over HTTPS, and the real kubectl with it; both in the test's own event loop."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import read_signing
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import write_kubeconfig
from atoll.effects import system_effects
from atoll.simulated.member import Member, build, running
from atoll.store.sqlite import SqliteLog


@dataclass(frozen=True)
class Kubectl:
    """kubectl with one member."""

    binary: Path
    home: Path
    member: Member

    async def __call__(self, command: str, stdin: str = "") -> str:
        """What a command prints; it must succeed."""
        code, printed = await self.tried(command, stdin)
        assert code == 0, f"kubectl {command}: {printed}"
        return printed

    async def tried(self, command: str, stdin: str = "") -> tuple[int, str]:
        environment = {
            "KUBECONFIG": str(self.home / "kubeconfig"),
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
        }
        process = await asyncio.create_subprocess_exec(
            str(self.binary),
            *command.split(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
        )
        async with asyncio.timeout(240):
            printed, _ = await process.communicate(stdin.encode())
        return process.returncode or 0, printed.decode()


@asynccontextmanager
async def served(binary: Path, home: Path, **options: object) -> AsyncIterator[Kubectl]:
    """A member over a store in this directory, until the end of the block."""
    effects = system_effects()
    credentials = ensure_credentials(home / "pki", effects.now())
    log = SqliteLog(home / "store")
    member = build("m1", effects, log=log, signing=read_signing(credentials), **options)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(member))
        listener = listen("127.0.0.1", 0)
        server = HttpServer(member.server.handle, effects.now)
        tls = server_context(credentials.server, credentials.server_key, credentials.ca)
        await server.start(listener, tls)
        stack.push_async_callback(server.stop)
        endpoint = Endpoint(
            f"https://127.0.0.1:{listener.getsockname()[1]}",
            ca=credentials.ca.read_bytes(),
            certificate=credentials.admin.read_bytes(),
            key=credentials.admin_key.read_bytes(),
        )
        write_kubeconfig(home / "kubeconfig", "member", endpoint)
        yield Kubectl(binary, home, member)
