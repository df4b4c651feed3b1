"""Whether an object keeps the CEL rules of its schema, and which it breaks.

In: compiled rules, an object, the one it replaces if any. Out: field errors; what an update has not
touched is told as a warning instead. All rules of one object share a budget of steps, so that no
schema can hold the server up.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atoll.apiserver.cel.faults import NO_OVERLOAD, Failed, OverBudget
from atoll.apiserver.cel.values import NOTHING, Optional
from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.correlation import Pair
from atoll.apiserver.validations.rules import Part, Rule
from atoll.wire import Wire

if TYPE_CHECKING:
    from atoll.apiserver.cel.compiling import Program


BUDGET = 250_000
"""Steps for all rules on one object: some tenths of a second at most."""
_MESSAGE_MAX = 5 * 1024


@dataclass(slots=True)
class _Walk:
    """One object on its way through the rules."""

    left: int = BUDGET
    over: bool = False
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Old:
    """What stands in the place of a part in the old object.

    `pair` is None where old and new parts cannot be told to be the same; then the nearest part
    around it where they can, `around`, says whether anything was changed.
    """

    pair: Pair | None = None
    around: Pair | None = None

    def key(self, name: str) -> "_Old":
        if self.pair is None:
            return self
        if self.around is None and name in ("apiVersion", "kind"):
            return _Old()
        return _Old(self.pair.key(name), self.pair)

    def index(self, place: int) -> "_Old":
        return self if self.pair is None else _Old(self.pair.index(place), self.pair)

    def unchanged(self) -> bool:
        pair = self.pair or self.around
        return pair is not None and pair.unchanged()


@dataclass(frozen=True, slots=True)
class _Value:
    """A part of an object, where it is, and what was there before.

    `before` is what rules know as oldSelf; it is known also where nothing is ratcheted.
    """

    path: str
    new: Any
    old: _Old
    before: Any

    @property
    def where(self) -> str:
        return self.path or "<nil>"


def rule_errors(part: Part, new: Wire, old: Wire | None, warnings: list[str]) -> list[FieldError]:
    """The rules an object breaks; `warnings` is told those broken where nothing was changed."""
    walk = _Walk()
    pair = None if old is None else Pair(new, old, part.schema)
    _check(walk, part, _Value("", new, _Old(pair), old))
    warnings += walk.warnings
    return walk.errors


def _check(walk: _Walk, part: Part, at: _Value) -> None:
    if at.new is None or walk.over:
        return
    if part.rules:
        _check_rules(walk, part, at)
    if isinstance(at.new, list) and part.items is not None:
        pair = Pair(at.new, at.before if isinstance(at.before, list) else [], part.schema)
        for place, item in enumerate(at.new):
            where, before = f"{at.path}[{place}]", pair.old_item(item)
            _check(walk, part.items, _Value(where, item, at.old.index(place), before))
    if isinstance(at.new, dict):
        kept = at.before if isinstance(at.before, dict) else {}
        if part.rest is not None:
            for key, item in at.new.items():
                where = f"{at.path}[{key}]"
                _check(walk, part.rest, _Value(where, item, at.old.key(key), kept.get(key)))
        for key, inner in part.properties.items():
            if key in at.new:
                where = f"{at.path}.{key}" if at.path else key
                _check(walk, inner, _Value(where, at.new[key], at.old.key(key), kept.get(key)))


def _check_rules(walk: _Walk, part: Part, at: _Value) -> None:
    convert = part.convert or (lambda value: value)
    variables = {"self": convert(at.new)}
    if at.before is not None:
        variables["oldSelf"] = convert(at.before)
    for rule in part.rules:
        if walk.over:
            return
        if rule.program is None:
            _blame(walk, part, at.where, f"rule compile error: {rule.fault}")
        elif not (rule.uses_old and at.before is None and not rule.takes_missing_old):
            _check_rule(walk, part, rule, at, variables)


def _blame(walk: _Walk, part: Part, where: str, detail: str) -> None:
    walk.errors.append(fields.invalid(where, part.schema.get("type", ""), detail))


def _check_rule(walk: _Walk, part: Part, rule: Rule, at: _Value, variables: Wire) -> None:
    assert rule.program is not None, "it was asked before"
    given = variables
    if rule.takes_missing_old:
        old = Optional(True, variables["oldSelf"]) if "oldSelf" in variables else NOTHING
        given = {**variables, "oldSelf": old}
    try:
        kept, walk.left = rule.program.evaluate(given, walk.left)
    except OverBudget as fault:
        walk.over = True
        why = "no further validation rules will be run due to call cost exceeds limit for rule"
        return _blame(walk, part, at.where, f"'{fault}': {why}: {rule.shown()}")
    except Failed as fault:
        if str(fault).startswith(NO_OVERLOAD):
            why = "call arguments did not match a supported operator, function or macro signature"
            return _blame(walk, part, at.where, f"'{fault}': {why} for rule: {rule.shown()}")
        return _blame(walk, part, at.where, f"{fault} evaluating rule: {rule.shown()}")
    if kept is True:
        return None
    where = f"{at.path}.{rule.path}".removeprefix(".") if rule.path else at.where
    value = fields.OMITTED if part.hides_value else at.new
    error = _error(rule, where, value, _message(walk, rule, variables))
    if not rule.uses_old and at.old.unchanged():
        walk.warnings.append(str(error))
    else:
        walk.errors.append(error)
    return None


def _error(rule: Rule, where: str, value: Any, detail: str) -> FieldError:
    match rule.said.get("reason"):
        case "FieldValueForbidden":
            return fields.forbidden(where, detail)
        case "FieldValueRequired":
            return fields.required(where, detail)
        case "FieldValueDuplicate":
            return fields.duplicate(where, value)
    return fields.invalid(where, value, detail)


def _message(walk: _Walk, rule: Rule, variables: Wire) -> str:
    """What is said of a broken rule. As in Kubernetes, oldSelf is never optional to a message."""
    said = _evaluated(walk, rule.message, variables) if rule.message is not None else None
    if said is not None:
        return said
    given: str = rule.said.get("message") or ""
    return given.strip() if given else f"failed rule: {rule.shown()}"


def _evaluated(walk: _Walk, program: "Program", variables: Wire) -> str | None:
    """The text a message expression gives; None if it gives nothing that can be shown."""
    try:
        said, walk.left = program.evaluate(variables, walk.left)
    except Failed:
        return None
    except OverBudget:
        walk.over = True
        return None
    text = said.strip() if isinstance(said, str) else ""
    if not text or "\n" in text or len(text.encode()) > _MESSAGE_MAX:
        return None
    return text
