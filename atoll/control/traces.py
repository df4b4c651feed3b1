"""One trace for each change of a template: detected, scheduled, rendered, delivered, told back.

A change is noted when it is first seen, and its trace begins with the first write on its account.
Here it is known by the template; whoever delivers, in this process or in an agent's, goes by what
the Work carries. That goes along with writes of Works that are made anyway: nothing here decides
what is written, or causes a write.
"""

from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from atoll.control.loop import CarryOut, Failure
from atoll.control.performing import LookAgain
from atoll.control.site import Site
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.references import API_VERSION, WORK_API
from atoll.dialects.karmada.works import has_arrived
from atoll.dialects.policy_source import Claims
from atoll.dialects.wire import instant
from atoll.model.action import Action, Create, Delete, Plan, Ref, Tell, Update
from atoll.scheduling.decision import Decision
from atoll.scheduling.trigger import Trigger
from atoll.tracing.context import ANNOTATION, Context, Mark, read_mark
from atoll.tracing.span import Span, Value
from atoll.tracing.tracer import Open, Tracer
from atoll.wire import Object, Wire

V = TypeVar("V")

LASTS_S = 600.0
"""For so long after a change what is done is taken to be on its account."""
TEMPLATE, POLICY = "template changed", "policy changed"
_NEW_S = 60.0
_MOST = 8192
_NANO = 1_000_000_000
_VERBS = {Create: "create", Update: "update", Delete: "delete"}


@dataclass(slots=True)
class _Change:
    """What is to be brought to members, since when, and how far that is."""

    template: Ref
    cause: str
    at_ns: int
    root: Context | None = None
    detected: Context | None = None
    placed: Context | None = None
    is_detected: bool = False
    works: dict[Ref, None] = field(default_factory=dict)
    """Those that were written on its account; none any more once all is told of them."""


