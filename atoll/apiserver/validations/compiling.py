"""The CEL rules of a CRD's schema, compiled.

A rule that cannot be compiled breaks every value, and says why: definitions are checked for that.
"""

from functools import lru_cache
from typing import Any

import orjson

from atoll.apiserver.cel.compiling import compile_expression, declare
from atoll.apiserver.cel.faults import NotAnExpression, NotRunnable
from atoll.apiserver.cel.kinds import BOOL, STRING, Type, optional_of
from atoll.apiserver.schemas.field_paths import NoSuchField, field_path
from atoll.apiserver.validations.rules import Part, Rule
from atoll.apiserver.validations.value_types import converter, expression_type
from atoll.wire import Wire


# A definition is looked at again and again while it changes; its rules seldom do.
@lru_cache(maxsize=64)
def compiled(schema: bytes) -> Part | None:
    """The rules of a whole object's schema, which is given as JSON."""
    return _part(orjson.loads(schema), whole=True)


def _part(schema: Any, *, whole: bool = False) -> Part | None:
    if not isinstance(schema, dict):
        return None
    whole = whole or schema.get("x-kubernetes-embedded-resource") is True
    rules = _rules(schema, whole=whole)
    items = _part(schema.get("items"))
    rest = _part(schema.get("additionalProperties"))
    found = {key: _part(child) for key, child in (schema.get("properties") or {}).items()}
    properties = {key: part for key, part in found.items() if part is not None}
    if not rules and items is None and rest is None and not properties:
        return None
    return Part(schema, rules, converter(schema) if rules else None, items, rest, properties)


def _rules(schema: Wire, *, whole: bool) -> tuple[Rule, ...]:
    said = [rule for rule in schema.get("x-kubernetes-validations") or [] if rule.get("rule")]
    if not said:
        return ()
    kind = expression_type(schema, "selfType1", whole=whole)
    if kind is None:
        fault = "failed to convert to declType for CEL validation rules"
        return tuple(Rule(rule, None, fault) for rule in said)
    return tuple(_rule(rule, kind, schema) for rule in said)


def _rule(said: Wire, kind: Type, schema: Wire) -> Rule:
    old = optional_of(kind) if said.get("optionalOldSelf") is True else kind
    declarations = declare({"self": kind, "oldSelf": old})
    try:
        program = compile_expression(said["rule"], declarations)
    except NotAnExpression as fault:
        return Rule(said, None, f"compilation failed: {fault}")
    except NotRunnable as fault:
        return Rule(said, None, f"program instantiation failed: {fault}")
    if program.type != BOOL:
        return Rule(said, None, "cel expression must evaluate to a bool")
    message, message_fault = None, ""
    if said.get("messageExpression"):
        try:
            message = compile_expression(said["messageExpression"], declarations)
        except NotAnExpression as fault:
            message_fault = f"messageExpression compilation failed: {fault}"
        except NotRunnable as fault:
            message_fault = f"messageExpression instantiation failed: {fault}"
        if message is not None and message.type != STRING:
            message, message_fault = None, "messageExpression must evaluate to a string"
    return Rule(said, program, "", message, message_fault, _blamed(said, schema))


def _blamed(said: Wire, schema: Wire) -> str:
    try:
        return field_path(said["fieldPath"], schema) if said.get("fieldPath") else ""
    except NoSuchField:
        return ""
