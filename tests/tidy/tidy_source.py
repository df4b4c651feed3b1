"""What tidy reads: each file once, parsed once, its nodes sorted by type.

Paths and texts come in; `Source` values go out. The rules do not touch the disk.
"""

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).parents[2]
CODE = ("atoll", "simulation", "testenv", "bench", "scripts", "examples")

Node = TypeVar("Node", bound=ast.AST)


class Problem(NamedTuple):
    path: str
    line: int
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.remedy}"


@dataclass(frozen=True)
class Source:
    """One Python file; the path is relative to the root."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def _nodes(self) -> dict[type[ast.AST], list[ast.AST]]:
        by_type: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in ast.walk(self.tree):
            by_type[type(node)].append(node)
        return by_type

    def each(self, *types: type[Node]) -> Iterator[Node]:
        for kind in types:
            yield from self._nodes.get(kind, ())  # type: ignore[misc]

    def under(self, *folders: str) -> bool:
        """Whether the file is, or is in, one of these; `*` is any name, `.py` may be left out."""
        path = self.path.removesuffix(".py")
        return any(
            fnmatch("/".join(path.split("/")[: folder.count("/") + 1]), folder.removesuffix(".py"))
            for folder in folders
        )

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def imported(self) -> dict[str, str]:
        """What each imported name stands for: `now` -> `datetime.datetime.now`."""
        names = {}
        for node in self.each(ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        for node in self.each(ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return names

    def dotted(self, node: ast.expr) -> str:
        """The full name of an expression such as `dt.datetime.now`; empty if it is no name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ".".join(["?", *reversed(parts)]) if parts else ""
        return ".".join([self.imported.get(node.id, node.id), *reversed(parts)])


def tracked_files() -> list[str]:
    """What is or would be committed: tracked, or new and not ignored, and still there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def read_sources(files: list[str], *folders: str) -> list[Source]:
    """The Python files of these folders."""
    return [
        Source(name, (ROOT / name).read_text())
        for name in files
        if name.endswith(".py") and name.partition("/")[0] in folders
    ]
