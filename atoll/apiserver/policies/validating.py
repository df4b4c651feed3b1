"""What a validating policy says of one write with one set of parameters. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from atoll.apiserver.audit.annotating import annotate
from atoll.apiserver.conditions.evaluated import Asked, Unanswered
from atoll.apiserver.conditions.expressions import Expression, applies, value_of
from atoll.apiserver.policies.policy import Policy, Validation

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
