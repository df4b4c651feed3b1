"""The image of deploy/Containerfile: what is in it, and that it runs where it may not write."""

import os
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from images import Stage, build, listed_in, steps_of

from atoll import __version__
from atoll.members.confining import USER

pytestmark = pytest.mark.timeout(900)  # seconds; whoever comes first waits for the whole build

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "Containerfile"
_READ = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = _READ["project"], _READ["dependency-groups"]


@pytest.fixture(scope="module")
def image() -> Iterator[Stage]:
    """The last stage, which nobody may write to; others than its owner may look into it."""
    with tempfile.TemporaryDirectory(prefix="atoll-image-") as directory:
        os.chmod(directory, 0o755)
        stage = build(FILE, ROOT, Path(directory))
        subprocess.run(["chmod", "-R", "a-w,a+rX", stage.root], check=True)
        yield stage
        subprocess.run(["chmod", "-R", "u+w", stage.root], check=True)


def run(image: Stage, *words: str) -> subprocess.CompletedProcess[str]:
    """Start it as a container would, as nobody in particular and without a home."""
    user, group = map(int, image.user.split(":"))
    is_root = os.geteuid() == 0
    path = image.environment["PATH"].replace("/opt/", f"{image.root}/opt/", 1)
    environment = {**image.environment, "PATH": path}
    return subprocess.run(
        [f"{image.root}/opt/atoll/bin/{image.entrypoint[0]}", *words],
        cwd="/",
        env=environment,
        user=user if is_root else None,
        group=group if is_root else None,
        extra_groups=[] if is_root else None,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_runs_without_a_home_and_without_a_place_to_write(image: Stage) -> None:
    done = run(image, "version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"atoll {__version__} ")
    for command in ("agent", "run"):
        done = run(image, command, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Usage: atoll {command}")
    done = run(image, "run", "--kubeconfig", "/none")
    assert (done.returncode, done.stderr) == (
        1,
        "error: cannot read /none: No such file or directory\n",
    )


def test_all_that_the_program_needs_is_in_it_and_compiled(image: Stage) -> None:
    (packages,) = image.root.glob("opt/atoll/lib/python*/site-packages")
    listed = listed_in((ROOT / "deploy/requirements.txt").read_text())
    there = {each.name.partition("-")[0] for each in packages.glob("*.dist-info")}
    assert there == {name.replace("-", "_") for name in listed} | {"atoll"}
    for module in packages.joinpath("atoll").rglob("*.py"):
        assert list((module.parent / "__pycache__").glob(f"{module.stem}.*.pyc")), module


def test_its_process_is_not_root_and_owns_nothing(image: Stage) -> None:
    assert image.user == f"{USER}:{USER}"
    assert image.entrypoint == ["atoll"]
    assert all(path.lstat().st_uid != USER for path in image.root.rglob("*"))


def test_its_last_stage_only_takes_what_the_first_made() -> None:
    steps = steps_of(FILE.read_text())
    last = max(number for number, (word, _) in enumerate(steps) if word == "FROM")
    assert "RUN" not in {word for word, _ in steps[last:]}
    copied = [rest for word, rest in steps[last:] if word == "COPY"]
    assert copied == ["--from=build --chown=0:0 /opt/atoll /opt/atoll"]


def test_its_labels_say_what_it_is(image: Stage) -> None:
    told = {name.rpartition(".")[2]: value for name, value in image.labels.items()}
    assert (told["title"], told["version"], told["licenses"]) == (
        "atoll",
        __version__,
        PROJECT["license"],
    )


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param("requirements.txt", "dependencies", id="at run time"),
        pytest.param("requirements-build.txt", "build", id="to build the wheel"),
    ],
)
def test_its_lists_have_the_versions_that_are_tested(name: str, wanted: str) -> None:
    text = (ROOT / "deploy" / name).read_text()
    tested = listed_in((ROOT / "requirements.txt").read_text())
    listed = listed_in(text)
    assert listed.items() <= tested.items()
    asked = PROJECT.get(wanted) or GROUPS[wanted]
    assert {_named(each) for each in asked} <= set(listed)
    assert all("--hash=sha256:" in block for block in re.split(r"\n(?=\w)", text))


def _named(requirement: str) -> str:
    return re.split(r"[>=<; ]", requirement)[0].lower()
