"""Whether an expression makes sense with the types declared, and which functions it calls.

In: the parts of an expression, the types of its variables, the functions there are. Out: its type,
and for every call the overloads it may come to; or all that is wrong, in Kubernetes' words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.apiserver.cel import kinds, syntax
from atoll.apiserver.cel.declaring import Overload
from atoll.apiserver.cel.faults import Issue

_TYPES = {
    name: kinds.type_of(kinds.Type(name))
    for name in (
        *("bool", "int", "uint", "double", "string", "bytes", "null_type", "dyn", "type"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration", "net.IP", "net.CIDR"),
        *("kubernetes.Quantity", "kubernetes.URL"),
    )
} | {
    "list": kinds.type_of(kinds.list_of(kinds.DYN)),
    "map": kinds.type_of(kinds.map_of(kinds.DYN, kinds.DYN)),
    "optional_type": kinds.type_of(kinds.optional_of(kinds.DYN)),
}


@dataclass(frozen=True, slots=True)
class Declarations:
    """What an expression may refer to: typed variables, functions, and types to make."""

    variables: Mapping[str, kinds.Type]
    functions: Mapping[str, tuple[Overload, ...]]
    makeable: Mapping[str, kinds.Type] = field(default_factory=dict)
    makes_objects: bool = False
    """Whether any `Object{…}`, `Object.spec{…}` can be made, of which nothing else is known."""


@dataclass(slots=True)
class Checked:
    """What was found out about an expression, by its parts."""

    type: kinds.Type = kinds.ERROR
    overloads: dict[syntax.Node, tuple[Overload, ...]] = field(default_factory=dict)
    names: dict[syntax.Node, str] = field(default_factory=dict)
    """Parts that are one dotted name of a variable or a type."""
    keys: dict[syntax.Node, str] = field(default_factory=dict)
    """The keys in the data that selections go by, where the expression writes another."""
    types: dict[syntax.Node, kinds.Type] = field(default_factory=dict)
    """The types of what is to be formatted."""
    used: set[str] = field(default_factory=set)
    issues: list[Issue] = field(default_factory=list)


def check(root: syntax.Node, declarations: Declarations) -> Checked:
    """Everything that can be known before the expression runs."""
    checker = _Checker(declarations)
    checker.found.type = checker.resolved(checker.check(root), to_dyn=True)
    return checker.found


class _Checker:
    def __init__(self, declarations: Declarations) -> None:
        self._declared = declarations
        self._scopes: list[dict[str, kinds.Type]] = []
        self._types = kinds.Bindings()
        self.found = Checked()

    def resolved(self, kind: kinds.Type, *, to_dyn: bool = False) -> kinds.Type:
        return self._types.resolved(kind, to_dyn=to_dyn)

    def _wrong(self, at: int, message: str) -> kinds.Type:
        self.found.issues.append(Issue(at, message))
        return kinds.ERROR

    def _mismatch(self, at: int, expected: kinds.Type, found: kinds.Type) -> kinds.Type:
        expected, found = self.resolved(expected), self.resolved(found)
        return self._wrong(at, f"expected type '{expected}' but found '{found}'")

    def check(self, node: syntax.Node) -> kinds.Type:
        match node:
            case syntax.Literal():
                return kinds.Type(node.type)
            case syntax.Ident():
                return self._ident(node, node.name)
            case syntax.Select():
                return self._select(node)
            case syntax.Call():
                return self._call(node)
            case syntax.Junction():
                return self._junction(node)
            case syntax.ListOf():
                return self._list(node)
            case syntax.MapOf():
                return self._map(node)
            case syntax.Made():
                return self._made(node)
            case syntax.Fold():
                return self._fold(node)
            case syntax.WithValue():
                return self._with_value(node)

    def _lookup(self, name: str) -> kinds.Type | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        declared = self._declared
        if name in declared.variables:
            self.found.used.add(name)
            return declared.variables[name]
        return _TYPES.get(name)

    def _ident(self, node: syntax.Node, name: str) -> kinds.Type:
        kind = self._lookup(name)
        if kind is None:
            return self._wrong(node.at, f"undeclared reference to '{name}' (in container '')")
        self.found.names[node] = name
        return kind

    def _select(self, node: syntax.Select) -> kinds.Type:
        name = None if node.test else syntax.qualified_name(node)
        if name is not None and (kind := self._lookup(name)) is not None:
            self.found.names[node] = name
            return kind
        operand = self.resolved(self.check(node.operand))
        through = operand.name == "optional_type"
        holder = self.resolved(operand.params[0]) if through else operand
        result = self._field(node, holder)
        if node.test:
            return kinds.BOOL
        return kinds.optional_of(result) if through or node.optional else result

    def _field(self, node: syntax.Select, holder: kinds.Type) -> kinds.Type:
        if holder.fields is not None:
            found = holder.fields.get(node.field)
            if found is None:
                return self._wrong(node.at, f"undefined field '{node.field}'")
            self.found.keys[node] = found.key
            return found.type
        if holder.name == "map":
            return holder.params[1]
        if holder.is_param:
            self._types.assign(kinds.DYN, holder)
        elif not kinds.is_any(holder):
            self._wrong(node.at, f"type '{holder}' does not support field selection")
        return kinds.DYN

    def _call(self, node: syntax.Call) -> kinds.Type:
        if node.name == "format" and node.target is not None:
            args = tuple(self._mixed(argument) for argument in node.args)
        else:
            args = tuple(self.check(argument) for argument in node.args)
        if node.target is None:
            if node.name == "_?_:_":
                return self._choice(node, args)
            return self._function(node, node.name, args, is_method=False)
        prefix = syntax.qualified_name(node.target)
        if prefix is not None and f"{prefix}.{node.name}" in self._declared.functions:
            name = f"{prefix}.{node.name}"
            self.found.names[node] = name
            return self._function(node, name, args, is_method=False)
        target = self.check(node.target)
        return self._function(node, node.name, (target, *args), is_method=True)

    def _mixed(self, node: syntax.Node) -> kinds.Type:
        """Something to format: the one list whose items may be of many types."""
        if not isinstance(node, syntax.ListOf):
            return self.check(node)
        for item, optional in node.items:
            kind = self._unwrapped(item, self.check(item), optional=optional)
            self.found.types[item] = self.resolved(kind, to_dyn=True)
        return kinds.list_of(kinds.DYN)

    def _choice(self, node: syntax.Call, args: tuple[kinds.Type, ...]) -> kinds.Type:
        _, then = self._types.instance(kinds.BOOL, kinds.Type("A", is_param=True))
        if self._types.assign_all(args, (kinds.BOOL, then, then)):
            return self.resolved(then)
        return self._no_overload(node, node.name, args, is_method=False)

    def _no_overload(
        self, node: syntax.Call, name: str, args: tuple[kinds.Type, ...], *, is_method: bool
    ) -> kinds.Type:
        shown = [str(self.resolved(argument, to_dyn=True)) for argument in args]
        receiver = f"{shown.pop(0)}." if is_method else ""
        signature = f"{receiver}({', '.join(shown)})"
        return self._wrong(
            node.at, f"found no matching overload for '{name}' applied to '{signature}'"
        )

    def _function(
        self, node: syntax.Call, name: str, args: tuple[kinds.Type, ...], *, is_method: bool
    ) -> kinds.Type:
        overloads = self._declared.functions.get(name)
        if overloads is None:
            return self._wrong(node.at, f"undeclared reference to '{name}' (in container '')")
        fitting: list[Overload] = []
        result: kinds.Type | None = None
        for overload in overloads:
            if overload.is_method != is_method or len(overload.args) != len(args):
                continue
            returned, *wanted = self._types.instance(overload.result, *overload.args)
            if not self._types.assign_all(args, tuple(wanted)):
                continue
            fitting.append(overload)
            returned = self.resolved(returned)
            if result is None:
                result = returned
            elif not kinds.is_any(result) and returned != result:
                result = kinds.DYN
        if result is None:
            return self._no_overload(node, name, args, is_method=is_method)
        self.found.overloads[node] = tuple(fitting)
        return result

    def _junction(self, node: syntax.Junction) -> kinds.Type:
        for part in node.parts:
            self._assert_bool(part)
        return kinds.BOOL

    def _assert_bool(self, node: syntax.Node) -> None:
        kind = self.check(node)
        if not self._types.assign(kind, kinds.BOOL):
            self._mismatch(node.at, kinds.BOOL, kind)

    def _joined(self, node: syntax.Node, before: kinds.Type | None, kind: kinds.Type) -> kinds.Type:
        if before is None:
            return kind
        if self._types.assign(before, kind):
            return kinds.more_general(before, kind)
        return self._mismatch(node.at, before, kind)

    def _unwrapped(self, node: syntax.Node, kind: kinds.Type, *, optional: bool) -> kinds.Type:
        if not optional:
            return kind
        resolved = self.resolved(kind)
        if resolved.name == "optional_type":
            return resolved.params[0]
        if not kinds.is_any(resolved):
            self._mismatch(node.at, kinds.optional_of(resolved), resolved)
        return resolved

    def _list(self, node: syntax.ListOf) -> kinds.Type:
        joined: kinds.Type | None = None
        for item, optional in node.items:
            kind = self._unwrapped(item, self.check(item), optional=optional)
            joined = self._joined(item, joined, kind)
        return kinds.list_of(self._types.fresh() if joined is None else joined)

    def _map(self, node: syntax.MapOf) -> kinds.Type:
        keys: kinds.Type | None = None
        values: kinds.Type | None = None
        for entry in node.entries:
            keys = self._joined(entry.key, keys, self.check(entry.key))
            kind = self._unwrapped(entry.value, self.check(entry.value), optional=entry.optional)
            values = self._joined(entry.value, values, kind)
        if keys is None or values is None:
            return kinds.map_of(self._types.fresh(), self._types.fresh())
        return kinds.map_of(keys, values)

    def _made(self, node: syntax.Made) -> kinds.Type:
        if self._declared.makes_objects and node.name.split(".")[0] == "Object":
            for entry in node.entries:
                self.check(entry.value)
            return kinds.Type(node.name)
        made = self._declared.makeable.get(node.name)
        if made is None or made.fields is None:
            if node.name in _TYPES:
                for entry in node.entries:
                    assert isinstance(entry.key, syntax.Literal), "the parser reads names only"
                    self._wrong(entry.at, f"undefined field '{entry.key.value}'")
                return self._wrong(node.at, f"'{node.name}' is not a message type")
            return self._wrong(node.at, f"undeclared reference to '{node.name}' (in container '')")
        for entry in node.entries:
            assert isinstance(entry.key, syntax.Literal), "the parser reads names only"
            kind = self._unwrapped(entry.value, self.check(entry.value), optional=entry.optional)
            found = made.fields.get(entry.key.value)
            if found is None:
                self._wrong(entry.at, f"undefined field '{entry.key.value}'")
            elif not self._types.assign(found.type, kind):
                shown = self.resolved(kind, to_dyn=True)
                self._wrong(
                    entry.at,
                    f"expected type of field '{entry.key.value}' is '{found.type}' but provided"
                    f" type is '{shown}'",
                )
        return made

    def _fold(self, node: syntax.Fold) -> kinds.Type:
        held = self.resolved(self.check(node.range))
        first, second, items = self._ranged(node, held)
        scope = {node.first: first}
        if node.second:
            scope[node.second] = second
        self._scopes.append(scope)
        if node.test is not None:
            self._assert_bool(node.test)
        result = kinds.BOOL if node.result is None else self.check(node.result)
        self._scopes.pop()
        match node.macro:
            case "filter":
                return kinds.list_of(items)
            case "map" | "transformList":
                return kinds.list_of(result)
            case "transformMap":
                return kinds.map_of(first, result)
            case "transformMapEntry":
                return self.resolved(result)
            case "sortBy":
                return held if held.name == "list" else kinds.list_of(kinds.DYN)
        return kinds.BOOL

    def _ranged(
        self, node: syntax.Fold, held: kinds.Type
    ) -> tuple[kinds.Type, kinds.Type, kinds.Type]:
        """The types of both variables, and of what is gone over."""
        if held.name == "list":
            item = held.params[0]
            return (kinds.INT, item, item) if node.second else (item, kinds.DYN, item)
        if held.name == "map":
            return held.params[0], held.params[1], held.params[0]
        if held.is_param:
            self._types.assign(kinds.DYN, held)
        elif not kinds.is_any(held):
            why = "cannot be range of a comprehension (must be list, map, or dynamic)"
            self._wrong(node.range.at, f"expression of type '{held}' {why}")
        return kinds.DYN, kinds.DYN, kinds.DYN

    def _with_value(self, node: syntax.WithValue) -> kinds.Type:
        operand = self.resolved(self.check(node.operand))
        if operand.name != "optional_type" and not kinds.is_any(operand):
            self._wrong(
                node.at, f"found no matching overload for 'hasValue' applied to '{operand}.()'"
            )
            return kinds.ERROR
        inner = operand.params[0] if operand.params else kinds.DYN
        self._scopes.append({node.name: inner})
        body = self.check(node.body)
        self._scopes.pop()
        return body if node.flat else kinds.optional_of(body)
