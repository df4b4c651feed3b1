"""`kubectl exec` and `kubectl attach` in a simulated pod, over channels in WebSocket.

The first byte of a message says the channel: input, output, complaints, the result, the size of the
terminal. A request at a pod's branch comes in, a response that takes the connection over goes out.
What commands do is for `shell` to say.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.options import first, flag, parse_query
from atoll.apiserver.resource import Branch, Errand
from atoll.apiserver.status import ApiError, bad_request, not_found
from atoll.effects import Effects
from atoll.exchange import Duplex, Request, Response
from atoll.simulated import shell, websocket
from atoll.simulated.hand import stored
from atoll.simulated.logs import PODS
from atoll.simulated.shell import Surroundings
from atoll.simulated.websocket import Opcode
from atoll.store.store import Store
from atoll.wire import Wire

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_INPUT, _OUTPUT, _COMPLAINT, _RESULT = range(4)
START_S = 0.05
_END_OF_INPUT = "\x04"


def remote_command(
    request: Request, words: Sequence[str], around: shell.Surroundings, *, terminal: bool
) -> Response:
    """Run a command over the connection of this request; ApiError if it cannot be spoken over."""
    if not websocket.is_offered(request.headers):
        raise bad_request("Upgrade request required: simulated pods speak WebSocket only")
    offered = websocket.protocols(request.headers)
    chosen = next((each for each in PROTOCOLS if each in offered), None)
    if chosen is None:
        known = ", ".join(PROTOCOLS)
        raise ApiError(403, "Forbidden", f"no protocol is known to both; mine: {known}", details={})
    headers = websocket.accepted(request.headers, chosen)

    async def upgrade(other: Duplex) -> None:
        await _Talk(other, around, terminal=terminal).run(words)

    return Response(101, headers, upgrade=upgrade)


@dataclass(slots=True)
class _Talk:
    """One command, from its first word to its result."""

    other: Duplex
    around: shell.Surroundings
    terminal: bool

    async def run(self, words: Sequence[str]) -> None:
        # A process takes a moment to start. Some clients lose what comes before they listen.
        await asyncio.sleep(START_S)
        code = await self._go_on(words) if shell.reads_input(words) else await self._once(words)
        await self._say(_RESULT, json.dumps(_result(code)))
        await self.other.write(websocket.frame(Opcode.CLOSE, (1000).to_bytes(2, "big")))

    async def _once(self, words: Sequence[str]) -> int:
        return await self._tell(shell.run(words, self.around))

    async def _tell(self, outcome: shell.Outcome) -> int:
        await self._say(_OUTPUT, outcome.output)
        await self._say(_COMPLAINT if not self.terminal else _OUTPUT, outcome.complaint)
        return outcome.code

    async def _say(self, channel: int, text: str) -> None:
        if text:
            shown = text.replace("\n", "\r\n") if self.terminal and channel != _RESULT else text
            message = bytes([channel]) + shown.encode()
            await self.other.write(websocket.frame(Opcode.BINARY, message))

    async def _go_on(self, words: Sequence[str]) -> int:
        """Take input until it ends: a shell answers each line, `cat` repeats it."""
        repeats = words[0].endswith("cat")
        code, rest = 0, ""
        await self._prompt(shown=not repeats)
        messages = websocket.Messages()
        while data := await self.other.read():
            text, ended = await self._input(messages, data)
            if self.terminal and text:
                await self._say(_OUTPUT, text.replace("\r", "\n").replace(_END_OF_INPUT, ""))
            *lines, rest = (rest + text).replace("\r", "\n").split("\n")
            for line in lines:
                if line.split()[:1] == ["exit"] and not repeats:
                    return code
                code = await self._answer(line, repeats=repeats)
                await self._prompt(shown=not repeats)
            if ended or _END_OF_INPUT in rest:
                break
        if rest.rstrip(_END_OF_INPUT):
            code = await self._answer(rest.rstrip(_END_OF_INPUT), repeats=repeats, end="")
        return code

    async def _answer(self, line: str, *, repeats: bool, end: str = "\n") -> int:
        if repeats:
            await self._say(_OUTPUT, line + end)
            return 0
        return await self._tell(shell.answer(line, self.around))

    async def _prompt(self, *, shown: bool) -> None:
        if shown and self.terminal:
            await self._say(_OUTPUT, shell.PROMPT)

    async def _input(self, messages: websocket.Messages, data: bytes) -> tuple[str, bool]:
        """What was typed, and whether that was all."""
        typed = b""
        try:
            for message in messages.feed(data):
                match message.opcode, message.content[:1]:
                    case Opcode.CLOSE, _:
                        return typed.decode(errors="replace"), True
                    case Opcode.PING, _:
                        await self.other.write(websocket.frame(Opcode.PONG, message.content))
                    case ((Opcode.BINARY | Opcode.TEXT), b"\x00"):
                        typed += message.content[1:]
                    case Opcode.BINARY, b"\xff" if message.content[1:] == bytes([_INPUT]):
                        return typed.decode(errors="replace"), True
        except websocket.Broken:
            return typed.decode(errors="replace"), True
        return typed.decode(errors="replace"), False


def _result(code: int) -> dict[str, object]:
    """How the command ended, in the words that clients look for."""
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


@dataclass(frozen=True, slots=True)
class PodCommands:
    """Answers commands for the pods in a store."""

    store: Store
    effects: Effects

    def branches(self) -> tuple[Branch, ...]:
        """What it answers to."""
        verbs = ("create", "get")
        return (
            Branch("attach", "PodAttachOptions", self.attach, verbs),
            Branch("exec", "PodExecOptions", self.execute, verbs),
        )

    async def execute(self, errand: Errand) -> Response:
        """Run a command in a container; ApiError if it does not run."""
        words = parse_query(errand.request.query).get("command", [])
        if not words:
            raise bad_request("you must specify at least 1 command for the container")
        return self._run(errand, words)

    async def attach(self, errand: Errand) -> Response:
        """Follow the input of what runs in a container: it repeats what it is told."""
        return self._run(errand, ["cat"])

    def _run(self, errand: Errand, words: list[str]) -> Response:
        query = parse_query(errand.request.query)
        pod = stored(self.store, PODS, f"{errand.namespace}/{errand.name}")
        if pod is None:
            raise not_found(PODS, "", errand.name)
        container = _running_container(pod, first(query, "container") or "")
        variables = {each["name"]: each.get("value", "") for each in container.get("env") or ()}
        around = Surroundings(errand.name, lambda: rfc3339(self.effects.now()), variables)
        return remote_command(errand.request, words, around, terminal=flag(query, "tty"))


def _running_container(pod: Wire, wanted: str) -> Wire:
    name, containers = pod["metadata"]["name"], pod["spec"]["containers"]
    found: Wire | None = next((each for each in containers if wanted in ("", each["name"])), None)
    if found is None:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    runs = any(
        each["name"] == found["name"] and "running" in (each.get("state") or {})
        for each in statuses
    )
    if not runs:
        message = f'container not running ("{found["name"]}" of pod {name})'
        raise ApiError(500, "InternalError", message, details={})
    return found
