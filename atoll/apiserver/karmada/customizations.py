"""For what a ResourceInterpreterCustomization is refused: scripts that cannot work, or that fight.

A script must compile and define the function that is asked for; of one kind, one customization
explains each operation, but dependencies may be given by several. Scripts are tried elsewhere:
while it is not known how that went, the hook raises Unanswered, and the request is begun anew.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from atoll.apiserver.admission import Admission
from atoll.apiserver.fields.error import invalid as invalid_field
from atoll.apiserver.status import invalid
from atoll.errors import Invalid
from atoll.interpreting.customizing import scripts, target
from atoll.wire import Object

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
        found = [*_conflicts(new, others), *self._failures(new)]
        if found:
            errors = [invalid_field(one.field, one.value, one.problem) for one in found]
            raise invalid(resource.kind, resource.group, seen.name, errors)

    def _failures(self, new: Object) -> Iterator[Invalid]:
        for script in scripts(new):
            problem = self.problem(script.source, script.function)
            if problem:
                yield Invalid(script.path, script.function, problem)


def _conflicts(new: Object, others: Iterable[Object]) -> Iterator[Invalid]:
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
