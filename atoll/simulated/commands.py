"""`kubectl exec` and `kubectl attach` in a simulated pod: which container, which command.

A request at a pod's branch comes in; a response that takes its connection over goes out. What is
spoken there is the business of `remote_command`, what commands answer that of `shell`.
"""

from dataclasses import dataclass

import orjson

from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.options import first, flag, parse_query
from atoll.apiserver.resource import Branch, Errand
from atoll.apiserver.status import ApiError, bad_request, not_found
from atoll.effects import Effects
from atoll.exchange import Response
from atoll.simulated.logs import PODS
from atoll.simulated.remote_command import remote_command
from atoll.simulated.shell import Surroundings
from atoll.store.store import Store
from atoll.wire import Object


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
        record = self.store.get(PODS, f"{errand.namespace}/{errand.name}")
        if record is None:
            raise not_found(PODS, "", errand.name)
        pod: Object = orjson.loads(record.value)
        container = _running_container(pod, first(query, "container") or "")
        variables = {each["name"]: each.get("value", "") for each in container.get("env") or ()}
        around = Surroundings(errand.name, lambda: rfc3339(self.effects.now()), variables)
        return remote_command(errand.request, words, around, terminal=flag(query, "tty"))


def _running_container(pod: Object, wanted: str) -> Object:
    name, containers = pod["metadata"]["name"], pod["spec"]["containers"]
    found: Object | None = next((each for each in containers if wanted in ("", each["name"])), None)
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
