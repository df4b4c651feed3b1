"""What users say of their kinds in ResourceInterpreterCustomizations, as a layer of interpreters.

Customizations come in as on the wire; scripts are run by a function handed in, and what they give
is checked here. Whatever is wrong with a script or with its answer is an Invalid that names the
customization, the function and the problem. How scripts are run is not known here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.dialects.wire import INT32, part, text
from atoll.errors import Invalid
from atoll.interpreting import answers
from atoll.interpreting.fields import inner
from atoll.interpreting.kinds import Kind, named
from atoll.interpreting.operations import Dependency, Interpretation, Item, Layer, Replicas
from atoll.interpreting.shapes import restored
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function of a script gave, or why it gave nothing.

    A script that was stopped did not end by itself: it ran too long or broke its process.
    """

    values: tuple[Any, ...] = ()
    error: str = ""
    stopped: bool = False


Run = Callable[[str, str, tuple[Any, ...]], Answer]
"""Script, function and arguments: what the function gives."""

FUNCTIONS: Mapping[str, str] = {
    "retention": "Retain",
    "replicaResource": "GetReplicas",
    "componentResource": "GetComponents",
    "replicaRevision": "ReviseReplica",
    "statusReflection": "ReflectStatus",
    "statusAggregation": "AggregateStatus",
    "healthInterpretation": "InterpretHealth",
    "dependencyInterpretation": "GetDependencies",
}
"""What a customization says by which field, and the function it says it with."""


@dataclass(frozen=True, slots=True)
class Script:
    """One function of one customization."""

    customization: str
    field: str
    source: str

    @property
    def function(self) -> str:
        return FUNCTIONS[self.field]

    @property
    def path(self) -> str:
        """Where it stands in its customization."""
        return f"spec.customizations.{self.field}.luaScript"

    def wrong(self, problem: str) -> Invalid:
        """What is wrong with it, for its author."""
        field = f"ResourceInterpreterCustomization/{self.customization}: {self.path}"
        return Invalid(field, self.function, problem)

    def results(self, run: Run, *args: Any) -> tuple[Any, Any]:
        """The first two results; what is missing is None."""
        answer = run(self.source, self.function, args)
        if answer.error:
            raise self.wrong(answer.error)
        first, second, *_ = (*answer.values, None, None)
        return first, second

    def table(self, run: Run, *args: Any) -> Any:
        """The first result, which must be a table."""
        found, _ = self.results(run, *args)
        if not isinstance(found, dict | list):
            raise self.wrong(f"must return a table, not {_said(found)}")
        return found


def scripts(customization: Object) -> tuple[Script, ...]:
    """The scripts of a customization, in the order of `FUNCTIONS`."""
    given = inner(customization, "spec", "customizations")
    path = "spec.customizations"
    found = {
        field: text(part(given, field, path) or {}, "luaScript", f"{path}.{field}")
        for field in FUNCTIONS
    }
    owner = named(customization, "name")
    return tuple(Script(owner, field, source) for field, source in found.items() if source)


def target(customization: Object) -> Kind:
    """The kind that a customization is about."""
    wire = inner(customization, "spec", "target")
    return text(wire, "apiVersion", "spec.target"), text(wire, "kind", "spec.target")


def layer(customizations: Iterable[Object], run: Run) -> Layer:
    """What the customizations know. Of several for one kind the first by name wins, one operation
    at a time; dependencies are those of all together.
    """
    by_kind: dict[Kind, dict[str, list[Script]]] = {}
    for each in sorted(customizations, key=lambda each: named(each, "name")):
        known = by_kind.setdefault(target(each), {})
        for script in scripts(each):
            known.setdefault(script.field, []).append(script)
    return {kind: _interpretation(known, run) for kind, known in by_kind.items()}


def _interpretation(known: Mapping[str, list[Script]], run: Run) -> Interpretation:
    first = {field: found[0] for field, found in known.items()}

    def hook(field: str, function: Callable[..., Any]) -> Any:
        return partial(function, first[field], run) if field in first else None

    depending = known.get("dependencyInterpretation")
    return Interpretation(
        replicas=hook("replicaResource", _replicas),
        revise=hook("replicaRevision", _revised),
        retain=hook("retention", _retained),
        aggregate=hook("statusAggregation", _aggregated),
        reflect=hook("statusReflection", _reflected),
        health=hook("healthInterpretation", _healthy),
        dependencies=partial(_dependencies, depending, run) if depending else None,
        components=hook("componentResource", _components),
    )


