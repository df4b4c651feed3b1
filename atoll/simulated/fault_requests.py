"""What an administrator asks of a fleet while it runs: how its members are, and that they fail.

    GET  /faults                    every member, and what is wrong with it
    POST /faults/NAME/kill          {"hang": false}
    POST /faults/NAME/heal
    POST /faults/NAME/slow          {"seconds": 2}
    POST /faults/NAME/flap          {"seconds": 10}
    POST /faults/NAME/drop-watch

A handler for a door of its own: the members' own doors may be closed. Answers are the state.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.authentication import MASTERS, Tokens, authenticate
from atoll.apiserver.responding import json_response, status_response
from atoll.apiserver.status import ApiError, bad_request, method_not_allowed, unknown_resource
from atoll.exchange import Request, Response
from atoll.simulated.faults import Gate

PREFIX = "/faults"


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
            message = f'there is no simulated cluster "{name}"'
            raise ApiError(404, "NotFound", message, details={})
        return self.gates[name]

    async def _carry_out(self, gate: Gate, fault: str, how: Mapping[str, Any]) -> dict[str, Any]:
        broken = 0
        match fault:
            case "kill":
                await gate.kill(hang=bool(how.get("hang")))
            case "heal":
                await gate.heal()
            case "slow":
                gate.slow(_seconds(how, least=0.0))
            case "flap":
                gate.flap(_seconds(how, least=0.1))
            case "drop-watch":
                broken = gate.drop_watches()
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


def _seconds(how: Mapping[str, Any], *, least: float) -> float:
    value = how.get("seconds")
    if not isinstance(value, int | float) or not least <= value <= 86400:
        raise bad_request(f"seconds must be from {least:g} to 86400")
    return float(value)
