"""What README and docs show at a prompt works, command by command, on a real plane."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from consoles import Block, Command, Shell, Wrong, blocks_of, check, same

from testenv.build import find
from testenv.cluster import BARE, start_together, starting

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
BLOCKS = {
    str(path.relative_to(ROOT)): list(blocks_of(path.relative_to(ROOT), path.read_text()))
    for path in FILES
}


def _runs(blocks: list[Block]) -> bool:
    return any(not each.not_run for each in blocks)


NOT_RUN_MOST = 4
"""Blocks that are excused; one more is a decision, not an accident."""


@pytest.fixture
def environment(tmp_path: Path, kubectl: Path) -> Mapping[str, str]:
    """That of a user with a home of their own, who has atoll and kubectl."""
    home, programs = tmp_path / "home", tmp_path / "programs"
    home.mkdir()
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl)
    path = [str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {"HOME": str(home), "PATH": os.pathsep.join(path), "PYTHONUTF8": "1", "TERM": "dumb"}


@pytest.fixture
def shell(environment: Mapping[str, str]) -> Iterator[Shell]:
    """A shell in the checkout; whatever was started in it is stopped afterwards."""
    opened = Shell(environment, ROOT)
    yield opened
    opened.close()
    after = Shell(environment, ROOT)
    after.run("atoll down --force")
    after.close()


@pytest.fixture(scope="module")
def other_clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A kubeconfig of two clusters that are nobody's members: another plane's simulated ones."""
    theirs = {**os.environ, "ATOLL_DATA_DIR": str(tmp_path_factory.mktemp("elsewhere"))}

    def atoll(*words: str) -> str:
        command = [sys.executable, "-m", "atoll", *words]
        done = subprocess.run(command, env=theirs, capture_output=True, text=True, check=True)
        return done.stdout

    atoll("up", "--fleet", "tiny")
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "prod-eu"}
    for member, name in (("member1", "prod-eu"), ("member2", "prod-us")):
        one = yaml.safe_load(atoll("kubeconfig", "print", "--cluster", member))
        context = {"cluster": name, "user": name}
        merged.setdefault("contexts", []).append({"name": name, "context": context})
        for part in ("clusters", "users"):
            merged.setdefault(part, []).append({**one[part][0], "name": name})
    yield yaml.safe_dump(merged)
    atoll("down", "--force")


@pytest.fixture
def clusters(environment: Mapping[str, str], other_clusters: str) -> None:
    """The user has clusters of their own, in the usual place."""
    directory = Path(environment["HOME"]) / ".kube"
    directory.mkdir()
    (directory / "config").write_text(other_clusters)


HOST = "~/.kube/host"


def _documents() -> Iterator[object]:
    """Those with something to run; some need a real Kubernetes API server."""
    for name, found in BLOCKS.items():
        if _runs(found):
            needs_host = any(HOST in each.text for block in found for each in block.commands)
            yield pytest.param(name, marks=pytest.mark.testenv if needs_host else ())


@pytest.fixture
def host(request: pytest.FixtureRequest, environment: Mapping[str, str]) -> Iterator[None]:
    """The user is the administrator of real API servers, where a document needs them."""
    if request.node.get_closest_marker("testenv") is None:
        yield
        return
    with ExitStack() as started:
        clusters = start_together([starting(find(), BARE, started) for _ in ("host", "plane")])
        for name, cluster in zip(("host", "plane"), clusters, strict=True):
            path = Path(environment["HOME"]) / ".kube" / name
            path.write_text(cluster.kubeconfig.read_text())
        yield


@pytest.mark.usefixtures("clusters", "host")
@pytest.mark.parametrize("name", list(_documents()))
def test_every_command_of_a_document_does_what_is_shown(name: str, shell: Shell) -> None:
    if name.startswith("examples"):
        shell.run(f"cd {Path(name).parent}")
    for block in BLOCKS[name]:
        for command in () if block.not_run else block.commands:
            check(shell, block, command)


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    excused = [each for found in BLOCKS.values() for each in found if each.not_run]
    assert len(excused) <= NOT_RUN_MOST, [f"{each.file}:{each.line}" for each in excused]
    assert all(len(each.not_run.split()) > 2 for each in excused)


class TestTheReader:
    def test_finds_commands_and_what_they_print(self) -> None:
        text = "```console\n$ one\nout\n  more\n$ two \\\n    -x\n```\n"
        (block,) = blocks_of(Path("a.md"), text)
        assert block == Block(
            Path("a.md"), 1, (Command(2, "one", ("out", "  more")), Command(5, "two \\\n-x"))
        )

    def test_takes_an_excuse_that_is_written_down(self) -> None:
        (block,) = blocks_of(Path("a.md"), "```console (not run: takes an hour)\n$ one\n```\n")
        assert block.not_run == "takes an hour"

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("```console skip\n$ one\n```\n", id="an excuse without words"),
            pytest.param("```bash\nrm -rf /\n```\n", id="another language"),
            pytest.param("```\n$ one\n```\n", id="no language"),
            pytest.param("```console\nout\n```\n", id="output first"),
            pytest.param("```console\n```\n", id="nothing"),
        ],
    )
    def test_lets_no_command_escape(self, text: str) -> None:
        with pytest.raises(Wrong, match=r"a\.md:"):
            list(blocks_of(Path("a.md"), text))


class TestTheComparison:
    @pytest.mark.parametrize(
        ("shown", "printed"),
        [
            pytest.param("web   12/12   9m", "web   3/3   6m15s", id="numbers-and-ages"),
            pytest.param("idc ███░░ 5", "idc █░░░░░░ 50", id="bars"),
            pytest.param("at https://… now", "at https://127.0.0.1:4 now", id="part-of-a-line"),
            pytest.param("first\n…\nlast", "first\n1\n2\nlast", id="lines"),
            pytest.param("first\n…", "first", id="no-more-lines"),
        ],
    )
    def test_is_not_about_what_differs_from_run_to_run(self, shown: str, printed: str) -> None:
        assert same(tuple(shown.splitlines()), printed.splitlines())

    @pytest.mark.parametrize(
        ("shown", "printed"),
        [
            pytest.param("web ready", "web waiting", id="another-word"),
            pytest.param("one\ntwo", "one", id="missing-line"),
            pytest.param("one", "one\ntwo", id="line-too-many"),
            pytest.param("a … z", "a b c", id="another-end"),
        ],
    )
    def test_is_about_everything_else(self, shown: str, printed: str) -> None:
        assert not same(tuple(shown.splitlines()), printed.splitlines())


def test_a_command_that_fails_is_found_out(shell: Shell) -> None:
    block = Block(Path("a.md"), 1, ())
    with pytest.raises(AssertionError, match=r"a\.md:2: \$ false ended with 1"):
        check(shell, block, Command(2, "false"))
    check(shell, block, Command(3, "echo 'error: no'; false", ("error: no",)))
    check(shell, block, Command(4, "export NAME=value"))
    check(shell, block, Command(5, "echo $NAME", ("value",)))
    with pytest.raises(AssertionError, match="but shown is"):
        check(shell, block, Command(6, "echo one", ("two",)))
