"""Admission policies and their bindings, compiled from what is stored. Pure.

In: ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings as JSON. Out: what they
ask for, ready to be evaluated. An expression that cannot be compiled is kept with the reason: it
fails every write the policy is about, unless the policy says to go on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.apiserver.admission import Admission
from atoll.apiserver.cel.compiling import Program
from atoll.apiserver.cel.kinds import DYN
from atoll.apiserver.conditions.declared import Scope
from atoll.apiserver.conditions.evaluated import Expression, expression
from atoll.apiserver.kinds.labels import selector_of
from atoll.apiserver.kinds.reading import given, items, part, parts, text
from atoll.apiserver.resource import Resource
from atoll.apiserver.webhooks.webhook import Rule, rule_of, selects
from atoll.model.selector import Selector
from atoll.wire import Wire


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Which writes a policy or a binding is about."""

    rules: tuple[tuple[Rule, frozenset[str]], ...]  # each with the names it is about, if not all
    excluded: tuple[tuple[Rule, frozenset[str]], ...]
    namespaces: Selector
    objects: Selector
    is_equivalent: bool
    everything: bool = False  # a binding that says nothing of rules is about all the policy is

    def may_want(self, versions: Sequence[Resource]) -> bool:
        return any(rule.names(resource) for rule, _ in self.rules for resource in versions)

    def wants(self, admission: Admission, versions: Sequence[Resource]) -> Resource | None:
        """The version in which the write is looked at; None if it is not."""
        if not selects(self.objects, admission):
            return None
        looked_at = versions if self.is_equivalent else versions[:1]
        if _named(self.excluded, admission, looked_at) is not None:
            return None
        if self.everything:
            return admission.resource
        return _named(self.rules, admission, looked_at)


def _named(
    rules: tuple[tuple[Rule, frozenset[str]], ...],
    admission: Admission,
    versions: Sequence[Resource],
) -> Resource | None:
    for resource in versions:
        for rule, names in rules:
            if rule.is_about(admission, resource) and (not names or admission.name in names):
                return resource
    return None


def constraints_of(wire: Wire | None) -> Constraints:
    """What matchConstraints or matchResources say; without them, everything."""
    said = wire or {}
    rules = tuple(_rules(parts(said, "resourceRules")))
    return Constraints(
        rules=rules,
        excluded=tuple(_rules(parts(said, "excludeResourceRules"))),
        namespaces=selector_of(part(said, "namespaceSelector")),
        objects=selector_of(part(said, "objectSelector")),
        is_equivalent=text(said, "matchPolicy") != "Exact",
        everything=not rules,
    )


def _rules(wires: Sequence[Wire]) -> list[tuple[Rule, frozenset[str]]]:
    return [(rule_of(wire), frozenset(items(wire, "resourceNames"))) for wire in wires]


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """What must hold of a write, and what is said if it does not."""

    holds: Expression
    message: str
    explains: Expression | None
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """Where a policy is in force, with which parameters, and what follows from a failure."""

    name: str
    constraints: Constraints
    params: Wire | None
    actions: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """A policy with its bindings; of a mutating one, `mutations` are its changes."""

    name: str
    constraints: Constraints
    bindings: tuple[Binding, ...]
    param_kind: Wire | None
    fails_open: bool
    conditions: tuple[Expression, ...]
    variables: Mapping[str, Program]
    faults: tuple[str, ...]
    validations: tuple[Validation, ...] = ()
    annotations: tuple[tuple[str, Expression], ...] = ()
    mutations: tuple[tuple[str, Expression], ...] = ()
    is_called_again: bool = False

    def may_want(self, versions: Sequence[Resource]) -> bool:
        """Whether it may be about one resource, given in all its versions."""
        return self.constraints.may_want(versions)


def policies_of(policies: Sequence[Wire], bindings: Sequence[Wire]) -> list[Policy]:
    """The policies that are bound, by name, each with its bindings."""
    bound: dict[str, list[Binding]] = {}
    for binding in sorted(bindings, key=lambda each: text(each, "metadata", "name")):
        spec = part(binding, "spec")
        made = Binding(
            name=text(binding, "metadata", "name"),
            constraints=constraints_of(given(spec, "matchResources")),
            params=given(spec, "paramRef"),
            actions=frozenset(items(spec, "validationActions")),
        )
        bound.setdefault(text(spec, "policyName"), []).append(made)
    ordered = sorted(policies, key=lambda each: text(each, "metadata", "name"))
    named = ((text(policy, "metadata", "name"), policy) for policy in ordered)
    return [_policy(policy, tuple(bound[name])) for name, policy in named if name in bound]


def _policy(policy: Wire, bindings: tuple[Binding, ...]) -> Policy:
    spec = part(policy, "spec")
    kind = given(spec, "paramKind")
    scope = Scope(has_params=kind is not None, makes_objects="mutations" in spec)
    conditions = tuple(
        expression(text(condition, "expression"), scope)
        for condition in parts(spec, "matchConditions")
    )
    scope = scope.with_variables()
    variables: dict[str, Program] = {}
    faults: list[str] = []
    for variable in parts(spec, "variables"):
        name = text(variable, "name")
        found = expression(text(variable, "expression"), scope)
        if found.program is None:
            faults.append(found.fault)
        else:
            variables[name] = found.program
        scope.add_variable(name, found.program.type if found.program else DYN)
    return Policy(
        name=text(policy, "metadata", "name"),
        constraints=constraints_of(given(spec, "matchConstraints")),
        bindings=bindings,
        param_kind=kind,
        fails_open=text(spec, "failurePolicy") == "Ignore",
        conditions=conditions,
        variables=variables,
        faults=tuple(faults),
        validations=tuple(_validation(each, scope) for each in parts(spec, "validations")),
        annotations=tuple(
            (text(each, "key"), expression(text(each, "valueExpression"), scope))
            for each in parts(spec, "auditAnnotations")
        ),
        mutations=tuple(_mutation(each, scope) for each in parts(spec, "mutations")),
        is_called_again=text(spec, "reinvocationPolicy") == "IfNeeded",
    )


def _validation(wire: Wire, scope: Scope) -> Validation:
    explains = text(wire, "messageExpression")
    return Validation(
        holds=expression(text(wire, "expression"), scope),
        message=text(wire, "message").strip(),
        explains=expression(explains, scope) if explains else None,
        reason=text(wire, "reason") or "Invalid",
    )


def _mutation(wire: Wire, scope: Scope) -> tuple[str, Expression]:
    kind = text(wire, "patchType")
    said = part(wire, "jsonPatch" if kind == "JSONPatch" else "applyConfiguration")
    return kind, expression(text(said, "expression"), scope)