def _replicas(script: Script, run: Run, template: Object) -> Replicas:
    found, needs = script.results(run, template)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise script.wrong(f"must return a number of replicas first, not {_said(found)}")
    # A fraction is cut off, as in Karmada: scripts divide.
    if not 0 <= int(found) <= INT32:
        raise script.wrong(f"must return from 0 to {INT32} replicas, not {_said(found)}")
    if needs is not None and not isinstance(needs, dict) and needs != []:
        problem = f"must return a table of requirements or nil second, not {_said(needs)}"
        raise script.wrong(problem)
    try:
        return answers.replicas(
            int(found), needs and restored(needs, (template,)), template, "requirement"
        )
    except Invalid as error:
        raise script.wrong(str(error)) from error


def _components(script: Script, run: Run, template: Object) -> tuple[Object, ...]:
    found, _ = script.results(run, template)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise script.wrong(f"must return a list of components, not {_said(found)}")
    try:
        return answers.components(restored(found, (template,)))
    except Invalid as error:
        raise script.wrong(str(error)) from error


def _revised(script: Script, run: Run, template: Object, replicas: int) -> Object:
    found = script.table(run, template, replicas)
    return _same_object(script, restored(found, (template,)), template)


def _retained(script: Script, run: Run, desired: Object, observed: Object) -> Object:
    found = script.table(run, desired, observed)
    return _same_object(script, restored(found, (desired, observed)), desired)


def _same_object(script: Script, found: Any, template: Object) -> Object:
    if not isinstance(found, dict):
        raise script.wrong(f"must return the object, not {_said(found)}")
    try:
        return answers.same_object(found, template)
    except Invalid as error:
        raise script.wrong(str(error)) from error


def _aggregated(
    script: Script, run: Run, template: Object, items: tuple[Item, ...]
) -> Object | None:
    listed = [answers.item_wire(each) for each in items]
    # Where nothing was reported there is no list, as in Karmada.
    found = script.table(run, template, listed or None)
    if not isinstance(found, dict):
        raise script.wrong(f"must return the object with its status, not {_said(found)}")
    # Fields of the items have the paths they have in the object: lists add nothing to a path.
    whole = restored(found, (template, listed))
    status = whole.get("status")
    if status is not None and not isinstance(status, dict):
        raise script.wrong(f"must return an object whose status is a table, not {_said(status)}")
    return status


def _reflected(script: Script, run: Run, observed: Object) -> Object | None:
    found = script.table(run, observed)
    if found == []:
        return {}
    if not isinstance(found, dict):
        raise script.wrong(f"must return a status with names as keys, not {_said(found)}")
    kept: Object = restored(found, (observed.get("status"), observed))
    return kept


def _healthy(script: Script, run: Run, observed: Object) -> bool:
    found, _ = script.results(run, observed)
    if not isinstance(found, bool):
        raise script.wrong(f"must return true or false, not {_said(found)}")
    return found


def _dependencies(all_of: list[Script], run: Run, template: Object) -> tuple[Dependency, ...]:
    found: list[Dependency] = []
    for script in all_of:
        listed = script.table(run, template)
        try:
            found += answers.dependencies(_with_selectors(listed))
        except Invalid as error:
            raise script.wrong(str(error)) from error
    return answers.in_order(found)


def _with_selectors(listed: Any) -> Any:
    """Dependencies whose selectors are objects: the empty one, for everything, comes as a list."""
    if not isinstance(listed, list):
        return listed
    return [
        {**each, "labelSelector": restored(each["labelSelector"] or {}, ())}
        if isinstance(each, dict) and isinstance(each.get("labelSelector"), dict | list)
        else each
        for each in listed
    ]


def _said(value: Any) -> str:
    """A value as Lua's author would call it."""
    if value is None:
        return "nil"
    if isinstance(value, dict | list):
        return "a table with names as keys" if isinstance(value, dict) else "a list"
    return f"{'text' if isinstance(value, str) else type(value).__name__} {str(value)[:60]!r}"
