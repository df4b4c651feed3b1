"""The way into a simulated member from outside, and what can go wrong on it, on request.

A member, and the door it is to be reached by, come in; requests are served, or are not, as a lost,
slow or flapping cluster would do it. The member itself goes on all the while. Faults last until
they are healed, or until the process ends; only what is done to nodes is written down in them. An
administrator asks for them by requests.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from atoll.apiserver.authentication import MASTERS, Tokens, authenticate
from atoll.apiserver.door import Door
from atoll.apiserver.http.serving import HttpServer
from atoll.apiserver.responding import json_response, status_response
from atoll.apiserver.status import ApiError, bad_request, method_not_allowed, unknown_resource
from atoll.client.transport import closing
from atoll.errors import UsageError
from atoll.exchange import Request, Response
from atoll.runtime.children import Children
from atoll.simulated.member import Member
from atoll.simulated.upsets import fill, find_node, is_filled, lose_node, lost_nodes


@dataclass(slots=True)
class Gate:
    """One member's port: open, closed, or kept without an answer."""

    member: Member
    door: Door
    now: Callable[[], datetime]
    children: Children
    delay_s: float = 0.0
    is_silent: bool = False
    flapping_s: float = 0.0
    _server: HttpServer | None = None
    _flapping: asyncio.Task[None] | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self) -> None:
        """Serve whoever comes."""
        async with self._turn:
            if self._server is None:
                server = HttpServer(self._handle, self.now)
                await self.door.open(server)
                self._server, self.is_silent = server, False

    async def close(self) -> None:
        """Serve nobody any more, in good order."""
        self._stop_flapping()
        async with self._turn:
            server, self._server = self._server, None
            if server is not None:
                await server.stop()

    async def kill(self, *, hang: bool = False) -> None:
        """Be gone: connections break, and whoever comes is refused, or waits in vain."""
        self._stop_flapping()
        await self._fall(hang=hang)

    async def heal(self) -> None:
        """Be there again, at full speed, with all the room there is."""
        self._stop_flapping()
        self.delay_s = 0.0
        await fill(self.member.keeper, 0.0)
        await self.open()

    def slow(self, seconds: float) -> None:
        """Let every answer, and every piece of a stream, take this much longer."""
        self.delay_s = seconds

    def flap(self, every_s: float) -> None:
        """Be gone and there again by turns, each for so long."""
        self._stop_flapping()
        self.flapping_s = every_s
        self._flapping = self.children.spawn(self._flap(every_s), f"flapping {self.member.name}")

    def drop_watches(self) -> int:
        """Break the connections of all open watches, once; gives how many there were."""
        return 0 if self._server is None else self._server.break_streams()

    def state(self) -> dict[str, Any]:
        """What is wrong with it now."""
        is_up = self._server is not None
        return {
            "name": self.member.name,
            "url": self.door.url,
            "answers": "yes" if is_up else "silent" if self.is_silent else "refuses",
            "slowSeconds": self.delay_s,
            "flapSeconds": self.flapping_s,
            "isFilled": is_filled(self.member.keeper),
            "lostNodes": lost_nodes(self.member.keeper),
        }

    async def _fall(self, *, hang: bool) -> None:
        async with self._turn:
            server, self._server = self._server, None
            if server is not None:
                await server.break_off()
            elif hang is self.is_silent:
                return
            self.is_silent = hang
            self.door.hold(is_silent=hang)

    async def _flap(self, every_s: float) -> None:
        while True:
            await self._fall(hang=False)
            await asyncio.sleep(every_s)
            await self.open()
            await asyncio.sleep(every_s)

    def _stop_flapping(self) -> None:
        self.flapping_s = 0.0
        if self._flapping is not None:
            self._flapping.cancel()
            self._flapping = None

    async def _handle(self, request: Request) -> Response:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        response = await self.member.server.handle(request)
        if response.stream is None:
            return response
        return replace(response, stream=_Delayed(self, response.stream))


class _Delayed:
    """A stream that is as slow as its member is at the moment; closed even if nobody reads it."""

    def __init__(self, gate: Gate, inner: AsyncIterator[bytes]) -> None:
        self._gate = gate
        self._inner = inner

    def __aiter__(self) -> "_Delayed":
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._inner)
        if self._gate.delay_s:
            await asyncio.sleep(self._gate.delay_s)
        return piece

    async def aclose(self) -> None:
        async with closing(self._inner):
            pass


PREFIX = "/faults"
A_DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class FaultRequests:
    """Carries out what administrators ask of these gates."""

    gates: Mapping[str, Gate]
    facts: Mapping[str, object]

    async def handle(self, request: Request) -> Response:
        try:
            return json_response(await self._answer(request))
        except ApiError as error:
            return status_response(error)
        except UsageError as error:
            return status_response(bad_request(str(error)))

    async def _answer(self, request: Request) -> dict[str, Any]:
        if MASTERS not in authenticate(request, Tokens({})).groups:
            raise ApiError(403, "Forbidden", "only administrators may do this", details={})
        if request.path == PREFIX and request.method == "GET":
            return {**self.facts, "clusters": [each.state() for each in self.gates.values()]}
        if request.method != "POST":
            raise method_not_allowed()
        match request.path.removeprefix(f"{PREFIX}/").split("/"):
            case [name, fault]:
                return await self._carry_out(self._gate(name), fault, _body(request))
        raise unknown_resource()

    def _gate(self, name: str) -> Gate:
        if name not in self.gates:
            raise ApiError(404, "NotFound", f'there is no simulated cluster "{name}"', details={})
        return self.gates[name]

    async def _carry_out(self, gate: Gate, fault: str, how: Mapping[str, Any]) -> dict[str, Any]:
        broken = 0
        match fault:
            case "kill":
                await gate.kill(hang=bool(how.get("hang")))
            case "heal":
                await gate.heal()
            case "slow":
                gate.slow(_number(how, "seconds", 0.0, A_DAY_S))
            case "flap":
                gate.flap(_number(how, "seconds", 0.1, A_DAY_S))
            case "drop-watch":
                broken = gate.drop_watches()
            case "fill":
                await fill(gate.member.keeper, _number(how, "percent", 0.0, 100.0) / 100)
            case "lose-node":
                await lose_node(gate.member.keeper, str(how.get("node")))
            case "find-node":
                await find_node(gate.member.keeper, str(how.get("node")))
            case _:
                raise unknown_resource()
        return {**gate.state(), "broken": broken}


def _body(request: Request) -> Mapping[str, Any]:
    try:
        read = json.loads(request.body or b"{}")
    except ValueError as error:
        raise bad_request(str(error)) from error
    if not isinstance(read, dict):
        raise bad_request("an object is wanted")
    return read


def _number(how: Mapping[str, Any], key: str, least: float, most: float) -> float:
    value = how.get(key)
    if not isinstance(value, int | float) or not least <= value <= most:
        raise bad_request(f"{key} must be from {least:g} to {most:g}")
    return float(value)
