"""What is asked of a custom object, except of its metadata: in Kubernetes' order and words.

In: what a CRD says, compiled. Out: the rules that an object breaks, new or in place of an old one.
An update may leave wrong what it does not touch. The schema's own rules come first; CEL rules are
asked only if nothing is so wrong that they could stumble over it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.objects.paths import at
from atoll.apiserver.resource import Scale
from atoll.apiserver.schemas.correlation import Pair
from atoll.apiserver.schemas.embedded import embedded_errors, has_embedded
from atoll.apiserver.schemas.list_types import compile_list_types
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.validating import Validate, compile_validation
from atoll.apiserver.validations.rules import Part
from atoll.wire import Wire

Errors = Callable[[Wire], list[FieldError]]

_INT32_MAX = 2**31 - 1
# Errors after which Kubernetes does not look at CEL rules any more.
_BLOCKING = frozenset(
    f"FieldValue{how}" for how in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid")
)
_UNCHECKED = fields.invalid(
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation",
)


@dataclass(eq=False)
class CustomRules:
    """The rules of one version of a custom resource, each compiled when it is first asked."""

    schema: Schema
    raw: Wire
    called: tuple[str, str]  # the kind and the apiVersion that its objects must have
    scale: Scale | None
    expressions: Part | None

    @cached_property
    def _validate(self) -> Validate:
        return compile_validation(self.raw)

    @cached_property
    def _list_types(self) -> Errors | None:
        return compile_list_types(self.schema)

    def errors(self, obj: Wire) -> list[FieldError]:
        """The rules a new object breaks."""
        found = _type_errors(obj, *self.called)
        if found:
            return found
        found = self._validate(obj) + self._other_errors(obj)
        if self._list_types is not None:
            found += self._list_types(obj)
        return self._with_expressions(found, obj, None, [])

    def changed_errors(self, new: Wire, old: Wire, warnings: list[str]) -> list[FieldError]:
        """The rules an object breaks that the one it replaces did not break in the same way."""
        found = _type_errors(new, *self.called)
        if found:
            return found
        found = self._validate(new)
        if found:
            found = self._validate(new, Pair(new, old, self.raw))
        found += self._other_errors(new)
        if self._list_types is not None:
            repeated = self._list_types(new)
            found += repeated if repeated and not self._list_types(old) else []
        return self._with_expressions(found, new, old, warnings)

    def _other_errors(self, obj: Wire) -> list[FieldError]:
        found = [] if self.scale is None else _scale_errors(self.scale, obj)
        return found + embedded_errors(self.schema, obj) if has_embedded(self.schema) else found

    def _with_expressions(
        self, found: list[FieldError], new: Wire, old: Wire | None, warnings: list[str]
    ) -> list[FieldError]:
        if self.expressions is None:
            return found
        if any(error.reason in _BLOCKING for error in found):
            return [*found, _UNCHECKED]
        # Rules are there, so the language was loaded when they were compiled.
        from atoll.apiserver.validations.checks import rule_errors

        return found + rule_errors(self.expressions, new, old, warnings)


def _type_errors(obj: Wire, kind: str, api_version: str) -> list[FieldError]:
    errors = []
    if obj.get("kind") != kind:
        errors.append(fields.invalid("kind", obj.get("kind", ""), f"must be {kind}"))
    if obj.get("apiVersion") != api_version:
        said = obj.get("apiVersion", "")
        errors.append(fields.invalid("apiVersion", said, f"must be {api_version}"))
    return errors


def _scale_errors(scale: Scale, obj: Wire) -> list[FieldError]:
    errors = []
    for path in (scale.spec_replicas, scale.status_replicas):
        where, value = "." + ".".join(path), at(obj, path)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            said = f"{fields.go_text(value)} is of the type {_go_type(value)}, expected int64"
            errors.append(fields.invalid(where, 0, f"{where} accessor error: {said}"))
        elif value < 0:
            errors.append(fields.invalid(where, value, "should be a non-negative integer"))
        elif value > _INT32_MAX:
            sentence = f"should be less than or equal to {_INT32_MAX}"
            errors.append(fields.invalid(where, value, sentence))
    return errors


def _go_type(value: Any) -> str:
    kinds = {bool: "bool", str: "string", float: "float64", list: "[]interface {}"}
    return kinds.get(type(value), "map[string]interface {}")