class Traces:
    """The traces of the changes that the controllers of one hub work on."""

    def __init__(self, tracer: Tracer, plane: Site, claims: Claims) -> None:
        self._claims = claims
        self._tracer = tracer
        self._plane = plane
        self._changes: dict[Ref, _Change] = {}
        self._delivered: dict[Ref, Context] = {}
        """Works of whose arrival nothing is told yet."""

    def changed(self, before: Wire | None, after: Wire) -> None:
        """A template came or changed; not one that was only seen for the first time."""
        digest = self._claims.digest
        if self._is_new(after) if before is None else digest(before) != digest(after):
            self._note(_Change(Ref.of(after), TEMPLATE, self._tracer.now_ns()))

    async def detecting(
        self, template: Ref, plan: Plan, begun: float, carry_out: CarryOut
    ) -> Failure | None:
        """A policy is applied to a template: its binding is written."""
        bindings = [each for each in _written(plan) if each["apiVersion"] == API_VERSION]
        if not bindings:
            return await carry_out(plan)
        change = self._change(template)
        if change is None or change.is_detected:
            change = self._note(_Change(template, POLICY, self._tracer.ns_at(begun)))
        span = self._open("detect", self._root(change), template, begun)
        claim = self._claims.of(bindings[0])
        if claim is not None:
            span.attributes["atoll.policy"] = str(claim)
        change.detected, change.placed = span.context, None
        failed = await _ended(span, carry_out(plan))
        change.is_detected = failed is None
        return failed

    def placed(self, binding: Ref, decision: Decision, trigger: Trigger, begun: float) -> None:
        """It was written where a binding goes, or why it goes nowhere."""
        change = self._behind(binding)
        if change is None:
            return
        above = change.detected or self._root(change)
        span = self._open("schedule", above, change.template, begun)
        span.attributes["atoll.trigger"] = trigger.value
        span.attributes["atoll.verdict"] = decision.verdict.value
        span.attributes["atoll.targets"] = tuple(
            f"{each.name}={each.replicas}" if each.replicas else each.name
            for each in decision.targets
        )
        change.placed = span.context
        span.end(None if decision.ok else decision.message or decision.verdict.value)

    async def rendering(
        self, binding: Ref, plan: Plan, begun: float, carry_out: CarryOut
    ) -> Failure | None:
        """The Works of a binding are rendered and written."""
        works = [each for each in _written(plan) if each["kind"] == "Work"]
        change = self._behind(binding) if works else None
        if change is None:
            return await carry_out(plan)
        span = self._open("render works", self._latest(change), change.template, begun)
        clusters = (names.cluster_of(each["metadata"]["namespace"]) or "" for each in works)
        span.attributes["atoll.clusters"] = tuple(clusters)
        change.works = {**change.works, **dict.fromkeys(map(Ref.of, works))}
        mark = str(Mark(span.context, change.at_ns / _NANO))
        actions = tuple(_marked(each, mark) for each in plan.actions)
        return await _ended(span, carry_out(replace(plan, actions=actions)))

    async def delivering(
        self, key: tuple[str, str], plan: Plan, begun: float, carry_out: CarryOut
    ) -> Failure | None:
        """A member is made to have what a Work says; then, it is told once how that went."""
        ref = Ref(WORK_API, "Work", *key)
        work = self._plane.value(kinds.WORK, *key)
        noted = work.meta.annotations.get(ANNOTATION, "") if work and not work.meta.is_going else ""
        mark = read_mark(noted)
        sent = [each for each in plan.actions if not isinstance(each, Tell) and each.at]
        if mark is None or not self._lasts(mark.since) or not (sent or _written(plan, "status")):
            return await carry_out(plan)
        above = mark.context if sent else self._delivered.pop(ref, None)
        if above is None or above.trace != mark.context.trace:
            return await carry_out(plan)
        about = _about(sent[0]) if sent else ref
        span = self._open("deliver" if sent else "report status", above, about, begun)
        span.attributes["k8s.cluster.name"] = names.cluster_of(key[0]) or ""
        if sent:
            span.attributes["atoll.action"] = _VERBS[type(sent[0])]
            _keep_most(self._delivered, ref, span.context)
        return await _ended(span, carry_out(plan))

    async def aggregating(
        self, binding: Ref, plan: Plan, begun: float, carry_out: CarryOut
    ) -> Failure | None:
        """What members say is summed up: told until what was written has arrived everywhere."""
        change = self._behind(binding) if _written(plan, "status") else None
        if change is None or not change.works:
            return await carry_out(plan)
        span = self._open("aggregate status", self._latest(change), change.template, begun)
        sent, arrived = change.works, [each for each in change.works if self._has_arrived(each)]
        clusters = (names.cluster_of(each.namespace) or "" for each in arrived)
        span.attributes["atoll.clusters"] = tuple(clusters)
        is_all = len(arrived) == len(sent)
        failed = await _ended(span, carry_out(plan))
        if failed is None and is_all and change.works == sent:
            change.works = {}
        return failed

    def _note(self, change: _Change) -> _Change:
        _keep_most(self._changes, change.template, change)
        return change

    def _change(self, template: Ref) -> _Change | None:
        """The last change of a template, unless that was long ago."""
        change = self._changes.get(template)
        return change if change is not None and self._lasts(change.at_ns / _NANO) else None

    def _behind(self, binding: Ref) -> _Change | None:
        """The change that is behind what is done for a binding, if there is one."""
        kind = kinds.RESOURCE_BINDING if binding.namespace else kinds.CLUSTER_RESOURCE_BINDING
        found = self._plane.value(kind, binding.namespace, binding.name)
        return None if found is None else self._change(found.spec.template)

    def _latest(self, change: _Change) -> Context:
        """What a change has come to with its binding."""
        return change.placed or change.detected or self._root(change)

    def _root(self, change: _Change) -> Context:
        """The first span of a change: from when it was seen to when something was done for it."""
        if change.root is None:
            change.root = self._tracer.begin()
            span = Span(
                name=change.cause,
                context=change.root,
                began_ns=change.at_ns,
                ended_ns=self._tracer.now_ns(),
                attributes=_described(change.template),
            )
            self._tracer.keep(span)
        return change.root

    def _open(self, name: str, above: Context, about: Ref, begun: float) -> Open:
        span = self._tracer.open(name, above, self._tracer.ns_at(begun))
        span.attributes.update(_described(about))
        return span

    def _has_arrived(self, work: Ref) -> bool:
        """Whether a member has what a Work says; one that is gone is not waited for."""
        found = self._plane.value(kinds.WORK, work.namespace, work.name)
        return found is None or has_arrived(found, knows_health=False)

    def _lasts(self, since: float) -> bool:
        return abs(self._tracer.now_ns() / _NANO - since) <= LASTS_S

    def _is_new(self, wire: Wire) -> bool:
        made_ns = instant(wire["metadata"], "creationTimestamp", "")
        return made_ns is not None and self._tracer.now_ns() - made_ns <= _NEW_S * _NANO


async def _ended(span: Open, carrying_out: Awaitable[Failure | None]) -> Failure | None:
    """Carry out what a span is about; with that it ends."""
    failed = await carrying_out
    problem = None if failed is None else failed[1]
    if isinstance(problem, LookAgain):
        span.attributes["atoll.late"] = True
        problem = None
    if problem is not None:
        span.attributes["error.type"] = type(problem).__name__
    span.end(None if problem is None else str(problem) or type(problem).__name__)
    return failed


def _keep_most(kept: dict[Ref, V], key: Ref, value: V) -> None:
    """Keep a value as the newest; of more than so many, the oldest is forgotten."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > _MOST:
        del kept[next(iter(kept))]


def _described(ref: Ref) -> dict[str, Value]:
    """An object as attributes of a span."""
    known = {
        "k8s.namespace.name": ref.namespace,
        "atoll.object.api_version": ref.api_version,
        "atoll.object.kind": ref.kind,
        "atoll.object.name": ref.name,
    }
    return {key: value for key, value in known.items() if value}


def _written(plan: Plan, part: str = "") -> list[Object]:
    """What is written to the plane: whole objects, or that part of them."""
    writes = [each for each in plan.actions if isinstance(each, Create | Update) and not each.at]
    return [each.object for each in writes if getattr(each, "subresource", "") == part]


def _marked(action: Action, mark: str) -> Action:
    """The same action, by which a Work comes to carry its trace."""
    if not isinstance(action, Create | Update) or action.object["kind"] != "Work":
        return action
    metadata = action.object["metadata"]
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: mark}
    return replace(
        action, object={**action.object, "metadata": {**metadata, "annotations": annotations}}
    )


def _about(write: Create | Update | Delete) -> Ref:
    return write.ref if isinstance(write, Delete) else Ref.of(write.object)
