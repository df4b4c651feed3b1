"""What an admission policy makes of one write with one set of parameters: no, or a change."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.applying.merging import merge
from atoll.apiserver.audit.annotating import annotate
from atoll.apiserver.cel.values import Instance
from atoll.apiserver.conditions.evaluated import Asked, Expression, Unanswered, applies, value_of
from atoll.apiserver.policies.policy import Policy, Validation
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.webhooks.reviews import Seen
from atoll.apiserver.webhooks.views import Unfit, patched, with_object
from atoll.wire import Wire

_MESSAGE_MAX = 5 * 1024


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a policy does not want a write; certain if no binding may let it pass."""

    message: str
    reason: str
    index: int = 0
    is_certain: bool = False


def validated(policy: Policy, asked: Asked) -> Iterator[Refused]:
    """What the policy has against the write."""
    try:
        if policy.faults:
            raise Unanswered(policy.faults[0])
        if not applies(policy.conditions, asked):
            return
    except Unanswered as fault:
        if not policy.fails_open:
            yield Refused(str(fault), "Invalid")
        return
    for index, validation in enumerate(policy.validations):
        try:
            if value_of(validation.holds, asked) is not True:
                yield Refused(_message(validation, asked), validation.reason, index)
        except Unanswered as fault:
            if not policy.fails_open:
                yield Refused(str(fault), "Invalid", index)
    for key, value in policy.annotations:
        _annotate(policy, key, value, asked)


def _message(validation: Validation, asked: Asked) -> str:
    said: object = ""
    if validation.explains is not None:
        try:
            said = value_of(validation.explains, asked)
        except Unanswered:
            said = ""
    text = said.strip() if isinstance(said, str) else ""
    if len(text.encode()) > _MESSAGE_MAX or "\n" in text:
        text = ""
    return text or validation.message or f"failed expression: {validation.holds.text}"


def _annotate(policy: Policy, key: str, value: Expression, asked: Asked) -> None:
    """Tell the audit log what a policy wants told."""
    try:
        said = value_of(value, asked)
    except Unanswered:
        return
    if isinstance(said, str) and said.strip():
        annotate(f"{policy.name}/{key}", said.strip())


async def mutated_by(api: Api, policy: Policy, seen: Seen, asked: Asked) -> Wire | None:
    """The object as the policy wants it; None if it leaves it as it is."""
    if policy.faults:
        raise Unanswered(policy.faults[0])
    if not applies(policy.conditions, asked):
        return None
    before = seen.admission.object
    for kind, expression in policy.mutations:
        if expression.program is None:
            raise Unanswered(expression.fault)
        wanted = asked.answer(expression.program, expression.text)
        operations = _patch(wanted) if kind == "JSONPatch" else _applied(seen, wanted)
        try:
            changed = await patched(api, seen, operations)
        except Unfit as fault:
            raise Unanswered(f"JSON Patch: {fault}") from fault
        seen = _with(seen, changed)
        asked.names["object"] = changed
    obj = seen.admission.object
    return None if obj == before else obj


def _with(seen: Seen, obj: Wire) -> Seen:
    admission = with_object(seen.admission, obj)
    return Seen(admission, seen.resource, seen.name, obj, seen.old)


def _patch(wanted: Any) -> list[Wire]:
    """The operations of a JSON patch that an expression gives."""
    if not isinstance(wanted, list):
        raise Unanswered("type mismatch: JSONPatchType.expression should evaluate to array")
    if not all(isinstance(each, Instance) and each.made == "JSONPatch" for each in wanted):
        why = "JSONPatchType.expression should evaluate to array of JSONPatch"
        raise Unanswered(f"type mismatch: {why}")
    return [_plain(each) for each in wanted]


def _applied(seen: Seen, wanted: Any) -> list[Wire]:
    """What an applied configuration comes to, as a patch of the whole object."""
    if not isinstance(wanted, Instance):
        kind = type(wanted).__name__
        raise Unanswered(f"unsupported return type from ApplyConfiguration expression: {kind}")
    _check_names(wanted, "Object")
    obj = seen.object or {}
    named = {key: obj[key] for key in ("apiVersion", "kind") if key in obj}
    merged = merge(obj, {**_plain(wanted), **named}, seen.resource.schema)
    return [{"op": "replace", "path": "", "value": merged}]


def _check_names(value: Any, path: str) -> None:
    """Objects must be called by the place where they stand."""
    if isinstance(value, Instance):
        if value.made != path:
            why = (
                f'unexpected type name "{value.made}", expected "{path}", which matches field name'
            )
            raise Unanswered(f"type mismatch: {why} path from root Object type")
        for key, inner in value.items():
            _check_names(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            _check_names(inner, path)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value
