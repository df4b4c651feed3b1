"""The gate's side of a line: a handler like any other, but the core is who answers.

In: requests, as HTTP has read them. Out: what the core answers to them. Here requests have numbers,
streams and upgraded connections are carried on, and a draft that the core took is put together with
what the core put into it. Nothing is decided here, and nothing refused.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import msgspec

from atoll.apiserver.gate import frames
from atoll.apiserver.gate.flow import Flow
from atoll.apiserver.gate.frames import Line, Message
from atoll.exchange import Draft, Duplex, Request, Response
from atoll.runtime.children import Children


class Drafting(Protocol):
    """Makes new objects ready before the core is asked, and learns which of them it takes."""

    def draft(self, request: Request) -> Draft | None: ...

    def learn(self, request: Request, *, taken: bool) -> None: ...


class _Asked(NamedTuple):
    future: asyncio.Future[Response]
    request: Request
    draft: Draft | None


@dataclass(slots=True)
class Link:
    """One gate's way to the core; `lost` is set when that has ended, `stop` when it says so."""

    children: Children
    count: Callable[[], int] = int  # of the clients that are connected
    reload: Callable[[], None] = lambda: None  # certificates
    drafting: Drafting | None = None
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _line: Line | None = None
    _last: int = 0
    _counted: int = 0
    _asked: dict[int, _Asked] = field(default_factory=dict)
    _flows: dict[int, Flow] = field(default_factory=dict)

    def over(self) -> Line:
        """The line that this speaks over, to be connected to its socket."""
        self._line = Line(self._heard, self._lost)
        return self._line

    def say_ready(self) -> None:
        """Tell the core that clients are let in."""
        self._say((frames.READY,))

    def tell(self, record: Message) -> None:
        """Have this written into the core's log."""
        self._say((frames.LOG, record))

    async def ask(self, request: Request) -> Response:
        """What the core answers; cancelled if it cannot, for then a connection has to break."""
        line = self._line
        if line is None:
            raise asyncio.CancelledError("the core has ended")
        await line.room()
        if self.count() != self._counted:
            self._say_count(frames.COUNT)
        draft = self.drafting.draft(request) if self.drafting is not None else None
        self._last = number = self._last + 1
        line.say(_spoken(number, request, draft), len(request.body), awaited=True)
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._asked[number] = _Asked(future, request, draft)
        try:
            return await future
        finally:
            del self._asked[number]
            if future.cancelled():
                self._say((frames.CANCEL, number))

    def _heard(self, batch: list[Message]) -> None:
        for message in batch:
            what = message[0]
            if what == frames.ANSWER or what == frames.DRAFTED:
                self._answered(message)
            elif what == frames.STREAM or what == frames.UPGRADE:
                self._begun(message)
            elif what == frames.PING:
                self._say_count(frames.PONG)
            elif what == frames.RELOAD:
                self.reload()
            elif what == frames.STOP:
                self.stop.set()
            elif (flow := self._flows.get(message[1])) is not None:
                flow.hear(message)
            elif what == frames.FAILED and (asked := self._asked.get(message[1])) is not None:
                asked.future.cancel()

    def _answered(self, message: Message) -> None:
        what, number, status, headers, body = message
        asked = self._asked.get(number)
        if asked is None or asked.future.done():
            return
        draft = asked.draft
        if draft is not None and self.drafting is not None:
            taken = what == frames.DRAFTED
            if taken:
                body = b"".join((draft.head, body, draft.tail))
            if status < 400:  # what is refused says nothing about drafts
                self.drafting.learn(asked.request, taken=taken)
        asked.future.set_result(Response(status, headers, body))

    def _begun(self, message: Message) -> None:
        what, number, status, headers = message
        asked, line = self._asked.get(number), self._line
        if asked is None or asked.future.done() or line is None:
            return  # whoever asked is gone, and the core was told so
        flow = self._flows[number] = Flow(line, number)
        stream = _Stream(self, number, flow)
        if what == frames.UPGRADE:
            response = Response(status, headers, upgrade=stream.carry)
        else:
            response = Response(status, headers, stream=stream)
        asked.future.set_result(response)

    def let_go(self, number: int) -> None:
        """Nobody here listens to this stream any more."""
        flow = self._flows.pop(number, None)
        if flow is not None and not flow.has_ended:
            self._say((frames.CANCEL, number))

    def _say_count(self, what: int) -> None:
        self._counted = self.count()
        self._say((what, self._counted))

    def _say(self, message: Message) -> None:
        if self._line is not None:
            self._line.say(message)

    def _lost(self) -> None:
        self._line = None
        self.lost.set()
        self.stop.set()

    def hang_up(self) -> None:
        """All is said: let the core know by ending."""
        if self._line is not None:
            self._line.close()


def _spoken(number: int, request: Request, draft: Draft | None) -> Message:
    peer = request.peer
    return (
        frames.REQUEST,
        number,
        request.method,
        request.path,
        request.query,
        request.headers,
        request.body,
        msgspec.msgpack.encode(peer) if peer is not None else None,
        request.source,
        tuple(draft) if draft is not None else None,
    )


class _Stream:
    """What comes from the core and goes on; closed also by one who never reads it."""

    def __init__(self, link: Link, number: int, flow: Flow) -> None:
        self._link = link
        self._number = number
        self._flow = flow

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> bytes:
        piece = await self._flow.read()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._link.let_go(self._number)

    async def carry(self, client: Duplex) -> None:
        """Carry between a client and the core what each says to the other, until the core ends."""
        inward = self._link.children.spawn(self._carry_inward(client), "what a client says")
        try:
            async for piece in self:
                await client.write(piece)
        finally:
            inward.cancel()
            self._link.let_go(self._number)

    async def _carry_inward(self, client: Duplex) -> None:
        while data := await client.read():
            await self._flow.write(data)
        self._flow.end()
