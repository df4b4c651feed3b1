"""A plane of ours in process, with Karmada's kinds and our own, asked by plain calls."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import orjson

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.authorization import Authorize
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.inprocess import InProcess
from atoll.client.transport import closing, whole
from atoll.effects import system_effects
from atoll.exchange import Handler, Peer, Request
from atoll.main import Plane, run
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.wire import Wire

ADMIN = Peer("admin", (MASTERS,))
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Asking:
    """A server, asked by path as its administrator, or as whoever else is named."""

    def __init__(self, runner: asyncio.Runner, handle: Handler, user: Peer | None = ADMIN) -> None:
        self._runner, self._handle = runner, handle
        self._transport = InProcess(handle, user)

    def by(self, user: str | None, *groups: str) -> "Asking":
        """As a user, or as nobody whom the transport vouches for."""
        peer = None if user is None else Peer(user, groups)
        return Asking(self._runner, self._handle, peer)

    def first_frames(self, path: str, count: int) -> list[Wire]:
        """The first events of a watch."""
        path, _, query = path.partition("?")
        request = Request("GET", path, query, {"accept": "application/json"}, b"")

        async def watch() -> list[Wire]:
            frames: list[Wire] = []
            response = await self._transport.send(request)
            assert response.stream is not None, response.body
            async with closing(response.stream):
                async for chunk in response.stream:
                    frames += map(orjson.loads, chunk.splitlines())
                    if len(frames) >= count:
                        break
            return frames

        return self._runner.run(watch())

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Wire]:
        """The status and the object in the answer."""
        path, _, query = path.partition("?")
        sent = {"accept": "application/json", "content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        text = b"" if body is None else orjson.dumps(body)
        request = Request(method, path, query, sent, text)

        async def exchange() -> tuple[int, Wire]:
            response = await whole(await self._transport.send(request))
            return response.status, orjson.loads(response.body)

        return self._runner.run(exchange())

    def done(self, method: str, path: str, body: object = None, **headers: str) -> Wire:
        """The object in an answer that must be a success."""
        status, found = self.ask(method, path, body, **headers)
        assert status in (200, 201), found
        return found

    def refused(self, method: str, path: str, body: object, code: int) -> Wire:
        """What a refusal with this code says."""
        status, found = self.ask(method, path, body)
        assert (status, found["kind"], found["status"]) == (code, "Status", "Failure"), found
        return found


@contextmanager
def running(
    *, authorize: Authorize | None = None, signing: Signing | None = None
) -> Iterator[Asking]:
    """A plane with Karmada's kinds until the end of the block."""
    effects = system_effects()
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start() -> Asking:
            store = Store.open(MemoryLog())
            kinds = plane_kinds(effects)
            server = assemble(store, effects, kinds=kinds, authorize=authorize, signing=signing)
            plane = Plane(store, server)
            await run(plane, effects, stack)
            return Asking(runner, plane.server.handle)

        try:
            yield runner.run(start())
        finally:
            runner.run(stack.aclose())
