"""Calls that are no calls but ways to go over lists, maps and optionals: has, all, map, …"""

from atoll.apiserver.cel.syntax import Fold, Ident, Node, Select, WithValue

# By name and number of arguments: whether the macro has two variables, a test, and a result.
_FOLDS: dict[tuple[str, int], tuple[bool, bool, bool]] = {
    ("all", 2): (False, True, False),
    ("exists", 2): (False, True, False),
    ("exists_one", 2): (False, True, False),
    ("existsOne", 2): (False, True, False),
    ("filter", 2): (False, True, False),
    ("map", 2): (False, False, True),
    ("map", 3): (False, True, True),
    ("sortBy", 2): (False, False, True),
    ("all", 3): (True, True, False),
    ("exists", 3): (True, True, False),
    ("existsOne", 3): (True, True, False),
    ("exists_one", 3): (True, True, False),
    ("transformList", 3): (True, False, True),
    ("transformList", 4): (True, True, True),
    ("transformMap", 3): (True, False, True),
    ("transformMap", 4): (True, True, True),
    ("transformMapEntry", 3): (True, False, True),
    ("transformMapEntry", 4): (True, True, True),
}


class NotAMacro(Exception):
    """A macro that is called as none can be; the message is Kubernetes'."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


def read_macro(at: int, name: str, target: Node | None, args: tuple[Node, ...]) -> Node | None:
    """The macro that a call stands for; None if it is a plain call."""
    if target is None:
        return _has(at, args) if name == "has" and len(args) == 1 else None
    if name in ("optMap", "optFlatMap") and len(args) == 2:
        why = f"{name}() variable name must be a simple identifier"
        return WithValue(at, target, _variable(args[0], why), args[1], name == "optFlatMap")
    shape = _FOLDS.get((name, len(args)))
    if shape is None:
        return None
    two, tests, results = shape
    plain = two or name in ("all", "exists", "existsOne")
    why = "argument must be a simple name" if plain else "argument is not an identifier"
    names = [_variable(argument, why) for argument in args[: 1 + two]]
    if two and names[0] == names[1]:
        raise NotAMacro(args[1].at, f"duplicate variable name: {names[1]}")
    rest = list(args[1 + two :])
    test = rest.pop(0) if tests else None
    result = rest.pop(0) if results else None
    return Fold(at, name, target, names[0], names[1] if two else "", test, result)


def _has(at: int, args: tuple[Node, ...]) -> Node:
    operand = args[0]
    if not isinstance(operand, Select) or operand.test:
        raise NotAMacro(operand.at, "invalid argument to has() macro")
    return Select(at, operand.operand, operand.field, operand.optional, test=True)


def _variable(node: Node, why: str) -> str:
    if not isinstance(node, Ident):
        raise NotAMacro(node.at, why)
    return node.name
