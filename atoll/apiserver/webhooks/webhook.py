"""An admission webhook as its configuration says it, and whether it wants to be asked. Pure.

In: configurations as they are stored, and one write. Out: webhooks with their rules and selectors
made ready, and the version in which a webhook wants to see the object. Nobody is called here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atoll.apiserver.admission import Admission
from atoll.apiserver.kinds.labels import selector_of
from atoll.apiserver.kinds.reading import items, number, part, parts, text
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.resource import Resource
from atoll.apiserver.webhooks.configured import GROUP
from atoll.model.selector import Selector
from atoll.wire import Wire

if TYPE_CHECKING:
    from atoll.apiserver.conditions.evaluated import Expression


MUTATING = f"mutatingwebhookconfigurations.{GROUP}"
VALIDATING = f"validatingwebhookconfigurations.{GROUP}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a webhook wants to be asked about."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]  # each with its subresource
    scope: str

    def names(self, resource: Resource) -> bool:
        """Whether it may be about this resource, or something below it, in this version."""
        if not _has(self.groups, resource.group) or not _has(self.versions, resource.version):
            return False
        return any(name in ("*", resource.plural) for name, _ in self.resources)

    def is_about(self, admission: Admission, resource: Resource) -> bool:
        """Whether it is about this write, seen as one of this resource."""
        return (
            self._in_scope(resource)
            and _has(self.operations, admission.operation)
            and _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and any(
                name in ("*", resource.plural) and below in ("*", admission.subresource)
                for name, below in self.resources
            )
        )

    def _in_scope(self, resource: Resource) -> bool:
        if self.scope == "*":
            return True
        return resource.namespaced == (self.scope == "Namespaced")


def _has(wanted: frozenset[str], value: str) -> bool:
    return "*" in wanted or value in wanted


@dataclass(frozen=True, slots=True, eq=False)
class Webhook:
    """One webhook of a configuration."""

    name: str
    configuration: str
    wire: Wire
    rules: tuple[Rule, ...]
    namespaces: Selector
    objects: Selector
    conditions: "tuple[Expression, ...]" = ()

    @property
    def timeout_s(self) -> int:
        return number(self.wire, "timeoutSeconds") or 10

    @property
    def fails_open(self) -> bool:
        return text(self.wire, "failurePolicy") == "Ignore"

    @property
    def is_called_again(self) -> bool:
        return text(self.wire, "reinvocationPolicy") == "IfNeeded"

    @property
    def is_for_dry_runs(self) -> bool:
        return text(self.wire, "sideEffects") in ("None", "NoneOnDryRun")

    def may_want(self, versions: Sequence[Resource]) -> bool:
        """Whether it may want to be asked about one resource, given in all its versions."""
        return any(rule.names(resource) for rule in self.rules for resource in versions)

    def wants(self, admission: Admission, versions: Sequence[Resource]) -> Resource | None:
        """The version in which it wants to see this write by its rules; None if it does not."""
        if any(rule.is_about(admission, admission.resource) for rule in self.rules):
            return admission.resource
        if text(self.wire, "matchPolicy") != "Equivalent":
            return None
        for rule in self.rules:
            for other in versions:
                if other is not admission.resource and rule.is_about(admission, other):
                    return other
        return None

    def selects_object(self, admission: Admission) -> bool:
        return selects(self.objects, admission)


def selects(objects: Selector, admission: Admission) -> bool:
    """Whether the labels of what is written, or of what it replaces, are those that are meant."""
    seen = [obj for obj in (admission.object, admission.old) if obj is not None]
    return not objects or any(objects.matches(metadata(obj).get("labels") or {}) for obj in seen)


def webhooks_of(configurations: Iterable[Wire]) -> list[Webhook]:
    """The webhooks of these configurations, in the order in which they are called."""
    ordered = sorted(configurations, key=lambda each: text(each, "metadata", "name"))
    return [
        Webhook(
            name=text(wire, "name"),
            configuration=text(configuration, "metadata", "name"),
            wire=wire,
            rules=tuple(map(rule_of, parts(wire, "rules"))),
            namespaces=selector_of(part(wire, "namespaceSelector")),
            objects=selector_of(part(wire, "objectSelector")),
            conditions=_conditions(parts(wire, "matchConditions")),
        )
        for configuration in ordered
        for wire in parts(configuration, "webhooks")
    ]


def _conditions(wires: Sequence[Wire]) -> "tuple[Expression, ...]":
    if not wires:
        return ()
    # The language is loaded when somebody first speaks it.
    from atoll.apiserver.conditions.declared import Scope
    from atoll.apiserver.conditions.evaluated import expression

    return tuple(expression(text(wire, "expression"), Scope()) for wire in wires)


def rule_of(wire: Wire) -> Rule:
    """What one rule of a configuration is about."""
    resources = (written.partition("/") for written in items(wire, "resources"))
    return Rule(
        operations=frozenset(items(wire, "operations")),
        groups=frozenset(items(wire, "apiGroups")),
        versions=frozenset(items(wire, "apiVersions")),
        resources=tuple((name, below) for name, _, below in resources),
        scope=text(wire, "scope") or "*",
    )
