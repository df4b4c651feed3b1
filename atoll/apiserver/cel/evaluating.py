"""From a checked expression to a function that evaluates it.

Every part becomes a closure over its parts, given a Frame. Each pays for its step, so an evaluation
ends whatever the expression says. Failed is an error of the language; `&&`, `||`, all and exists
overcome it where another part settles the answer.
"""

from collections.abc import Callable, Iterator
from typing import Any

from atoll.apiserver.cel import syntax
from atoll.apiserver.cel.checking import Checked
from atoll.apiserver.cel.declaring import Overload
from atoll.apiserver.cel.faults import NO_OVERLOAD, Failed, OverBudget
from atoll.apiserver.cel.kinds import Type
from atoll.apiserver.cel.library.operators import key_of
from atoll.apiserver.cel.selecting import (
    FOLDS,
    optional_selection,
    presence,
    selection,
    without_null,
)
from atoll.apiserver.cel.values import NOTHING, Frame, Instance, Optional, Run, TypeValue, type_name

_MISSING: Any = object()


def evaluator(root: syntax.Node, checked: Checked) -> Run:
    """A function that gives the value of the expression, or raises Failed or OverBudget."""
    return _Maker(checked).make(root)


class _Maker:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def make(self, node: syntax.Node) -> Run:
        match node:
            case syntax.Literal():
                value = node.value
                return lambda _: value
            case syntax.Ident():
                return _variable(self._checked.names[node])
            case syntax.Select():
                return self._select(node)
            case syntax.Call():
                return self._call(node)
            case syntax.Junction():
                return _junction([self.make(part) for part in node.parts], until=not node.all)
            case syntax.ListOf():
                return _list([(self.make(item), optional) for item, optional in node.items])
            case syntax.MapOf() | syntax.Made():
                made = node.name if isinstance(node, syntax.Made) else ""
                entries = [(self.make(e.key), self.make(e.value), e.optional) for e in node.entries]
                return _map(entries, made)
            case syntax.Fold():
                return self._fold(node)
            case syntax.WithValue():
                return _with_value(
                    self.make(node.operand), node.name, self.make(node.body), flat=node.flat
                )

    def _select(self, node: syntax.Select) -> Run:
        name = self._checked.names.get(node)
        if name is not None:
            return _variable(name)
        operand, key = self.make(node.operand), self._checked.keys.get(node)
        if key is not None:
            operand, field = without_null(operand, key), key
        else:
            field = node.field
        if node.test:
            return presence(operand, field)
        return optional_selection(operand, field) if node.optional else selection(operand, field)

    def _call(self, node: syntax.Call) -> Run:
        args = [self.make(argument) for argument in node.args]
        if node.name == "_?_:_":
            return _choice(*args)
        if node.target is not None and node not in self._checked.names:
            args.insert(0, self.make(node.target))
        overloads = self._checked.overloads[node]
        if node.name in ("_==_", "_!=_") and len(args) == 2:
            return _binary_any(overloads[0].run, args[0], args[1])
        return _dispatched(overloads, args)

    def _fold(self, node: syntax.Fold) -> Run:
        test = None if node.test is None else self.make(node.test)
        result = None if node.result is None else self.make(node.result)
        fold = FOLDS[node.macro]
        held, first, second = self.make(node.range), node.first, node.second

        def run(frame: Frame) -> Any:
            items = held(frame)
            frame.pay(1)
            variables = frame.variables
            before = variables.get(first, _MISSING), variables.get(second, _MISSING)
            try:
                return fold(frame, _steps(frame, items, first, second), test, result)
            finally:
                _restore(variables, first, before[0])
                if second:
                    _restore(variables, second, before[1])

        return run


def _restore(variables: dict[str, Any], name: str, value: Any) -> None:
    if value is _MISSING:
        variables.pop(name, None)
    else:
        variables[name] = value


def _steps(frame: Frame, items: Any, first: str, second: str) -> Iterator[tuple[Any, Any]]:
    """Set the variables for one item after the other; gives its key (or itself), and itself."""
    variables = frame.variables
    if isinstance(items, list):
        for index, item in enumerate(items):
            frame.pay(1)
            if second:
                variables[first], variables[second] = index, item
                yield index, item
            else:
                variables[first] = item
                yield item, item
    elif isinstance(items, dict):
        for key, value in items.items():
            frame.pay(1)
            variables[first] = key
            if second:
                variables[second] = value
            yield key, value if second else key
    else:
        raise Failed(NO_OVERLOAD)


