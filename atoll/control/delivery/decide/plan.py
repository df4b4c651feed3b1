"""A Work and its member: make the objects be as the Work says, and tell how they are.

Comes in: the Work, whether its cluster can be reached, what the member has. Goes out: writes to
the member, and at most one write of the Work's status that carries conditions and reflections
together. Applied is said of what was seen in the member, not of what was sent. What is not well yet
may be so in a moment, and is told then, once. Does not know how members are reached, nor what any
kind means.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from atoll.control.delivery.decide import applying, reflecting
from atoll.control.delivery.decide.applying import Attempt, Finding, Retain
from atoll.control.delivery.decide.reflecting import Questions
from atoll.control.patience import FOR_LONG, Waited, is_worse, left_s
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.karmada.works import APPLIED
from atoll.dialects.kubernetes import conditions
from atoll.dialects.kubernetes.conditions import Condition
from atoll.errors import AtollError
from atoll.model.action import NOTHING, Action, Delete, Plan, Ref, Tell, Update
from atoll.model.health import is_well
from atoll.model.work import Work, WorkSpec, WorkStatus
from atoll.wire import Object

NOT_APPLIED = "SyncFailed"
DISPATCHING = "Dispatching"
_APPLIED = Condition(APPLIED, True, "AppliedSuccessful", "Manifest has been successfully applied")
_SUSPENDED = Condition(
    DISPATCHING, False, "SuspendDispatching", "Work dispatching is in a suspended state."
)
_DISPATCHING = Condition(
    DISPATCHING, True, "Dispatching", "Work is being dispatched to member clusters."
)


@dataclass(frozen=True, slots=True)
class SeenWork:
    """A Work and what is known of its cluster.

    `ready` is None when there is no such cluster; `leaving` when it is being removed. `observed`
    and `attempts` are by the manifests' Refs; `observed` is at least as new as our last write.
    `waited`: how long there has been something to tell.
    """

    work: Work
    ready: bool | None
    retain: Retain
    questions: Questions
    observed: Mapping[Ref, Object] = field(default_factory=dict)
    attempts: Mapping[Ref, Attempt] = field(default_factory=dict)
    leaving: bool = False
    waited: Waited = FOR_LONG
    is_over: bool = False
    """The Work is gone, and is known by its `remains`."""
    owners: Callable[[], Sequence[Object]] = tuple
    """Where else people look: the binding and the template behind the Work."""


def plan(seen: SeenWork, now: float) -> Plan:
    """What to do next for a Work."""
    if seen.is_over:
        # A creation that was on its way for long came after all.
        return Plan(tuple(_withdraw(seen))) if seen.ready else NOTHING
    if seen.work.problem is not None:
        return Plan((Tell(seen.work.wire, NOT_APPLIED, str(seen.work.problem), warning=True),))
    if seen.work.meta.is_going:
        return _plan_end(seen)
    is_suspended = seen.work.spec.is_suspended
    if not seen.work.cluster:
        return NOTHING
    if seen.ready is not True and not is_suspended:
        return NOTHING  # that it is ready will be news
    findings = _findings(seen)
    told = _tell(seen, findings, now)
    if is_suspended:
        return told
    # What was refused before goes last, and the reason is told before it is tried again.
    hopeful = [each.action for each in findings if each.action and not each.failure]
    refused = [each.action for each in findings if each.action and each.failure]
    return Plan((*hopeful, *told.actions, *refused), told.again_in)


def objects(work: Work) -> list[Object]:
    """Those of a Work's manifests that are objects."""
    return [each for each in work.spec.manifests if is_object(each)]


def is_object(manifest: Any) -> bool:
    """Whether a manifest says which object it is."""
    if not isinstance(manifest, Mapping) or not isinstance(manifest.get("metadata"), Mapping):
        return False
    ref = Ref.of(manifest)
    names = (ref.api_version, ref.kind, ref.name)
    return all(isinstance(each, str) for each in (*names, ref.namespace)) and all(names)


def is_last(action: Action) -> bool:
    """Whether an action lets a Work end."""
    if not isinstance(action, Update) or action.at or action.subresource:
        return False
    return bool(action.object["metadata"].get("deletionTimestamp"))


def remains(work: Work) -> Work:
    """What is to be known of a Work that is gone: what was to go with it, and how."""
    named = [
        {
            "apiVersion": each["apiVersion"],
            "kind": each["kind"],
            "metadata": {key: each["metadata"].get(key, "") for key in ("namespace", "name")},
        }
        for each in objects(work)
    ]
    meta = replace(work.meta, labels={}, annotations={}, owners=())
    spec = WorkSpec(tuple(named), preserves=work.spec.preserves)
    return replace(work, wire={}, meta=meta, bindings=(), spec=spec, status=WorkStatus())


def _findings(seen: SeenWork) -> list[Finding]:
    found = []
    for ordinal, manifest in enumerate(seen.work.spec.manifests):
        if not is_object(manifest):
            problem = f"spec.workload.manifests[{ordinal}] must give apiVersion, kind and a name"
            found.append(Finding({}, failure=problem))
            continue
        ref = Ref.of(manifest)
        observed, attempt = seen.observed.get(ref), seen.attempts.get(ref)
        found.append(applying.find(manifest, seen.work, observed, attempt, seen.retain))
    return found


