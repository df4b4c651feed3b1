"""Admission of Karmada's kinds: what is filled in, what is refused, and what nobody may delete.

The rules themselves are pure (`dialects.karmada`); here they meet the server's hooks. An update
that changes nothing the rules look at is not judged: an object that breaks a newer rule can still
lose its finalizers and be deleted.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from atoll.apiserver.admission import Admission
from atoll.apiserver.fields.error import invalid as invalid_field
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.status import forbidden, invalid
from atoll.dialects.karmada import names
from atoll.dialects.karmada.defaulting import defaulted
from atoll.dialects.karmada.rules import problems
from atoll.effects import Effects
from atoll.errors import Invalid
from atoll.interpreting.customizing import scripts, target
from atoll.wire import Wire

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_METADATA = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class Rules:
    """The hooks of a plane that serves these collections natively."""

    effects: Effects
    collections: frozenset[str]

    def default(self, seen: Admission) -> Wire:
        """The mutating hook that fills in what Karmada fills in."""
        assert seen.object is not None
        if seen.resource.collection not in self.collections or seen.subresource:
            return seen.object
        is_new = seen.operation == "CREATE"
        return defaulted(
            seen.object,
            namespace=seen.namespace,
            new_id=self.effects.chance.uuid("permanent-id") if is_new else None,
            now=rfc3339(self.effects.now()),
        )

    def check(self, seen: Admission) -> None:
        """The validating hook: ApiError 422 with everything that is wrong."""
        new, old, resource = seen.object, seen.old, seen.resource
        if new is None or seen.subresource or resource.collection not in self.collections:
            return
        if old is not None and _judged(new) == _judged(old):
            return
        refuse(seen, problems(new, old))

    def keep_protected(self, seen: Admission) -> None:
        """The validating hook that lets nobody delete what is labelled as protected."""
        if seen.operation == "DELETE" and seen.old is not None:
            refuse_protected(seen.old, seen.resource.plural, seen.resource.group, seen.name)

    def keep_definitions(self, seen: Admission) -> None:
        """The validating hook that refuses definitions of what is served without one."""
        if seen.resource.collection == _DEFINITIONS and seen.name in self.collections:
            why = f"{seen.name} is served by this server itself; there is nothing to install"
            raise forbidden(seen.resource.plural, seen.resource.group, seen.name, why)


def refuse(seen: Admission, found: Iterable[Invalid]) -> None:
    """ApiError 422 with everything that is wrong, if anything is."""
    errors = [invalid_field(one.field, one.value, one.problem) for one in found]
    if errors:
        raise invalid(seen.resource.kind, seen.resource.group, seen.name, errors)


def refuse_protected(old: Wire, plural: str, group: str, name: str) -> None:
    """ApiError 403 if this object is labelled as one that nobody may delete."""
    labels = (old.get("metadata") or {}).get("labels") or {}
    if labels.get(names.DELETION_PROTECTED) == "Always":
        why = "This resource is protected, please make sure to remove the label:"
        raise forbidden(plural, group, name, f"{why} {names.DELETION_PROTECTED}")


def _judged(obj: Wire) -> Wire:
    """The part of an object that the rules look at."""
    meta = obj["metadata"]
    head = {key: meta.get(key) for key in _METADATA}
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")} | head


KIND = "ResourceInterpreterCustomization"
# What several may say together has no operation here.
_OPERATIONS = {
    "retention": "Retain",
    "replicaResource": "InterpretReplica",
    "componentResource": "InterpretComponent",
    "replicaRevision": "ReviseReplica",
    "statusReflection": "InterpretStatus",
    "statusAggregation": "AggregateStatus",
    "healthInterpretation": "InterpretHealth",
}


@dataclass(frozen=True, slots=True)
class Customizations:
    """The hook; `problem` says what is wrong with a script that should define a function."""

    problem: Callable[[str, str], str]

    def check(self, seen: Admission) -> None:
        """The validating hook: ApiError 422 with everything that is wrong."""
        new, old, resource = seen.object, seen.old, seen.resource
        if new is None or seen.subresource or resource.kind != KIND:
            return
        if old is not None and new.get("spec") == old.get("spec"):
            return
        others = [each for each in seen.others() if each["metadata"]["name"] != seen.name]
        refuse(seen, [*_conflicts(new, others), *self._failures(new)])

    def _failures(self, new: Wire) -> Iterator[Invalid]:
        for script in scripts(new):
            problem = self.problem(script.source, script.function)
            if problem:
                yield Invalid(script.path, script.function, problem)


def _conflicts(new: Wire, others: Iterable[Wire]) -> Iterator[Invalid]:
    taken = {
        script.field: script.customization
        for other in others
        if target(other) == target(new)
        for script in scripts(other)
    }
    for script in scripts(new):
        operation, owner = _OPERATIONS.get(script.field), taken.get(script.field)
        if operation and owner:
            # Users know this sentence from Karmada.
            problem = (
                f"conflicting with InterpreterOperation({operation}) of existing {KIND}({owner})"
            )
            yield Invalid(script.path, script.function, problem)
