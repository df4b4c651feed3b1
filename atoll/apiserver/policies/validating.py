"""What a validating policy says of one write with one set of parameters. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from atoll.apiserver.audit.annotating import annotate
from atoll.apiserver.conditions.evaluated import Asked, Unanswered
from atoll.apiserver.policies.policy import Expression, Policy, Validation

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
            if _value(validation.holds, asked) is not True:
                yield Refused(_message(validation, asked), validation.reason, index)
        except Unanswered as fault:
            if not policy.fails_open:
                yield Refused(str(fault), "Invalid", index)
    for key, value in policy.annotations:
        _annotate(policy, key, value, asked)


def applies(conditions: tuple[Expression, ...], asked: Asked) -> bool:
    """Whether all conditions hold; one that does not settles it, whatever others come to."""
    faults: list[str] = []
    for condition in conditions:
        try:
            if _value(condition, asked) is False:
                return False
        except Unanswered as fault:
            faults.append(str(fault))
    if faults:
        raise Unanswered(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return True


def _value(expression: Expression, asked: Asked) -> object:
    if expression.program is None:
        raise Unanswered(expression.fault)
    value: object = asked.answer(expression.program, expression.text)
    return value


def _message(validation: Validation, asked: Asked) -> str:
    said: object = ""
    if validation.explains is not None:
        try:
            said = _value(validation.explains, asked)
        except Unanswered:
            said = ""
    text = said.strip() if isinstance(said, str) else ""
    if len(text.encode()) > _MESSAGE_MAX or "\n" in text:
        text = ""
    return text or validation.message or f"failed expression: {validation.holds.text}"


def _annotate(policy: Policy, key: str, value: Expression, asked: Asked) -> None:
    """Tell the audit log what a policy wants told."""
    try:
        said = _value(value, asked)
    except Unanswered:
        return
    if isinstance(said, str) and said.strip():
        annotate(f"{policy.name}/{key}", said.strip())
