"""A small interpreter of Containerfiles: each stage becomes a directory, without any container.

Commands are really run, with every absolute path of a stage found in its directory. Two things come
from this machine instead of a registry and an index: the base image is this Python, and packages of
a hashed list are those of this environment, if they have exactly the listed versions.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.markers import Marker

_OWN = re.compile(r"(?<![\w./-])/(?=(?:opt|src|usr)\b)")
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_LISTED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+))?", re.M)
_LEFT_OUT = ("site-packages", "__pycache__", "test", "tests", "config-*", "idlelib", "tkinter")


@dataclass
class Stage:
    """What has become of an image so far, and how its process would be started."""

    root: Path
    directory: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)

    def place(self, path: str) -> Path:
        return self.root / os.path.join(self.directory, path).lstrip("/")

    def expanded(self, text: str) -> str:
        known = {**self.arguments, **self.environment}
        return re.sub(r"\$\{?(\w+)\}?", lambda found: known[found[1]], text)


def steps_of(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile, each with the rest of its line."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word.upper(), rest.strip()) for word, _, rest in _split(joined)]


def _split(text: str) -> list[tuple[str, str, str]]:
    return [line.partition(" ") for line in text.splitlines()]


def build(file: Path, context: Path, into: Path) -> Stage:
    """Carry out a Containerfile; gives its last stage."""
    stages: dict[str, Stage] = {}
    shared: dict[str, str] = {}
    stage: Stage | None = None
    for word, rest in steps_of(file.read_text()):
        if word == "FROM":
            _, _, name = rest.partition(" AS ")
            stage = Stage(into / (name or "final"))
            _make_base(stage, next(iter(stages.values()), None))
            stages[name or "final"] = stage
        elif stage is None:
            assert word == "ARG", f"{word} before FROM"
            shared.__setitem__(*_pair(rest))
        else:
            stage.steps.append(word)
            _carry_out(stage, word, rest, context, stages)
    assert stage is not None
    return stage


def _carry_out(stage: Stage, word: str, rest: str, context: Path, stages: dict[str, Stage]) -> None:
    if word == "COPY":
        _copy(stage, shlex.split(rest), context, stages)
    elif word == "RUN":
        for command in rest.split("&&"):
            _run(stage, " ".join(command.split()))
    elif word == "WORKDIR":
        stage.directory = rest
        stage.place("").mkdir(parents=True, exist_ok=True)
    elif word in ("ENV", "LABEL", "ARG"):
        kept = {"ENV": stage.environment, "LABEL": stage.labels, "ARG": stage.arguments}[word]
        for each in shlex.split(stage.expanded(rest)):
            kept.__setitem__(*_pair(each))
    elif word == "USER":
        stage.user = rest
    elif word == "ENTRYPOINT":
        stage.entrypoint = json.loads(rest)
    else:
        assert word == "EXPOSE", f"this interpreter does not know {word}"


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _make_base(stage: Stage, earlier: Stage | None) -> None:
    """An image with Python and pip, as far as our steps can tell; stages share its files."""
    home = stage.root / "usr/local"
    if earlier is not None:
        shutil.copytree(earlier.root / "usr", stage.root / "usr", True, copy_function=os.link)
    else:
        source, ignore = Path(sys.base_prefix), shutil.ignore_patterns(*_LEFT_OUT)
        shutil.copytree(source / "lib" / _PYTHON, home / "lib" / _PYTHON, ignore=ignore)
        (home / "bin").mkdir()
        shutil.copy2(Path(sys.executable).resolve(), home / "bin" / _PYTHON)
        for name in ("python", "python3"):
            (home / "bin" / name).symlink_to(_PYTHON)
        for library in (source / "lib").glob("libpython*.so*"):
            shutil.copy2(library, home / "lib")
        # Where every interpreter looks: Debian's has another name for site-packages.
        _install(distribution("pip"), home / "lib" / _PYTHON)
    path = f"{home}/bin:/usr/bin:/bin"
    stage.environment |= {"PATH": path, "LD_LIBRARY_PATH": str(home / "lib")}


def _install(found: Distribution, target: Path) -> None:
    for each in found.files or ():
        if ".." not in each.parts and "__pycache__" not in each.parts:
            (target / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(found.locate_file(each)), target / each)


def _copy(stage: Stage, words: list[str], context: Path, stages: dict[str, Stage]) -> None:
    options = [each for each in words if each.startswith("--")]
    *sources, target = [each for each in words if not each.startswith("--")]
    origin = next((each[7:] for each in options if each.startswith("--from=")), "")
    from_ = stages[origin].root if origin else context
    left_out = [] if origin else _ignored(context)
    place = stage.place(target)
    for source in sources:
        found = from_ / source.lstrip("/")
        assert origin or not _is_ignored(source, left_out), f"{source} is ignored"
        into = place / found.name if target.endswith("/") else place
        if found.is_dir():
            ignore = None if origin else shutil.ignore_patterns("__pycache__")
            shutil.copytree(found, into, symlinks=True, ignore=ignore, dirs_exist_ok=True)
        else:
            into = into / found.name if into.is_dir() else into
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(found, into)
        if origin:
            _resettle(into, str(from_), str(stage.root))


def _resettle(tree: Path, before: str, now: str) -> None:
    """What names a path of the stage it was made in names that of this one: both are `/`."""
    for path in tree.rglob("*"):
        if path.is_symlink():
            target = os.readlink(path)
            path.unlink()
            path.symlink_to(target.replace(before, now))
        elif path.parent.name == "bin" or path.name == "pyvenv.cfg":
            content = path.read_bytes()
            path.write_bytes(content.replace(before.encode(), now.encode()))


def _ignored(context: Path) -> list[str]:
    lines = (context / ".containerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _is_ignored(name: str, patterns: list[str]) -> bool:
    """The last pattern that names it, or a folder it is in, decides."""
    parts, verdict = name.split("/"), False
    outer = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    for pattern in patterns:
        if any(fnmatch(each, pattern.removeprefix("!")) for each in outer):
            verdict = not pattern.startswith("!")
    return verdict


def _run(stage: Stage, command: str) -> None:
    words = shlex.split(command)
    if "--require-hashes" in words:
        python = words[words.index("--python") + 1]
        listed = stage.place(words[words.index("-r") + 1]).read_text()
        target = stage.place(python).parents[1] / "lib" / _PYTHON / "site-packages"
        for name, version in listed_in(listed).items():
            found = distribution(name)
            assert found.version == version, f"{name} is {found.version} here, listed is {version}"
            _install(found, target)
        return
    own = _OWN.sub(f"{stage.root}/", command)
    done = subprocess.run(
        ["sh", "-c", own],
        cwd=stage.place(""),
        env=stage.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{own}\n{done.stdout}{done.stderr}"


def listed_in(requirements: str) -> dict[str, str]:
    """The packages of a hashed list that are for this machine, with their versions."""
    return {
        found["name"]: found["version"]
        for found in _LISTED.finditer(requirements)
        if not found["marker"] or Marker(found["marker"].strip()).evaluate()
    }
