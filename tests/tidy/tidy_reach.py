"""What of the product its commands reach: sources in, what nothing reaches out.

Only the product counts: what tests, benchmarks or scripts use and no command does is of no use to
anybody. A function, class or constant is reached if something that is reached mentions it; what a
module does when it is imported, if anything of the module is. Which object a method is called on is
not known, so one is reached if what is reached mentions an attribute of its name.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from tidy_source import Problem, Source

PROGRAMS = ("atoll.__main__.main", "atoll.cli.server.main")
"""What `pyproject.toml` makes a command of, and what `atoll up` starts."""
KEPT = {
    "atoll.store.memory.MemoryLog.crash": "the simulation crashes the store with it",
    "atoll.simulated.keeping.Keeper.give_way": "benchmarks run members in the plane's process",
    "atoll.control.explanations.decide.telling.read_record": "records are kept to be decided again",
}
"""What no command reaches, and why it stays."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def unreached(
    product: Iterable[Source], programs: Iterable[str], kept: Mapping[str, str]
) -> Iterator[Problem]:
    """What these programs do not reach and is not kept, and what is kept and need not be."""
    reach = Reach(product)
    reach.go(programs)
    missing = dict(reach.missing())
    for name in kept:
        if name not in missing:
            remedy = f"{name} is reached, or gone; it needs no exception"
            yield Problem("tests/tidy/tidy_reach.py", 1, remedy)
    reach.go(kept)
    for name, (path, line) in reach.missing():
        if name not in kept:
            yield Problem(path, line, f"no command reaches {name}; connect it, or delete it")


class Reach:
    """A walk along what is mentioned, from definition to definition."""

    def __init__(self, product: Iterable[Source]) -> None:
        self._modules = {source.module: source for source in product}
        self._definitions: dict[str, tuple[Source, ast.stmt]] = {}
        self._at_import: dict[str, list[ast.stmt]] = {}
        for module, source in self._modules.items():
            self._at_import[module] = [each for each in source.tree.body if _runs(each)]
            for statement in source.tree.body:
                for name in _defined(statement):
                    self._definitions[f"{module}.{name}"] = source, statement
        self._reached: set[str] = set()
        self._attributes: set[str] = set()
        self._next: list[tuple[Source, ast.stmt]] = []

    def go(self, names: Iterable[str]) -> None:
        """Walk from here until nothing new is found."""
        for name in names:
            self._touch(name)
        while self._next:
            for name in set(self._mentioned(*self._next.pop())):
                self._touch(name)

    def missing(self) -> Iterator[tuple[str, tuple[str, int]]]:
        """What was not reached, and where it is."""
        for full, (source, statement) in self._definitions.items():
            if not full.rpartition(".")[2].startswith("__") and self._is_missing(full, statement):
                yield full, (source.path, statement.lineno)
            for each in _methods(statement):
                if each.name not in self._attributes:
                    yield f"{full}.{each.name}", (source.path, each.lineno)

    def _is_missing(self, full: str, statement: ast.stmt) -> bool:
        # Of names that are given values together, all are there for the sake of each.
        module = full.rpartition(".")[0]
        together = {f"{module}.{name}" for name in _defined(statement)}
        return not _is_registered(statement) and self._reached.isdisjoint(together)

    def _touch(self, full: str) -> None:
        """Reach a module, or what is defined in it, or what it has imported."""
        module, rest = full, ""
        while module not in self._modules:
            module, dot, last = module.rpartition(".")
            rest = last
            if not dot:
                return
        source = self._modules[module]
        if module not in self._reached:
            self._reached.add(module)
            self._next += [(source, each) for each in self._at_import[module]]
        name = f"{module}.{rest}"
        if name in self._definitions:
            if name not in self._reached:
                self._reached.add(name)
                self._next.append(self._definitions[name])
        elif rest in source.imported:
            self._touch(source.imported[rest])

    def _mentioned(self, source: Source, statement: ast.stmt) -> Iterator[str]:
        """The full names of all that a statement may mean."""
        passed_on = [each for each in source.imported.values() if each in self._modules]
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                yield source.imported.get(node.id, f"{source.module}.{node.id}")
            elif isinstance(node, ast.Attribute):
                self._attributes.add(node.attr)
                yield source.dotted(node)
                # Of a module as a value: `_explaining().problems`.
                yield from (f"{module}.{node.attr}" for module in passed_on)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.fullmatch(r"atoll(\.\w+)+", node.value):  # imported when it is needed
                    yield node.value
                elif re.fullmatch(r"[A-Z]\w*( \| None)?", node.value):  # a type, before its time
                    name = node.value.partition(" ")[0]
                    yield source.imported.get(name, f"{source.module}.{name}")


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            named = [node for target in targets for node in ast.walk(target)]
            return [each.id for each in named if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _methods(statement: ast.stmt) -> list[Definition]:
    """Of a class that nobody else has declared the methods of."""
    if not isinstance(statement, ast.ClassDef) or statement.bases:
        return []
    defined = [each for each in statement.body if isinstance(each, Definition)]
    # Python calls __...__ by name, and a parser its on_... methods.
    return [each for each in defined if not each.name.startswith(("__", "on_"))]


def _runs(statement: ast.stmt) -> bool:
    """Whether a statement does something when its module is imported, besides naming things."""
    if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
        return False
    is_import = isinstance(statement, ast.Import | ast.ImportFrom)
    return _is_registered(statement) or not (is_import or _defined(statement))


def _is_registered(statement: ast.stmt) -> bool:
    """Whether a decorator with arguments hands it to somebody: the command line's do."""
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        isinstance(made, ast.Call) for made in statement.decorator_list
    )
