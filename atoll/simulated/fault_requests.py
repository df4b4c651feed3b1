"""What an administrator asks of a fleet while it runs: how its members are, and that they fail.

    GET  /faults                    every member, and what is wrong with it
    POST /faults/NAME/kill          {"hang": false}
    POST /faults/NAME/heal
    POST /faults/NAME/slow          {"seconds": 2}
    POST /faults/NAME/flap          {"seconds": 10}
    POST /faults/NAME/drop-watch
    POST /faults/NAME/fill          {"percent": 90}
    POST /faults/NAME/lose-node     {"node": "node-1"}
    POST /faults/NAME/find-node     {"node": "node-1"}

A handler for a door of its own: the members' own doors may be closed. Answers are the state.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.authentication import MASTERS, Tokens, authenticate
from atoll.apiserver.responding import json_response, status_response
from atoll.apiserver.status import ApiError, bad_request, method_not_allowed, unknown_resource
from atoll.errors import UsageError
from atoll.exchange import Request, Response
from atoll.simulated.faults import Gate

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
                gate.slow(_number(how, "seconds", 0.0, A_DAY_S))
            case "flap":
                gate.flap(_number(how, "seconds", 0.1, A_DAY_S))
            case "drop-watch":
                broken = gate.drop_watches()
            case "fill":
                await gate.member.fill(_number(how, "percent", 0.0, 100.0) / 100)
            case "lose-node":
                await gate.member.lose_node(str(how.get("node")))
            case "find-node":
                await gate.member.find_node(str(how.get("node")))
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
