"""Expressions of policies and webhooks with their programs, and whether all of some hold."""

from dataclasses import dataclass

from atoll.apiserver.cel.compiling import Program
from atoll.apiserver.cel.faults import NotAnExpression, NotRunnable
from atoll.apiserver.conditions.declared import Scope
from atoll.apiserver.conditions.evaluated import Asked, Unanswered


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An expression with its program; without one, `fault` says why."""

    text: str
    program: Program | None
    fault: str = ""


def expression(written: str, scope: Scope) -> Expression:
    """An expression, compiled if it can be."""
    try:
        return Expression(written.strip(), scope.compiled(written))
    except NotAnExpression as fault:
        return Expression(written.strip(), None, f"compilation error: compilation failed: {fault}")
    except NotRunnable as fault:
        why = f"compilation error: program instantiation failed: {fault}"
        return Expression(written.strip(), None, why)


def applies(conditions: tuple[Expression, ...], asked: Asked) -> bool:
    """Whether all conditions hold; one that does not settles it, whatever others come to."""
    faults: list[str] = []
    for condition in conditions:
        try:
            if value_of(condition, asked) is False:
                return False
        except Unanswered as fault:
            faults.append(str(fault))
    if faults:
        raise Unanswered(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return True


def value_of(expression: Expression, asked: Asked) -> object:
    """The value of an expression; Unanswered if it has none, or is none."""
    if expression.program is None:
        raise Unanswered(expression.fault)
    value: object = asked.answer(expression.program, expression.text)
    return value
