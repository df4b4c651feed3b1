"""What is wrong with the expressions of policies and webhooks, found when those are written.

In: their specs as JSON, known to have the right shape. Out: field errors in Kubernetes' words.
"""

from collections.abc import Iterator

from atoll.apiserver.cel.compiling import Program
from atoll.apiserver.cel.faults import NotAnExpression, NotRunnable
from atoll.apiserver.cel.kinds import BOOL, DYN, NULL, STRING, Type, list_of
from atoll.apiserver.conditions.declared import JSON_PATCH, Scope
from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.wire import Wire

_MUTATIONS = {
    "ApplyConfiguration": ("applyConfiguration", Type("Object")),
    "JSONPatch": ("jsonPatch", list_of(JSON_PATCH)),
}


def condition_faults(
    conditions: list[Wire], path: str, scope: Scope | None = None
) -> list[FieldError]:
    """What is wrong with matchConditions."""
    judged = _Judged(scope or Scope())
    for index, condition in enumerate(conditions):
        judged.add(condition, "expression", f"{path}[{index}]", BOOL)
    return judged.errors


def policy_faults(spec: Wire) -> list[FieldError]:
    """What is wrong with the expressions of a policy."""
    scope = Scope(spec.get("paramKind") is not None, "mutations" in spec)
    errors = condition_faults(spec.get("matchConditions") or [], "spec.matchConditions", scope)
    judged = _Judged(scope.with_variables())
    for variable, where in _each(spec, "variables"):
        program = judged.add(variable, "expression", where)
        kind = DYN if program is None else program.type
        judged.scope.add_variable(variable.get("name", ""), kind)
    for validation, where in _each(spec, "validations"):
        judged.add(validation, "expression", where, BOOL)
        judged.add(validation, "messageExpression", where, STRING)
    for annotation, where in _each(spec, "auditAnnotations"):
        judged.add(annotation, "valueExpression", where, STRING, NULL)
    for mutation, where in _each(spec, "mutations"):
        if mutation.get("patchType") in _MUTATIONS:  # the other patch is wrong whatever it says
            key, kind = _MUTATIONS[mutation["patchType"]]
            judged.add(mutation.get(key) or {}, "expression", f"{where}.{key}", kind)
    return errors + judged.errors


def _each(spec: Wire, key: str) -> Iterator[tuple[Wire, str]]:
    for index, item in enumerate(spec.get(key) or []):
        yield item, f"spec.{key}[{index}]"


class _Judged:
    """Expressions that are judged one after the other."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.errors: list[FieldError] = []

    def add(self, said: Wire, key: str, path: str, *wanted: Type) -> Program | None:
        """Judge an expression that must come to one of these types; none means any."""
        text = said.get(key) or ""
        if not text.strip():
            return None
        try:
            program = self.scope.compiled(text)
        except NotAnExpression as fault:
            self._wrong(path, key, text, f"compilation failed: {fault}")
            return None
        except NotRunnable as fault:
            self._wrong(path, key, text, f"program instantiation failed: {fault}")
            return None
        if wanted and program.type not in wanted:
            names = [_name(kind) for kind in wanted]
            one = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
            why = f"must evaluate to {one} but got {_name(program.type)}"
            self._wrong(path, key, text, why)
        return program

    def _wrong(self, path: str, key: str, text: str, why: str) -> None:
        self.errors.append(fields.invalid(f"{path}.{key}", text, why))


def _name(kind: Type) -> str:
    return kind.name if kind == NULL else str(kind)