def _variable(name: str) -> Run:
    def run(frame: Frame) -> Any:
        frame.left -= 1
        if frame.left < 0:
            raise OverBudget
        found = frame.variables.get(name, _MISSING)
        if found is _MISSING:
            return _named_type(name)
        return found

    return run


def _named_type(name: str) -> TypeValue:
    if not name.startswith(_TYPE_NAMES):
        raise Failed(f"no such attribute(s): {name}")
    return TypeValue(name)


_TYPE_NAMES = (
    *("bool", "int", "uint", "double", "string", "bytes", "null_type", "dyn", "list", "map"),
    *("type", "optional_type", "google.protobuf.", "net.", "kubernetes."),
)


def _junction(parts: list[Run], *, until: bool) -> Run:
    """Parts in their order until one settles it; an error counts only if none does."""
    otherwise = not until

    def run(frame: Frame) -> bool:
        fault: Failed | None = None
        for part in parts:
            try:
                value: object = part(frame)
            except Failed as failed:
                fault = fault or failed
                continue
            if value is until:
                return until
            if value is not otherwise:
                fault = fault or Failed(NO_OVERLOAD)
        if fault is not None:
            raise fault
        return otherwise

    return run


def _choice(condition: Run, then: Run, otherwise: Run) -> Run:
    def run(frame: Frame) -> Any:
        chosen = condition(frame)
        if chosen is True:
            return then(frame)
        if chosen is False:
            return otherwise(frame)
        raise Failed(NO_OVERLOAD)

    return run


def _binary_any(function: Callable[..., Any], one: Run, other: Run) -> Run:
    def run(frame: Frame) -> Any:
        frame.pay(1)
        return function(frame, one(frame), other(frame))

    return run


def _dispatched(overloads: tuple[Overload, ...], args: list[Run]) -> Run:
    """A call whose overload is chosen by the types of what it is given."""
    known: dict[tuple[type, ...], Callable[..., Any] | None] = {}

    def run(frame: Frame) -> Any:
        values = [argument(frame) for argument in args]
        frame.left -= 1
        if frame.left < 0:
            raise OverBudget
        key = tuple([value.__class__ for value in values])
        if key not in known:
            known[key] = _fitting(overloads, values)
        function = known[key]
        if function is None:
            raise Failed(NO_OVERLOAD)
        return function(frame, *values)

    return run


def _fitting(overloads: tuple[Overload, ...], values: list[Any]) -> Callable[..., Any] | None:
    names = [type_name(value) for value in values]
    for overload in overloads:
        if all(map(_takes, overload.args, names)):
            return overload.run
    return None


def _takes(kind: Type, name: str) -> bool:
    return kind.is_param or kind.name == "dyn" or kind.name == name


def _list(items: list[tuple[Run, bool]]) -> Run:
    def run(frame: Frame) -> list[Any]:
        frame.pay(10)
        made: list[Any] = []
        for item, optional in items:
            value = item(frame)
            if not optional:
                made.append(value)
            elif not isinstance(value, Optional):
                raise Failed(NO_OVERLOAD)
            elif value.is_there:
                made.append(value.value)
        return made

    return run


def _map(entries: list[tuple[Run, Run, bool]], made: str) -> Run:
    def run(frame: Frame) -> dict[Any, Any]:
        frame.pay(40 if made else 30)
        found: dict[Any, Any] = Instance(made) if made else {}
        for key, value, optional in entries:
            name, item = key_of(key(frame)), value(frame)
            if name.__class__ not in (str, int, bool):
                raise Failed(f"unsupported key type: {type_name(name)}")
            if name in found:
                raise Failed(f"Failed with repeated key {name}")
            if not optional:
                found[name] = item
            elif isinstance(item, Optional) and item.is_there:
                found[name] = item.value
        return found

    return run


def _with_value(operand: Run, name: str, body: Run, *, flat: bool) -> Run:
    def run(frame: Frame) -> Any:
        held = operand(frame)
        frame.pay(1)
        if not isinstance(held, Optional):
            raise Failed(NO_OVERLOAD)
        if not held.is_there:
            return NOTHING
        before = frame.variables.get(name, _MISSING)
        frame.variables[name] = held.value
        try:
            value = body(frame)
        finally:
            _restore(frame.variables, name, before)
        return value if flat else Optional(True, value)

    return run
