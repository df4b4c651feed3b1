"""Console blocks of the documentation: found, run, and compared with what they show.

A block is a fence of the language `console`: lines after `$ ` are commands, the others what they
print. A block that is not run says why in its first line: `console (not run: it takes an hour)`.
"""

import os
import re
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`]*)$")
_NOT_RUN = re.compile(r"console \(not run: (?P<why>[^)]+)\)")
_ANYTHING = "…"
_ALIKE = (
    (re.compile(r"[█░]+"), "▌"),
    (re.compile(r"\b(?:\d+[dhms])+\b"), "AGE"),
    (re.compile(r"~?\d+(?:\.\d+)*"), "N"),
)
_OVER = "--end-of-command-"


@dataclass(frozen=True)
class Command:
    """What is typed, and what is shown of its output; nothing shown is nothing to compare."""

    line: int
    text: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    file: Path
    line: int
    commands: tuple[Command, ...]
    not_run: str = ""


@dataclass
class Wrong(Exception):
    """A fence that is neither run nor excused."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


def blocks_of(file: Path, text: str) -> Iterator[Block]:
    """The console blocks of a file; Wrong for commands hidden in another kind of block."""
    opened: tuple[int, str] | None = None
    body: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is None:
            body.append((number, line))
        elif opened is None:
            opened, body = (number, fence["info"].strip()), []
        else:
            where, (first, info), opened = f"{file}:{opened[0]}", opened, None
            if info.split(" ")[0] == "console":
                yield _block(file, first, info, body)
            elif info in ("sh", "bash", "shell") or any(each.startswith("$ ") for _, each in body):
                raise Wrong(where, "commands belong in a console block, where they are run")


def _block(file: Path, first: int, info: str, body: list[tuple[int, str]]) -> Block:
    excused = _NOT_RUN.fullmatch(info)
    if info != "console" and excused is None:
        raise Wrong(f"{file}:{first}", f'"{info}" is neither `console` nor says why it is not run')
    commands: list[Command] = []
    continued = False
    for number, line in body:
        if continued:
            last = commands.pop()
            commands.append(Command(last.line, f"{last.text}\n{line.strip()}"))
        elif line.startswith("$ "):
            commands.append(Command(number, line[2:]))
        elif not commands:
            raise Wrong(f"{file}:{number}", "a console block starts with a command")
        else:
            last = commands.pop()
            commands.append(Command(last.line, last.text, (*last.shown, line)))
        continued = line.endswith("\\")
    if not commands:
        raise Wrong(f"{file}:{first}", "a console block without a command")
    return Block(file, first, tuple(commands), excused["why"] if excused else "")


def same(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Whether output is as shown: numbers, ages and bars may differ, `…` stands for anything."""
    if not shown:
        return not printed
    first, rest = shown[0].rstrip(), shown[1:]
    if first == _ANYTHING:
        return any(same(rest, printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and _alike(first, printed[0]) and same(rest, printed[1:])


def _alike(shown: str, printed: str) -> bool:
    parts = (re.escape(each.strip()) for each in _plain(shown).split(_ANYTHING))
    pattern = ".*".join(parts)
    return re.fullmatch(pattern, _plain(printed)) is not None


def _plain(line: str) -> str:
    """A line without what differs from run to run; columns may be wider or narrower."""
    for pattern, stand_in in _ALIKE:
        line = pattern.sub(stand_in, line)
    return " ".join(line.split())


@dataclass
class Shell:
    """One bash in which the commands of a file are run one after the other."""

    environment: Mapping[str, str]
    directory: Path
    _process: subprocess.Popen[bytes] = field(init=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(self.environment),
            cwd=self.directory,
        )

    def run(self, command: str, within_s: float = 240.0) -> tuple[int, list[str]]:
        """The exit code of a command, and the lines it printed."""
        self._count += 1
        mark = f"{_OVER}{self._count}-"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # Nothing of what is typed later is to be taken for input of this command.
        script = f"{{ {command}\n}} </dev/null\nprintf '\\n%s%s\\n' {mark} $?\n"
        self._process.stdin.write(script.encode())
        self._process.stdin.flush()
        printed, deadline, output = b"", time.monotonic() + within_s, self._process.stdout
        end = re.compile(rb"\n" + mark.encode() + rb"(\d+)\n")
        while (found := end.search(printed)) is None:
            left = deadline - time.monotonic()
            ready = select.select([output], [], [], max(left, 0))[0]
            piece = os.read(output.fileno(), 65536) if ready else b""
            assert piece, f"not within {within_s:g} s: {command}\n{printed.decode()}"
            printed += piece
        lines = printed[: found.start()].decode().splitlines()
        return int(found[1]), lines

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def check(shell: Shell, block: Block, command: Command) -> None:
    """Run a command and see that it does what is shown."""
    code, printed = shell.run(command.text)
    where = f"{block.file}:{command.line}: $ {command.text}"
    told = "\n".join(printed)
    fails = any(each.startswith("error: ") for each in command.shown)
    assert bool(code) == fails, f"{where} ended with {code}:\n{told}"
    if command.shown:
        shown = "\n".join(command.shown)
        assert same(command.shown, printed), f"{where} printed\n{told}\n\nbut shown is\n{shown}"
