"""What is wrong with the CEL rules of a CRD, found when the CRD is written.

In: a schema that is structural and otherwise valid, and where it stands in the CRD. Out: the rules
that cannot be compiled, and those that speak of an old value where none can be told, in Kubernetes'
words.
"""

from collections.abc import Iterator, Sequence

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.validations.loading import compiled_rules
from atoll.apiserver.validations.rules import Part, Rule
from atoll.wire import Wire


def rule_faults(schema: Wire, path: str, wrong: Sequence[str]) -> list[FieldError]:
    """What is wrong with the rules of a schema, except around the fields known to be wrong."""
    part = compiled_rules(schema)
    return [] if part is None else list(_part(part, path, "", wrong))


def _part(part: Part, path: str, without_old: str, wrong: Sequence[str]) -> Iterator[FieldError]:
    """`without_old` is the outermost list whose items' old values cannot be told, if any."""
    if part.rest is not None:
        yield from _part(part.rest, f"{path}.additionalProperties", without_old, wrong)
    for key, child in part.properties.items():
        yield from _part(child, f"{path}.properties[{key}]", without_old, wrong)
    if part.items is not None:
        keyed = part.schema.get("x-kubernetes-list-type") == "map"
        inside = without_old if keyed else without_old or path
        yield from _part(part.items, f"{path}.items", inside, wrong)
    if any(field.startswith(path) for field in wrong):
        return
    for index, rule in enumerate(part.rules):
        yield from _rule(rule, f"{path}.x-kubernetes-validations[{index}]", without_old)


def _rule(rule: Rule, path: str, without_old: str) -> Iterator[FieldError]:
    if rule.program is None:
        yield fields.invalid(f"{path}.rule", _as_sent(rule.said), rule.fault)
    if rule.message_fault:
        said = _as_sent(rule.said)
        yield fields.invalid(f"{path}.messageExpression", said, rule.message_fault)
    if rule.uses_old and without_old:
        why = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        yield fields.invalid(f"{path}.rule", rule.said["rule"], f"{why} {without_old}")
    elif not rule.uses_old and "optionalOldSelf" in rule.said:
        why = "may not be set if oldSelf is not used in rule"
        yield fields.invalid(f"{path}.optionalOldSelf", rule.said["optionalOldSelf"], why)


def _as_sent(said: Wire) -> Wire:
    """A rule with all the fields that Kubernetes prints of it."""
    return {
        "Rule": said["rule"],
        "Message": said.get("message", ""),
        "MessageExpression": said.get("messageExpression", ""),
        "Reason": said.get("reason"),
        "FieldPath": said.get("fieldPath", ""),
        "OptionalOldSelf": said.get("optionalOldSelf"),
    }
