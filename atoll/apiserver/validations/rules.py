"""The CEL rules of a CRD's schema (x-kubernetes-validations), compiled, and kept by values or not.

In: a structural schema as JSON. Out: a tree of what its parts ask for; `rule_errors` walks it with
a value, the one it replaces, and a budget of steps, and says which rules are broken in Kubernetes'
words. A rule that cannot be compiled breaks every value: definitions are checked for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from atoll.apiserver.cel.compiling import Program, compile_expression, declare
from atoll.apiserver.cel.faults import NotAnExpression, NotRunnable
from atoll.apiserver.cel.kinds import BOOL, STRING, Type, optional_of
from atoll.apiserver.schemas.field_paths import NoSuchField, field_path
from atoll.apiserver.validations.value_types import (
    Convert,
    converter,
    expression_type,
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule; without a program, `fault` says why it cannot be evaluated."""

    said: Json
    program: Program | None
    fault: str = ""
    message: Program | None = None
    message_fault: str = ""
    path: str = ""  # below the value, of the field that is to be blamed

    @property
    def uses_old(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.used

    @property
    def takes_missing_old(self) -> bool:
        return self.said.get("optionalOldSelf") is True

    def shown(self) -> str:
        """How messages name the rule."""
        text: str = (self.said.get("message") or "").strip() or self.said["rule"].strip()
        return text


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What is asked of one part of an object, and of the parts inside it."""

    schema: Json
    rules: tuple[Rule, ...]
    convert: Convert | None
    items: "Part | None"
    rest: "Part | None"
    properties: Mapping[str, "Part"]

    @property
    def hides_value(self) -> bool:
        """Whether messages leave the value out, as they do with objects and lists."""
        return self.schema.get("type") in ("object", "array")


def compiled_rules(schema: Json) -> Part | None:
    """All rules of a whole object's schema; None if there are none."""
    written = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    return _compiled(written) if b'"x-kubernetes-validations"' in written else None


# A definition is looked at again and again while it changes; its rules seldom do.
@lru_cache(maxsize=64)
def _compiled(schema: bytes) -> Part | None:
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


def _rules(schema: Json, *, whole: bool) -> tuple[Rule, ...]:
    said = [rule for rule in schema.get("x-kubernetes-validations") or [] if rule.get("rule")]
    if not said:
        return ()
    kind = expression_type(schema, "selfType1", whole=whole)
    if kind is None:
        fault = "failed to convert to declType for CEL validation rules"
        return tuple(Rule(rule, None, fault) for rule in said)
    return tuple(_rule(rule, kind, schema) for rule in said)


def _rule(said: Json, kind: Type, schema: Json) -> Rule:
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


def _blamed(said: Json, schema: Json) -> str:
    try:
        return field_path(said["fieldPath"], schema) if said.get("fieldPath") else ""
    except NoSuchField:
        return ""
