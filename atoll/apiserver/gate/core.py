"""The core's side of a line: a gate's requests become calls of the handler, its answers go back.

What a gate says is believed: it alone knows whom a client's certificate names. When the gate ends,
so do its streams; whatever else was asked goes on to its end, as if the client had gone.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from atoll.apiserver.gate import frames
from atoll.apiserver.gate.flow import Flow
from atoll.apiserver.gate.frames import Line, Message
from atoll.apiserver.http import refusals
from atoll.exchange import Draft, Handler, Peer, Request, Response
from atoll.runtime.children import Children

log = logging.getLogger("atoll.gate")

PEERS_MAX = 1024


class Core:
    """The server behind one gate. `children` are the calls under way; their owner ends them."""

    def __init__(self, handler: Handler, children: Children) -> None:
        self.ready = asyncio.Event()  # once the gate lets clients in
        self.lost = asyncio.Event()  # once it has ended
        self.connection_count = 0
        self.answers_ping = True
        self.line = Line(self._heard, self._lost)
        self._handler = handler
        self._children = children
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._flows: dict[int, Flow] = {}
        self._peers: dict[bytes | None, Peer | None] = {None: None}

    def _heard(self, batch: list[Message]) -> None:
        for message in batch:
            what = message[0]
            if what == frames.REQUEST:
                self._asked(message)
            elif what == frames.CANCEL:
                if (call := self._calls.pop(message[1], None)) is not None:
                    call.cancel()
            elif what == frames.COUNT:
                self.connection_count = message[1]
            elif what == frames.PONG:
                self.answers_ping, self.connection_count = True, message[1]
            elif what == frames.READY:
                self.ready.set()
            elif what == frames.LOG:
                frames.write(message[1])
            elif (flow := self._flows.get(message[1])) is not None:
                flow.hear(message)

    def _asked(self, message: Message) -> None:
        _, number, method, path, query, headers, body, who, source, draft = message
        peer = self._peers[who] if who in self._peers else self._met(who)
        request = Request(method, path, query, headers, body, peer, source)
        if draft is not None:
            name, head, tail, warnings = draft
            request.draft = Draft(name, head, tail, tuple(warnings))
        self._calls[number] = self._children.spawn(self._answer(number, request), "exchange")

    def _met(self, who: bytes) -> Peer:
        """The peer of this description; the same few ask again and again."""
        if len(self._peers) > PEERS_MAX:
            self._peers = {None: None}
        peer = self._peers[who] = frames.read_peer(who)
        return peer

    async def _answer(self, number: int, request: Request) -> None:
        is_answered = False
        try:
            response = await refusals.answered(self._handler, request, log)
            if response.stream is not None or response.upgrade is not None:
                await self._go_on(number, response)
            else:
                await self.line.room()
                spoken = _spoken(number, response, request.draft)
                self.line.say(spoken, len(response.body), awaited=True)
            is_answered = True
        finally:
            self._calls.pop(number, None)
            if not is_answered:  # but cancelled: the client is not left hanging
                self.line.say((frames.FAILED, number))

    async def _go_on(self, number: int, response: Response) -> None:
        """Send a stream, or speak over an upgraded connection, until it ends."""
        line = self.line
        flow = self._flows[number] = Flow(line, number)
        status, headers = response.status, dict(response.headers)
        try:
            if response.upgrade is not None:
                line.say((frames.UPGRADE, number, status, headers))
                await response.upgrade(flow)
            else:
                stream = cast("AsyncGenerator[bytes, None]", response.stream)
                async with aclosing(stream):
                    line.say((frames.STREAM, number, status, headers))
                    async for piece in stream:
                        await flow.write(piece)
            flow.end()
        except Exception:
            log.exception("Failed in the middle of a stream")
            line.say((frames.FAILED, number))
        finally:
            del self._flows[number]

    def _lost(self) -> None:
        self.connection_count = 0
        for number in self._flows:
            if (call := self._calls.get(number)) is not None:
                call.cancel()
        self.lost.set()


def _spoken(number: int, response: Response, draft: Draft | None) -> Message:
    """An answer as it is said. What the gate has made itself need not be sent back to it."""
    headers, body = response.headers, response.body
    if type(headers) is not dict:
        headers = dict(headers)
    if draft is not None and body.startswith(draft.head) and body.endswith(draft.tail):
        gap = body[len(draft.head) : -len(draft.tail)]
        return (frames.DRAFTED, number, response.status, headers, gap)
    return (frames.ANSWER, number, response.status, headers, body)
