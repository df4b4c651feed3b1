"""Expressions of policies and webhooks about one write: compiled, and evaluated in shared steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.admission import Admission
from atoll.apiserver.authentication import AUTHENTICATED, MASTERS, Identity
from atoll.apiserver.authorization import Attributes, Authorize, may
from atoll.apiserver.cel.compiling import Program
from atoll.apiserver.cel.faults import Failed, NotAnExpression, NotRunnable, OverBudget
from atoll.apiserver.cel.library.authority import Authorizer, Decision, Question, ResourceCheck
from atoll.apiserver.cel.library.times import read_timestamp
from atoll.apiserver.cel.values import Selectable
from atoll.apiserver.conditions.declared import Scope
from atoll.wire import Wire

BUDGET = 250_000
"""Steps for all expressions of one policy on one write: some tenths of a second at most."""


class Unanswered(Exception):
    """An expression came to no value; the message is Kubernetes'."""


class Asked:
    """One write, as the expressions of one policy or webhook see it."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = dict(names)
        self.left = BUDGET

    def answer(self, program: Program, text: str) -> Any:
        """The value of an expression; Unanswered if it has none."""
        try:
            value, self.left = program.evaluate(self.names, self.left)
        except Failed as fault:
            raise Unanswered(f"expression '{text}' resulted in error: {fault}") from None
        except OverBudget as fault:
            self.left = 0
            raise Unanswered(f"expression '{text}' resulted in error: {fault}") from None
        return value


class Variables(Selectable):
    """`variables.x`: what a policy has named, each found when it is first asked for."""

    def __init__(self, asked: Asked, programs: Mapping[str, Program]) -> None:
        self._asked = asked
        self._programs = programs
        self._found: Wire = {}

    def select(self, key: str) -> Any:
        if key not in self._found:
            program = self._programs.get(key)
            if program is None:
                raise Failed(f"no such key: {key}")
            try:
                value, self._asked.left = program.evaluate(self._asked.names, self._asked.left)
            except Failed as fault:
                raise Failed(f'composited variable "{key}" fails to evaluate: {fault}') from None
            self._found[key] = value
        return self._found[key]


def names_of(request: Wire, obj: Wire | None, old: Wire | None, authorizer: Authorizer) -> Wire:
    """What an expression's names stand for: an AdmissionReview's request, and the objects in it."""
    kept = {key: value for key, value in request.items() if key not in ("object", "oldObject")}
    resource = kept["resource"]
    asked = Question(
        group=resource["group"],
        resource=resource["resource"],
        subresource=kept.get("subResource", ""),
        namespace=kept.get("namespace", ""),
        name=kept.get("name", ""),
    )
    whole = {"name": "", "namespace": "", "subResource": "", "requestSubResource": "", **kept}
    return {
        "object": obj,
        "oldObject": old,
        "request": whole,
        "authorizer": authorizer,
        "authorizer.requestResource": ResourceCheck(authorizer.decide, asked),
    }


def namespace_object(namespace: Wire | None) -> Wire | None:
    """A namespace as expressions see it: with moments for times, and nothing of who wrote it."""
    if namespace is None:
        return None
    meta = {key: value for key, value in namespace["metadata"].items() if key != "managedFields"}
    for key in ("creationTimestamp", "deletionTimestamp"):
        if key in meta:
            meta[key] = read_timestamp(meta[key])
    if "uid" in meta:
        meta["UID"] = meta.pop("uid")
    return {**namespace, "metadata": meta}


def authorizer_of(admission: Admission, authorize: Authorize) -> Authorizer:
    """Who says what the caller, or a service account, may do."""

    def decide(question: Question) -> Decision:
        identity = admission.identity
        if question.account is not None:
            namespace, name = question.account
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
            identity = Identity(
                f"system:serviceaccount:{namespace}:{name}", (*groups, AUTHENTICATED)
            )
        wanted = Attributes(
            question.verb,
            question.group,
            question.resource,
            question.namespace,
            question.name,
            question.subresource,
            question.path,
        )
        if not may(authorize, identity, wanted):
            return Decision(False, "")
        return Decision(True, "" if MASTERS in identity.groups else "RBAC: allowed")

    return Authorizer(decide)


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
