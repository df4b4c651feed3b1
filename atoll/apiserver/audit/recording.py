"""Audit events: what a request came to, put together from its beginning to its end.

A request goes in at its beginning, and its response at the end; events go to a sink as they are
due, each a line of JSON in Kubernetes' form. What of them is kept where is not known here.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

import orjson

from atoll.apiserver.access.roles import Decision
from atoll.apiserver.audit.annotating import collect
from atoll.apiserver.audit.policy import (
    COMPLETE,
    RECEIVED,
    REQUEST,
    REQUEST_RESPONSE,
    STARTED,
    Policy,
    Rule,
)
from atoll.apiserver.authentication import Identity, user_info
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.bodies.decoding import decode_body, media_type, read_yaml_or_json
from atoll.apiserver.bodies.protobuf import PROTOBUF
from atoll.apiserver.kinds.reading import items, part, parts
from atoll.apiserver.resource import Resource
from atoll.apiserver.routing import ResourceRoute, Route
from atoll.apiserver.status import ApiError
from atoll.apiserver.wanting import wanted_by
from atoll.errors import Malformed
from atoll.exchange import Request, Response
from atoll.wire import Wire

Decide = Callable[[Identity, Attributes], Decision]

AGENT_MAX = 1024
_CUT = "...TRUNCATED"
_DECISION, _REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
_STATUS_FIELDS = ("metadata", "status", "message", "reason", "details", "code")


@dataclass(frozen=True, slots=True)
class Audit:
    """Records requests by a policy, and hands each event to `sink`."""

    policy: Policy
    decide: Decide
    now: Callable[[], datetime]
    sink: Callable[[bytes], None]

    def begun(
        self, request: Request, target: Route | None, sender: Identity | None, audit_id: str
    ) -> "Recorded | None":
        """Begin to record a request; None if the policy does not want it. No sender: unknown."""
        wanted = Attributes(request.method.lower(), path=request.path)
        if target is not None:
            wanted = wanted_by(request, target)
        rule = self.policy.rule_for(sender, wanted)
        if rule is None:
            return None
        recorded = Recorded(self, rule, request, wanted, sender, audit_id, self.stamp(), target)
        if sender is not None:
            collect(recorded.remarks)
            recorded.tell(RECEIVED)
        return recorded

    def stamp(self) -> str:
        return self.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(slots=True)
class Recorded:
    """A request that is recorded, and what is known of it so far."""

    audit: Audit
    rule: Rule
    request: Request
    wanted: Attributes
    sender: Identity | None
    audit_id: str
    received: str
    target: Route | None
    spoken: Identity | None = None
    made: str = ""  # the name of what was created
    remarks: dict[str, str] = field(default_factory=dict)

    def speaks_as(self, identity: Identity) -> None:
        """For whom the request is sent, which may be the sender; and may it be sent at all."""
        if identity != self.sender:
            self.spoken = identity
        decision = self.audit.decide(identity, self.wanted)
        self.remarks.setdefault(_DECISION, "allow" if decision.allowed else "forbid")
        self.remarks.setdefault(_REASON, decision.reason)

    def answered(self, response: Response, resource: Resource | None) -> Response:
        """The response, with its events told: at once, or when its stream is at an end."""
        ending = self._ending(response, resource)
        if self.sender is None:
            self.tell(STARTED, ending)
            return response
        if response.stream is None:
            if response.upgrade is not None:
                self.tell(STARTED, ending)
            self.tell(COMPLETE, ending)
            return response
        self.tell(STARTED, ending)
        return replace(response, stream=_Told(response.stream, lambda: self.tell(COMPLETE, ending)))

    def tell(self, stage: str, ending: Wire | None = None) -> None:
        if stage in self.rule.omitted:
            return
        event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": self.rule.level,
            "auditID": self.audit_id,
            "stage": stage,
            **self._asked(),
            **(ending or {}),
            "requestReceivedTimestamp": self.received,
            "stageTimestamp": self.audit.stamp(),
        }
        if self.remarks:
            event["annotations"] = dict(self.remarks)
        self.audit.sink(orjson.dumps(event) + b"\n")

    def _asked(self) -> Wire:
        request = self.request
        agent = request.headers.get("user-agent", "")
        if len(agent) > AGENT_MAX:
            agent = agent[:AGENT_MAX] + _CUT
        query = f"?{request.query}" if request.query else ""
        asked: Wire = {
            "requestURI": request.path + query,
            "verb": self.wanted.verb,
            "user": {} if self.sender is None else user_info(self.sender),
        }
        if self.spoken is not None:
            asked["impersonatedUser"] = user_info(self.spoken)
        if request.source:
            asked["sourceIPs"] = [request.source]
        if agent:
            asked["userAgent"] = agent
        if isinstance(self.target, ResourceRoute):
            asked["objectRef"] = self._object_ref(self.target)
        return asked

    def _object_ref(self, target: ResourceRoute) -> Wire:
        found = {
            "resource": target.plural,
            "namespace": self.wanted.namespace,
            "name": target.name or self.made,
            "apiGroup": target.group,
            "apiVersion": target.version,
            "subresource": target.subresource,
        }
        return {key: value for key, value in found.items() if value}

    def _ending(self, response: Response, resource: Resource | None) -> Wire:
        """How the request ended, and what was said, as far as the policy wants it."""
        level, verb = self.rule.level, self.wanted.verb
        # What was read is large at times, and mostly nobody wants to know what it was.
        looks = response.status >= 400 or level == REQUEST_RESPONSE or verb in ("create", "delete")
        told = _told(response) if looks else None
        status: Wire = {"metadata": {}, "code": response.status}
        if told is not None and told.get("kind") == "Status":
            status = {key: told[key] for key in _STATUS_FIELDS if key in told} | status
            self.made = part(told, "details").get("name") or ""
        elif told is not None and verb == "create":
            self.made = part(told, "metadata").get("name") or ""
        ending: Wire = {"responseStatus": status}
        if self.sender is None:
            return ending
        if level in (REQUEST, REQUEST_RESPONSE):
            sent = _sent(self.request, resource)
            if sent is not None:
                ending["requestObject"] = self._shown(sent)
        if level == REQUEST_RESPONSE and told is not None:
            ending["responseObject"] = self._shown(told)
        return ending

    def _shown(self, obj: Any) -> Any:
        if not self.rule.omits_owners or not isinstance(obj, dict):
            return obj
        shown = _without_owners(obj)
        if items(shown, "items"):
            shown["items"] = [_without_owners(each) for each in parts(shown, "items")]
        if items(shown, "rows"):
            rows = parts(shown, "rows")
            shown["rows"] = [
                {**row, "object": _without_owners(part(row, "object"))} for row in rows
            ]
        return shown


def _without_owners(obj: Wire) -> Wire:
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return dict(obj)
    kept = {key: value for key, value in meta.items() if key != "managedFields"}
    return {**obj, "metadata": kept}


def _sent(request: Request, resource: Resource | None) -> Any:
    """What the request's body says; None if it says nothing that can be shown."""
    if not request.body:
        return None
    kind = request.headers.get("content-type", "")
    try:
        if media_type(kind) == PROTOBUF:
            return decode_body(request.body, kind, resource).object if resource else None
        return read_yaml_or_json(request.body).value
    except (ApiError, Malformed):
        return None  # the request itself is told what is wrong


def _told(response: Response) -> Wire | None:
    if not response.headers.get("Content-Type", "").startswith("application/json"):
        return None
    try:
        found = orjson.loads(response.body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


class _Told:
    """A stream whose end is told, however it ends."""

    def __init__(self, stream: AsyncIterator[bytes], at_end: Callable[[], None]) -> None:
        self._stream = stream
        self._at_end: Callable[[], None] | None = at_end

    def __aiter__(self) -> "_Told":
        return self

    async def __anext__(self) -> bytes:
        is_over = True
        try:
            piece = await anext(self._stream)
            is_over = False
        finally:
            if is_over:
                self._tell()
        return piece

    async def aclose(self) -> None:
        self._tell()
        await cast(Any, self._stream).aclose()

    def _tell(self) -> None:
        at_end, self._at_end = self._at_end, None
        if at_end is not None:
            at_end()