def _plan_end(seen: SeenWork) -> Plan:
    """Take back what we made, or let go of it; once that is done, let the Work end."""
    work = seen.work
    finalizers = work.meta.finalizers
    if names.EXECUTION_FINALIZER not in finalizers:
        return NOTHING
    if seen.ready is False and not seen.leaving:
        return NOTHING
    # A cluster that is gone, or goes without answering, keeps what it has.
    if seen.ready and (actions := _withdraw(seen)):
        # That it goes will be news: only then may the Work end.
        return Plan(tuple(actions))
    left = [each for each in finalizers if each != names.EXECUTION_FINALIZER]
    return Plan((Update(patched(work.wire, {"metadata": {"finalizers": left}})),))


def _withdraw(seen: SeenWork) -> list[Action]:
    cluster, preserve = seen.work.cluster, seen.work.spec.preserves
    actions: list[Action] = []
    for ref in map(Ref.of, objects(seen.work)):
        observed = seen.observed.get(ref)
        if observed is None or not applying.is_marked(observed, seen.work):
            continue
        # With a namespace would go what others keep there, and what is to be preserved.
        is_space = seen.leaving and (ref.api_version, ref.kind) == ("v1", "Namespace")
        if preserve or is_space:
            actions.append(Update(applying.released(observed), at=cluster))
        elif not observed["metadata"].get("deletionTimestamp"):
            actions.append(Delete.of(observed, at=cluster))
    return actions


def _tell(seen: SeenWork, findings: Sequence[Finding], now: float) -> Plan:
    """One write of the Work's status if it has something new to say, and an event if it is bad."""
    work, known = seen.work, seen.work.status.conditions
    suspended = work.spec.is_suspended
    dispatching = conditions.find(known, DISPATCHING)
    applied = None if suspended else _applied(findings)
    if applied is not None:
        # Whoever waits for a change to arrive must not take an old success for the new one.
        applied = replace(applied, generation=work.meta.generation)
    entries, troubles = _entries(seen, findings)
    if applied is None and dispatching is None and not suspended and not entries:
        # Sent, and not seen yet: what there is to say comes with the first sight of it.
        return Plan(troubles)
    stated = conditions.stated(known, _SUSPENDED if suspended else _DISPATCHING, now)
    stated = stated if applied is None else conditions.stated(stated, applied, now)
    if (tuple(stated), tuple(entries)) == (known, work.status.manifests):
        return Plan(troubles)
    turned = suspended != (dispatching is not None and dispatching.get("status") == "False")
    worse = is_worse(work.status.manifests, entries, "identifier")
    patience_s = left_s(seen.waited, presses=worse)
    if patience_s and not turned and _may_get_well(applied, entries):
        return Plan(troubles, again_in=patience_s)
    fresh = {"conditions": stated, "manifestStatuses": entries or None}
    update = Update(patched(work.wire, {"status": fresh}), subresource="status")
    told: list[Action] = [update, *troubles]
    if turned:
        said = _SUSPENDED if suspended else _DISPATCHING
        told.append(Tell(work.wire, "WorkDispatching", said.message))
    if applied is not None and not applied.holds:
        told.append(Tell(work.wire, NOT_APPLIED, applied.message, warning=True))
    return Plan(tuple(told))


def _may_get_well(applied: Condition | None, entries: Sequence[Object]) -> bool:
    """Whether all is there as it should be, and something of it does not run well yet."""
    is_there = applied is not None and bool(applied.holds)
    return is_there and not all(map(is_well, entries))


def _applied(findings: Sequence[Finding]) -> Condition | None:
    """Whether all is as it should be; None while that is not known."""
    failures = [each.failure for each in findings if each.failure]
    if failures:
        done, total = len(findings) - len(failures), len(findings)
        reasons = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        message = f"Failed to apply all manifests ({done}/{total}): {reasons}"
        return Condition(APPLIED, False, "AppliedFailed", message)
    return None if any(each.action for each in findings) else _APPLIED


def _entries(
    seen: SeenWork, findings: Sequence[Finding]
) -> tuple[list[Object], tuple[Action, ...]]:
    """An entry for each object that is ours, and what could not be told.

    An object that is out of sight for the moment is as it was when last seen.
    """
    former = seen.work.status.manifests
    entries: list[Object] = []
    troubles: list[Action] = []
    for ordinal, each in enumerate(findings):
        before = next((one for one in former if _is_about(one, ordinal, each.manifest)), None)
        kept = [before] if before is not None else []
        if each.observed is None:
            entries += [] if each.failure else kept
            continue
        if not applying.is_marked(each.observed, seen.work):
            continue
        ref = Ref.of(each.manifest)
        try:
            entry, problem = reflecting.entry(ordinal, each.observed, seen.questions)
        except AtollError as failed:
            entries += kept
            message = f"The status of {ref} cannot be told: {failed}"
            troubles += _told_everywhere(seen, "ReflectStatusFailed", message)
            continue
        entries.append(entry)
        if problem:
            message = f"The health of {ref} cannot be told: {problem}"
            troubles += _told_everywhere(seen, "InterpretHealthFailed", message)
    return entries, tuple(troubles)


def _told_everywhere(seen: SeenWork, reason: str, message: str) -> list[Action]:
    return [Tell(each, reason, message, warning=True) for each in (seen.work.wire, *seen.owners())]


def _is_about(entry: Object, ordinal: int, manifest: Object) -> bool:
    return bool(entry.get("identifier") == reflecting.identifier(ordinal, Ref.of(manifest)))
