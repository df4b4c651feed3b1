"""Users' webhooks that say what kinds mean, as a layer of interpreters.

ResourceInterpreterWebhookConfigurations come in as on the wire; requests are put by a function
handed in, as Karmada's ResourceInterpreterContext has them, and the responses checked here. What is
wrong is an Invalid that names the configuration, the webhook, the operation and the problem.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.dialects import json
from atoll.dialects.patches import patched_by_all
from atoll.dialects.wire import flag, number, part, parts, text, texts
from atoll.errors import Invalid
from atoll.interpreting import answers
from atoll.interpreting.kinds import Kind, kind_of, named
from atoll.interpreting.operations import Dependency, Interpretation, Replicas
from atoll.interpreting.operations import Operation as Op
from atoll.wire import Object

OPERATIONS: Mapping[Op, str] = {
    Op.REPLICAS: "InterpretReplica",
    Op.COMPONENTS: "InterpretComponent",
    Op.REVISE: "ReviseReplica",
    Op.RETAIN: "Retain",
    Op.AGGREGATE: "AggregateStatus",
    Op.DEPENDENCIES: "InterpretDependency",
    Op.REFLECT: "InterpretStatus",
    Op.HEALTH: "InterpretHealth",
}
JSON_PATCH = "JSONPatch"


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of one configuration, as on the wire."""

    configuration: str
    wire: Object

    @property
    def name(self) -> str:
        return f"{self.configuration}/{text(self.wire, 'name', 'webhooks')}"

    def is_for(self, kind: Kind, operation: str | None = None) -> bool:
        """Whether it is to be asked about a kind, about this or about any operation."""
        group, _, version = kind[0].rpartition("/")
        return any(
            (operation is None or _has(rule, "operations", operation))
            and _has(rule, "apiGroups", group)
            and _has(rule, "apiVersions", version)
            and _has(rule, "kinds", kind[1])
            for _, rule in parts(self.wire, "rules", "webhooks")
        )

    def wrong(self, operation: str, problem: str) -> Invalid:
        """What is wrong with it, for its owner."""
        return Invalid(f"ResourceInterpreterWebhookConfiguration/{self.name}", operation, problem)


def _has(rule: Object, key: str, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in texts(rule, key, "webhooks.rules"))


@dataclass(frozen=True, slots=True)
class Reply:
    """The response to a request, or why there is none."""

    response: Object
    error: str = ""


Call = Callable[[Hook, Object], Reply]
"""A webhook and a request without its uid: what it responds."""


def hooks(configurations: Iterable[Object]) -> list[Hook]:
    """All webhooks in the order in which they are asked: by configuration and name."""
    found = [
        Hook(named(each, "name"), wire)
        for each in configurations
        for _, wire in parts(each, "webhooks", "")
    ]
    return sorted(found, key=lambda hook: hook.name)


class Webhooks:
    """The layer. Of each operation the first webhook that is for it answers."""

    def __init__(self, asked: list[Hook], call: Call) -> None:
        self._hooks = asked
        self._call = call
        self._known: dict[Kind, Interpretation | None] = {}

    def get(self, kind: Kind, /) -> Interpretation | None:
        """What is known of a kind, put together when it is first asked for."""
        if kind not in self._known:
            found = {
                str(operation): partial(_answered, operation, first, self._call)
                for operation, name in OPERATIONS.items()
                if (first := next((h for h in self._hooks if h.is_for(kind, name)), None))
            }
            self._known[kind] = Interpretation(**found) if found else None
        return self._known[kind]


def problem_of(operation: str, response: Object) -> str:
    """Why a response is no answer to an operation; empty if it is one."""
    if not flag(response, "successful", "response", default=False):
        status = part(response, "status", "response")
        if status is None:
            return "response.status must be given when response.successful is false"
        said = text(status, "message", "response.status")
        return f"it failed with code {status.get('code', 0)}: {said}"
    wanted = _REQUIRED.get(operation)
    if wanted is not None and response.get(wanted) is None:
        return f"response.{wanted} must be given"
    patch, kind = response.get("patch"), response.get("patchType")
    if operation in _PATCHED and (patch or kind) and not (patch and kind == JSON_PATCH):
        return f"response.patch must be a patch with patchType {JSON_PATCH}, not {kind!r}"
    return ""


_PATCHED = ("ReviseReplica", "Retain", "AggregateStatus")
_REQUIRED = {
    "InterpretReplica": "replicas",
    "InterpretStatus": "rawStatus",
    "InterpretHealth": "healthy",
}


def _asked(hook: Hook, call: Call, operation: Op, template: Object, **more: Any) -> Object:
    """The response to a request about an object."""
    group, _, version = kind_of(template)[0].rpartition("/")
    given = {
        "kind": {"group": group, "version": version, "kind": kind_of(template)[1]},
        "name": named(template, "name"),
        "namespace": named(template, "namespace"),
        "operation": OPERATIONS[operation],
        "object": template,
        "replicas": 0,
    }
    reply = call(hook, {key: value for key, value in (given | more).items() if value != ""})
    if reply.error:
        raise hook.wrong(OPERATIONS[operation], reply.error)
    return reply.response


def _answered(operation: Op, hook: Hook, call: Call, template: Object, *args: Any) -> Any:
    """What a webhook says of an object; what is wrong in its response is told with who gave it."""
    response = _asked(hook, call, operation, template, **_told(operation, *args))
    try:
        return _READ[operation](response, template)
    except Invalid as error:
        raise hook.wrong(OPERATIONS[operation], str(error)) from error


def _told(operation: Op, *args: Any) -> dict[str, Any]:
    """What a request says besides the object."""
    match operation, args:
        case Op.REVISE, (count,):
            return {"replicas": count}
        case Op.RETAIN, (observed,):
            return {"observedObject": observed}
        case Op.AGGREGATE, (items,) if items:
            return {"aggregatedStatus": [answers.item_wire(each) for each in items]}
    return {}


def _replicas(response: Object, template: Object) -> Replicas:
    found = number(response, "replicas", "response") or 0
    needs = part(response, "replicaRequirements", "response")
    return answers.replicas(found, needs, template, "response.replicaRequirements")


def _dependencies(response: Object, _: Object) -> tuple[Dependency, ...]:
    return answers.in_order(answers.dependencies(response.get("dependencies") or []))


def _patched(response: Object, template: Object) -> Object:
    """The object with the patch of a response; without one it stays as it is."""
    written = text(response, "patch", "response")
    if not written:
        return template
    try:
        patch = json.read(base64.b64decode(written, validate=True).decode())
    except ValueError as error:
        raise Invalid("response.patch", written[:60], "must be JSON in base64") from error
    return answers.same_object(patched_by_all(template, patch, "patch"), template)


_READ: Mapping[Op, Callable[[Object, Object], Any]] = {
    Op.REPLICAS: _replicas,
    Op.COMPONENTS: lambda response, _: answers.components(response.get("components") or []),
    Op.REVISE: _patched,
    Op.RETAIN: _patched,
    Op.AGGREGATE: lambda response, template: part(_patched(response, template), "status", ""),
    Op.DEPENDENCIES: _dependencies,
    Op.REFLECT: lambda response, _: part(response, "rawStatus", "response"),
    Op.HEALTH: lambda response, _: flag(response, "healthy", "response", default=False),
}
